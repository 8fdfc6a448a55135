import CPushSimSystem

/// One accepted connection: reads requests, hands them to the handler one at a time, plays the answers.
///
/// `@unchecked Sendable`: touched only on its loop; what comes from other threads is submitted to it.
final class Connection: EventSource, ExchangeSink, @unchecked Sendable {
    enum State {
        case reading
        /// A request is with the handler.
        case waiting(Exchange)
        case playing(Exchange, Playback)
        /// A RST follows once all before it has been sent, since it would take that with it.
        case resetting(Exchange)
        /// FIN is sent; what still comes is read and dropped, so that the peer sees a clean end.
        case lingering
        /// Half-closed or stalled on purpose: nothing more is sent. The exchange lasts as long as the connection.
        case parked(Exchange, Ending)
        /// An answer that goes on: more is sent whenever there is more. One that comes to an end outlives the input.
        case streaming(Exchange, hasEnd: Bool)
        case closed
    }

    struct Playback {
        var steps: [WireScript.Step]
        var end: WireScript.End
        var next = 0
        /// A wait on the script's clock, or a pace on the loop's.
        var wait: UInt64?
        var pace: UInt64?
        var owesSettlement = false
        var outlivesInput = false
    }

    let descriptor: Int32
    unowned let tenant: Tenant
    let loop: EventLoop
    let handler: any RequestHandler
    var token: UInt64?
    var wanted = Poller.Readiness.readable
    var state = State.reading
    var parser: RequestParser
    var pending: [UInt8] = []
    var output = OutputQueue()
    /// The first exchange whose last bytes are in `output`, and those behind it: most often there is one.
    var unflushed: (Exchange, Ending)?
    var alsoUnflushed: [(Exchange, Ending)] = []
    var inputEnded = false
    /// Whether requests wait until the answers before them have gone out.
    var isChoked = false
    /// Whether what has been read is soon to be gone on with.
    var isResuming = false
    var isProcessing = false
    var limits: ServerLimits
    var deadline: Int64 = 0
    var timer: UInt64?
    var timerDeadline: Int64 = 0
    var peerAddress: String?
    var isRequestTimed = false

    private static let pendingLimit = 1 << 16
    /// A client that does not read its answers is answered no further than this.
    private static let outputLimit = 1 << 16
    static let lingerTime: Int64 = 5_000_000_000

    init(_ descriptor: Int32, _ tenant: Tenant) {
        self.descriptor = descriptor
        self.tenant = tenant
        loop = tenant.loop
        let handler = tenant.handler
        self.handler = handler
        parser = RequestParser { handler.bodyLimit($0) }
        limits = handler.limits
        parser.limits = limits
    }

    func start() {
        do throws(SystemError) {
            token = try loop.watch(descriptor, wanted, self)
        } catch {
            close(reset: true)
            return
        }
        setDeadline(limits.idle)
    }

    // MARK: events

    func ready(_ readiness: Poller.Readiness) {
        if readiness.contains(.writable) { flush() }
        if readiness.contains(.readable) || readiness.contains(.broken) && isReadingWanted {
            receive()
        } else if readiness.contains(.peerClosed) {
            peerFinished()
        } else if readiness.contains(.broken) {
            lost()
        }
    }

    var isReadingWanted: Bool { wanted.contains(.readable) }

    func receive() {
        if case .closed = state { return }
        let count = pushsim_receive(descriptor, loop.scratch.baseAddress, loop.scratch.count)
        if count == 0 {
            peerFinished()
        } else if count < 0 {
            // -EAGAIN: nothing there after all.
            let error = SystemError("recv", count)
            if error.code != SystemError.wouldBlock { lost() }
        } else {
            received(UnsafeRawBufferPointer(start: loop.scratch.baseAddress, count: Int(count)))
        }
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
        switch state {
        case .lingering, .parked, .resetting, .closed: return
        case .reading:
            if isChoked {
                pending.append(contentsOf: bytes)
            } else if pending.count == 0 {
                let used = process(bytes)
                if used < bytes.count { pending.append(contentsOf: bytes[used...]) }
                boundPending()
            } else {
                pending.append(contentsOf: bytes)
                processPending()
            }
        case .waiting, .playing, .streaming:
            pending.append(contentsOf: bytes)
            boundPending()
        }
        flush()
    }

