import PushSimSimulation

/// Somebody who waits, in real time, for the calls of a scope to become as wanted.
final class CallWait: Sendable {
    private let scope: Scope
    private let isSatisfied: @Sendable () -> Bool
    private let wait = Wait()

    init(_ scope: Scope, _ isSatisfied: @escaping @Sendable () -> Bool) {
        self.scope = scope
        self.isSatisfied = isSatisfied
    }

    /// - Parameter done: called once: when they are, after so many nanoseconds, or when it is ended.
    func begin(_ within: Int64, _ done: @escaping @Sendable () -> Void) {
        let listener = scope.run { world in
            world.events.watch { event in if event.kind == .call { self.look() } }
        }
        wait.begin(on: scope.home, within) { [scope] in
            scope.run { $0.events.unwatch(listener) }
            done()
        }
        look()
    }

    private func look() { if !wait.isOver, isSatisfied() { wait.end() } }

    /// Waits no longer.
    func end() { wait.end() }
}
