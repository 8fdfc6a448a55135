import Synchronization

/// The socketless door: one exchange whose answer is collected in memory.
///
/// A script's waits run on its clock as over a socket; paces pass at once, since there is no byte to shape.
package final class MemoryExchange: ExchangeSink, Sendable {
    package struct Outcome: Sendable {
        package let bytes: [UInt8]
        package let end: WireScript.End
        package let wasCancelled: Bool
    }

    private struct State {
        var bytes: [UInt8] = []
        var wait: UInt64?
        var isDone = false
    }

    private let handler: any RequestHandler
    private let done: @Sendable (Outcome) -> Void
    private let state = Mutex(State())

    private init(_ handler: any RequestHandler, _ done: @escaping @Sendable (Outcome) -> Void) {
        self.handler = handler
        self.done = done
    }

    /// Hands `bytes`, one whole request, to the handler.
    @discardableResult
    package static func perform(
        _ bytes: [UInt8], _ handler: any RequestHandler, _ done: @escaping @Sendable (Outcome) -> Void
    ) throws(RequestFailure) -> Exchange {
        var parser = RequestParser()
        parser.limits = handler.limits
        var used = 0
        var step = bytes.withUnsafeBytes { parser.advance($0, consumed: &used) }
        if case .head = step { step = bytes.withUnsafeBytes { parser.advance($0, consumed: &used) } }
        if case .failed(let failure) = step { throw failure }
        guard case .complete = step, used == bytes.count, let request = parser.take() else {
            throw RequestFailure(status: 400, message: "The bytes are not one whole request.")
        }
        let sink = MemoryExchange(handler, done)
        let exchange = Exchange(request, peerAddress: "", sink: sink)
        handler.requestArrived(exchange)
        return exchange
    }

    func play(_ script: WireScript, of exchange: Exchange) { proceed(script, 0, exchange, isDue: false) }

    private func proceed(_ script: WireScript, _ start: Int, _ exchange: Exchange, isDue: Bool) {
        var next = start
        while next < script.steps.count {
            let step = script.steps[next]
            next += 1
            switch step {
            case .bytes(let bytes): state.withLock(of: self) { $0.bytes += bytes }
            case .pace: continue
            case .wait(let nanoseconds):
                guard let clock = exchange.clock else { continue }
                let rest = next
                let wait = clock.wait(nanoseconds) {
                    self.state.withLock(of: self) { $0.wait = nil }
                    self.proceed(script, rest, exchange, isDue: true)
                }
                state.withLock(of: self) { $0.wait = wait }
                if isDue { clock.settled() }
                return
            }
        }
        conclude(script.end, exchange, cancelled: false)
        if isDue { exchange.clock?.settled() }
    }

    /// The answer is what was there when it was asked for.
    func send(_ bytes: [UInt8], _ exchange: Exchange) {}

    func conclude(_ end: WireScript.End, of exchange: Exchange) {}

    func abort(_ exchange: Exchange) {
        let wait = state.withLock(of: self) { $0.wait }
        if let wait { exchange.clock?.cancel(wait) }
        conclude(.rst, exchange, cancelled: true)
    }

    private func conclude(_ end: WireScript.End, _ exchange: Exchange, cancelled: Bool) {
        let bytes: [UInt8]? = state.withLock(of: self) { state in
            if state.isDone { return nil }
            state.isDone = true
            return state.bytes
        }
        guard let bytes else { return }
        handler.exchangeEnded(exchange, cancelled ? .cancelled : Self.ending(end))
        done(Outcome(bytes: bytes, end: end, wasCancelled: cancelled))
    }

    private static func ending(_ end: WireScript.End) -> Ending {
        switch end {
        case .keep: .kept
        case .fin: .closed
        case .rst: .reset
        case .half: .halfClosed
        case .stall, .open, .relayed: .stalled
        }
    }
}