    /// Stops reading from a peer that sends far ahead.
    func boundPending() {
        if case .reading = state, !isChoked { return }
        if isChoked || pending.count >= Self.pendingLimit, isReadingWanted {
            want(wanted.subtracting(.readable).union(.peerClosed))
        }
    }

    func processPending() {
        guard !isProcessing else { return }
        let bytes = pending
        pending = []
        let used = bytes.withUnsafeBytes { process($0) }
        if used < bytes.count {
            if pending.isEmpty, used == 0 { pending = bytes } else { pending = bytes[used...] + pending }
        }
        boundPending()
        if inputEnded, case .reading = state, !isChoked { inputExhausted() }
    }

    /// Reads requests out of `bytes` as long as the connection is ready for one; answers how many bytes were used.
    func process(_ bytes: UnsafeRawBufferPointer) -> Int {
        isProcessing = true
        defer { isProcessing = false }
        var used = 0
        while case .reading = state {
            if used == bytes.count { break }
            if output.count > Self.outputLimit {
                flush()
                // The client may be found to have left.
                guard case .reading = state else { break }
                isChoked = !output.isEmpty
                if isChoked { break }
            }
            if !parser.isInside {
                limits = handler.limits
                parser.limits = limits
            }
            switch parser.advance(bytes, consumed: &used) {
            case .needMore:
                if parser.isInside { requestBegan() }
                return used
            case .head:
                // Where the body is here already, the handler hears of the whole request at once.
                switch parser.advance(bytes, consumed: &used) {
                case .complete: deliver()
                case .failed(let failure): fail(failure)
                case .head, .needMore:
                    requestBegan()
                    announceHead()
                }
            case .complete: deliver()
            case .failed(let failure): fail(failure)
            }
        }
        return used
    }

    /// What follows a good head is bad. Whether it came with it or later, the head is announced, since there may be
    /// something to decide at it.
    private func fail(_ failure: RequestFailure) {
        if announced == nil { announceHead(mayGoOn: false) }
        if case .reading = state { refuse(failure) }
    }

    /// - Parameter mayGoOn: whether the body is still wanted.
    func announceHead(mayGoOn: Bool = true) {
        guard let head = parser.head else { return }
        let exchange = Exchange(Request(head: head, body: []), peerAddress: address(), sink: self)
        announced = exchange
        handler.headArrived(exchange)
        guard !exchange.isFinished else { return }
        if mayGoOn, head.expectsContinue, parser.body.isEmpty {
            output.append(Array("HTTP/1.1 100 Continue\r\n\r\n"))
        }
    }

    /// The exchange whose head was announced and whose body is still coming.
    var announced: Exchange?

    func deliver() {
        guard let request = parser.take() else { return }
        isRequestTimed = false
        let exchange: Exchange
        if let announced {
            exchange = announced
            exchange.setBody(request.body, request.trailers)
            self.announced = nil
        } else {
            exchange = Exchange(request, peerAddress: address(), sink: self)
        }
        keepAlive = request.head.keepAlive
        state = .waiting(exchange)
        handler.requestArrived(exchange)
    }

    var keepAlive = true

    func refuse(_ failure: RequestFailure) {
        output.append(handler.answer(to: failure, announced))
        if let announced { noteUnflushed(announced, .closed) }
        announced = nil
        finishWriting()
    }

    func address() -> String {
        if let peerAddress { return peerAddress }
        var buffer = [CChar](repeating: 0, count: 64)
        let length = pushsim_peer_address(descriptor, &buffer, buffer.count)
        let text =
            length > 0 ? String(decoding: buffer[..<Int(length)].map { UInt8(bitPattern: $0) }, as: UTF8.self) : ""
        peerAddress = text
        return text
    }
}

extension SystemError {
    /// EAGAIN, as the system numbers it.
    static let wouldBlock: Int32 = pushsim_would_block()
}
