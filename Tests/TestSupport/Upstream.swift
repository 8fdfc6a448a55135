package import PushSimWire
import Synchronization

/// A real server on a free port that plays answers in turn and keeps what it got.
package final class Upstream: RequestHandler {
    package enum Turn: Sendable {
        case status(Int, [HeaderField])
        /// Never answers.
        case hang
        case reset
    }

    private struct State {
        var turns: [Turn]
        var received: [Request] = []
    }

    private let state: Mutex<State>
    private let listener = Mutex<Listener?>(nil)
    package let limits = ServerLimits()

    private init(_ turns: [Turn]) { state = Mutex(State(turns: turns)) }

    /// - Parameter port: 0 takes a free one.
    package static func start(_ turns: [Turn], port: Int = 0) async throws -> Upstream {
        let upstream = Upstream(turns)
        let loop = try EventLoop.start()
        let listener = try Listener(host: "127.0.0.1", port: port, loops: [loop], handler: upstream)
        await withCheckedContinuation { continuation in listener.open { _ in continuation.resume() } }
        upstream.listener.withLock { $0 = listener }
        return upstream
    }

    package var port: Int { listener.withLock { $0?.port ?? 0 } }
    package var received: [Request] { state.withLock { $0.received } }

    package func stop() async {
        guard let listener = listener.withLock({ $0 }) else { return }
        await withCheckedContinuation { continuation in listener.close { continuation.resume() } }
    }

    package func headArrived(_ exchange: Exchange) {}

    package func requestArrived(_ exchange: Exchange) {
        let turn: Turn? = state.withLock { state in
            state.received.append(exchange.request)
            return state.turns.isEmpty ? nil : state.turns.removeFirst()
        }
        switch turn {
        case .status(let status, let fields):
            exchange.finish(WireScript(Response(status: status, fields: fields).bytes(), end: .fin))
        case .reset: exchange.finish(WireScript(end: .rst))
        case .hang: exchange.finish(WireScript(end: .stall))
        case nil: exchange.finish(WireScript(Response(status: 500).bytes(), end: .fin))
        }
    }

    package func exchangeEnded(_ exchange: Exchange, _ ending: Ending) {}
    package func answer(to failure: RequestFailure, _ exchange: Exchange?) -> [UInt8] {
        Response(status: failure.status).bytes()
    }
}
