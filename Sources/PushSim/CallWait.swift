import CPushSimSystem
import PushSimSimulation
import PushSimWire
import Synchronization

/// Somebody who waits, in real time, for the calls of a scope to become as wanted.
final class CallWait: Sendable {
    private struct State {
        var listener: Int?
        var done: (@Sendable () -> Void)?
        var isOver = false
    }

    private let scope: Scope
    private let isSatisfied: @Sendable () -> Bool
    private let state = Mutex(State())

    init(_ scope: Scope, _ isSatisfied: @escaping @Sendable () -> Bool) {
        self.scope = scope
        self.isSatisfied = isSatisfied
    }

    /// - Parameter done: called once: when they are, after so many nanoseconds, or when it is ended.
    func begin(_ within: Int64, _ done: @escaping @Sendable () -> Void) {
        let listener = scope.run { world in
            world.events.watch { event in if event.kind == .call { self.look() } }
        }
        let isOver = state.withLock { state in
            (state.listener, state.done) = (listener, done)
            return state.isOver
        }
        if isOver { return finish() }
        scope.home.execute { [self] in
            scope.home.schedule(at: pushsim_monotonic_clock() + within) { self.end() }
        }
        look()
    }

    private func look() { if !state.withLock({ $0.isOver }), isSatisfied() { end() } }

    /// Waits no longer.
    func end() {
        let mustFinish = state.withLock { state in
            defer { state.isOver = true }
            return !state.isOver && state.done != nil
        }
        if mustFinish { finish() }
    }

    private func finish() {
        let (listener, done) = state.withLock { state in
            defer { (state.listener, state.done) = (nil, nil) }
            return (state.listener, state.done)
        }
        if let listener { scope.run { $0.events.unwatch(listener) } }
        done?()
    }
}
