import Synchronization

/// How an exchange came to its end.
package enum Ending: String, Sendable {
    case kept, closed, reset, halfClosed = "half-closed", stalled
    case clientLeft = "client-left"
    case cancelled
}

/// What answers requests. It is called on the connection's loop and must not block.
package protocol RequestHandler: AnyObject, Sendable {
    /// The head is here and the body is not. A handler that need not wait for the body finishes the exchange now.
    func headArrived(_ exchange: Exchange)
    /// The request is whole. Not called where the exchange was finished at its head.
    func requestArrived(_ exchange: Exchange)
    /// The last byte is with the kernel, or will never be. Called once for each exchange that arrived.
    func exchangeEnded(_ exchange: Exchange, _ ending: Ending)
    /// The answer to bytes that are no request.
    /// - Parameter exchange: where its head was one, and was announced; it ends with this answer.
    func answer(to failure: RequestFailure, _ exchange: Exchange?) -> [UInt8]
    var limits: ServerLimits { get }
    /// How large the body of this request may be, where it is larger than `limits` has it.
    func bodyLimit(_ head: RequestHead) -> Int
}

extension RequestHandler {
    package func bodyLimit(_ head: RequestHead) -> Int { 0 }
}

/// Where an answer goes: a connection, or memory.
protocol ExchangeSink: AnyObject, Sendable {
    func play(_ script: WireScript, of exchange: Exchange)
    func abort(_ exchange: Exchange)
    func send(_ bytes: [UInt8], _ exchange: Exchange)
    func conclude(_ end: WireScript.End, of exchange: Exchange)
}

/// One request and the one answer to it.
///
/// `@unchecked Sendable`: `request` is set before the handler hears of the exchange, or, for one that was announced at
/// its head, on the connection's loop before the handler hears of the whole; `context` and `clock` are set by the handler
/// before it finishes the exchange, and read after that, which `finished` orders.
package final class Exchange: @unchecked Sendable {
    private let finished = Atomic<Bool>(false)
    private let sink: any ExchangeSink
    package let peerAddress: String
    package private(set) var request: Request
    /// What the handler wants to find again at the next call for this exchange.
    package var context: AnyObject?
    /// What the waits of the answer run on; an answer without waits needs none.
    package var clock: (any ScriptClock)?

    init(_ request: Request, peerAddress: String, sink: any ExchangeSink) {
        self.request = request
        self.peerAddress = peerAddress
        self.sink = sink
    }

    func setBody(_ body: [UInt8], _ trailers: [HeaderField]) {
        request.body = body
        request.trailers = trailers
    }

    package var isFinished: Bool { finished.load(ordering: .acquiring) }

    /// Answers, from any thread. Only the first call counts: afterwards it does nothing and says so.
    @discardableResult
    package func finish(_ script: WireScript) -> Bool {
        if finished.exchange(true, ordering: .acquiringAndReleasing) { return false }
        sink.play(script, of: self)
        return true
    }

    /// Sends more of an answer whose script ended `open`; nothing where the client has left. From any thread. A client
    /// that falls behind by more than `ServerLimits.streamLag` is let go.
    package func send(_ bytes: [UInt8]) { sink.send(bytes, self) }

    /// Ends an answer whose script ended `open`. From any thread; nothing where it is over.
    package func conclude(_ end: WireScript.End) { sink.conclude(end, of: self) }

    /// Breaks the connection of this exchange, whatever has been sent.
    package func abort() {
        finished.store(true, ordering: .releasing)
        sink.abort(self)
    }
}
