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
    func answer(to failure: RequestFailure) -> [UInt8]
    var limits: ServerLimits { get }
}

/// Where an answer goes: a connection, or memory.
protocol ExchangeSink: AnyObject, Sendable {
    func play(_ script: WireScript, of exchange: Exchange)
    func abort(_ exchange: Exchange)
}

/// One request and the one answer to it.
package final class Exchange: Sendable {
    private let finished = Atomic<Bool>(false)
    private let contents: Mutex<Contents>
    private let sink: any ExchangeSink
    package let peerAddress: String

    private struct Contents {
        var request: Request
        var context: (any Sendable)?
        var clock: (any ScriptClock)?
    }

    init(_ request: Request, peerAddress: String, sink: any ExchangeSink) {
        contents = Mutex(Contents(request: request))
        self.peerAddress = peerAddress
        self.sink = sink
    }

    package var request: Request { contents.withLock { $0.request } }

    /// What the handler wants to find again at the next call for this exchange.
    package var context: (any Sendable)? {
        get { contents.withLock { $0.context } }
        set { contents.withLock { $0.context = newValue } }
    }

    var clock: (any ScriptClock)? { contents.withLock { $0.clock } }

    func setBody(_ body: [UInt8], _ trailers: [HeaderField]) {
        contents.withLock {
            $0.request.body = body
            $0.request.trailers = trailers
        }
    }

    package var isFinished: Bool { finished.load(ordering: .acquiring) }

    /// Answers, from any thread. Only the first call counts: afterwards it does nothing and says so.
    /// - Parameter clock: what the script's waits run on; a script without waits needs none.
    @discardableResult
    package func finish(_ script: WireScript, clock: (any ScriptClock)? = nil) -> Bool {
        if finished.exchange(true, ordering: .acquiringAndReleasing) { return false }
        if let clock { contents.withLock { $0.clock = clock } }
        sink.play(script, of: self)
        return true
    }

    /// Breaks the connection of this exchange, whatever has been sent.
    package func abort() {
        finished.store(true, ordering: .releasing)
        sink.abort(self)
    }
}
