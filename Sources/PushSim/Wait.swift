import CPushSimSystem
import PushSimWire
import Synchronization

/// A wait in real time that ends once: when somebody ends it, or its time is over.
final class Wait: Sendable {
    private struct State {
        var ended: (@Sendable () -> Void)?
        var isOver = false
    }

    private let state = Mutex(State())

    var isOver: Bool { state.withLock(of: self) { $0.isOver } }

    /// - Parameter ended: called once; at once where the wait has been ended already.
    func begin(on loop: EventLoop, _ nanoseconds: Int64, ended: @escaping @Sendable () -> Void) {
        let isOver = state.withLock(of: self) { state in
            if !state.isOver { state.ended = ended }
            return state.isOver
        }
        if isOver { return ended() }
        loop.execute {
            loop.schedule(at: pushsim_monotonic_clock() + nanoseconds) { self.end() }
        }
    }

    func end() {
        let ended = state.withLock(of: self) { state in
            defer { (state.ended, state.isOver) = (nil, true) }
            return state.ended
        }
        ended?()
    }
}
