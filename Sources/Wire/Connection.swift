import CPushSimSystem

/// One accepted connection: reads requests, hands them to the handler one at a time, plays the answers.
///
/// `@unchecked Sendable`: touched only on its loop; what comes from other threads is submitted to it.
final class Connection: EventSource, ExchangeSink, @unchecked Sendable {
    private enum State {
        case reading
        /// A request is with the handler.
        case waiting(Exchange)
        case playing(Exchange, Playback)
        /// FIN is sent; what still comes is read and dropped, so that the peer sees a clean end.
        case lingering
        /// Half-closed or stalled on purpose: nothing more is sent. The exchange lasts as long as the connection.
        case parked(Exchange, Ending)
        case closed
    }

    private struct Playback {
        var steps: [WireScript.Step]
        var end: WireScript.End
        var next = 0
        /// A wait on the script's clock, or a pace on the loop's.
        var wait: UInt64?
        var pace: UInt64?
        var owesSettlement = false
    }

    private let descriptor: Int32
    private unowned let tenant: Tenant
    private let loop: EventLoop
    private let handler: any RequestHandler
    private var token: UInt64?
    private var wanted = Poller.Readiness.readable
    private var state = State.reading
    private var parser = RequestParser()
    private var pending: [UInt8] = []
    private var output: [[UInt8]] = []
    private var outputSent = 0
    /// Kept-alive exchanges whose last bytes are in `output`.
    private var unflushed: [(Exchange, Ending)] = []
    private var inputEnded = false
    private var isProcessing = false
    private var limits: ServerLimits
    private var deadline: Int64 = 0
    private var timer: UInt64?
    private var timerDeadline: Int64 = 0
    private var peerAddress: String?

    private static let pendingLimit = 1 << 16
    private static let lingerTime: Int64 = 5_000_000_000

    init(_ descriptor: Int32, _ tenant: Tenant) {
        self.descriptor = descriptor
        self.tenant = tenant
        loop = tenant.loop
        handler = tenant.handler
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

    private var isReadingWanted: Bool { wanted.contains(.readable) }

    private func receive() {
        if case .closed = state { return }
        let count = pushsim_receive(descriptor, loop.scratch.baseAddress, loop.scratch.count)
        if count == 0 {
            peerFinished()
        } else if count < 0 {
            // -EAGAIN: nothing there after all.
            let error = SystemError("recv", count)
            if error.code != SystemError.wouldBlock { lost() }
        } else {
            received(UnsafeRawBufferPointer(rebasing: loop.scratch[..<Int(count)]))
        }
    }

    private func received(_ bytes: UnsafeRawBufferPointer) {
        switch state {
        case .lingering, .parked, .closed: return
        case .reading:
            if pending.isEmpty {
                let used = process(bytes)
                if used < bytes.count { pending.append(contentsOf: bytes[used...]) }
                boundPending()
            } else {
                pending.append(contentsOf: bytes)
                processPending()
            }
        case .waiting, .playing:
            pending.append(contentsOf: bytes)
            boundPending()
        }
        flush()
    }

    /// Stops reading from a peer that sends far ahead.
    private func boundPending() {
        if case .reading = state { return }
        if pending.count >= Self.pendingLimit, isReadingWanted {
            want(wanted.subtracting(.readable).union(.peerClosed))
        }
    }

    private func processPending() {
        guard !isProcessing else { return }
        let bytes = pending
        pending = []
        let used = bytes.withUnsafeBytes { process($0) }
        if used < bytes.count {
            if pending.isEmpty, used == 0 { pending = bytes } else { pending = bytes[used...] + pending }
        }
        boundPending()
    }

    /// Reads requests out of `bytes` as long as the connection is ready for one; answers how many bytes were used.
    private func process(_ bytes: UnsafeRawBufferPointer) -> Int {
        isProcessing = true
        defer { isProcessing = false }
        var used = 0
        while case .reading = state {
            if used == bytes.count { break }
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
                case .failed(let failure): refuse(failure)
                case .head, .needMore:
                    requestBegan()
                    announceHead()
                }
            case .complete: deliver()
            case .failed(let failure): refuse(failure)
            }
        }
        return used
    }

    private func announceHead() {
        guard let head = parser.head else { return }
        let exchange = Exchange(Request(head: head, body: []), peerAddress: address(), sink: self)
        announced = exchange
        handler.headArrived(exchange)
        guard !exchange.isFinished else { return }
        if head.expectsContinue, parser.body.isEmpty {
            output.append(Array("HTTP/1.1 100 Continue\r\n\r\n"))
        }
    }

    /// The exchange whose head was announced and whose body is still coming.
    private var announced: Exchange?

    private func deliver() {
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

    private var keepAlive = true

    private func refuse(_ failure: RequestFailure) {
        if let announced {
            self.announced = nil
            if !announced.isFinished {
                handler.exchangeEnded(announced, .cancelled)
            }
        }
        output.append(handler.answer(to: failure))
        finishWriting()
    }

    private func address() -> String {
        if let peerAddress { return peerAddress }
        var buffer = [CChar](repeating: 0, count: 64)
        let length = pushsim_peer_address(descriptor, &buffer, buffer.count)
        let text =
            length > 0 ? String(decoding: buffer[..<Int(length)].map { UInt8(bitPattern: $0) }, as: UTF8.self) : ""
        peerAddress = text
        return text
    }

    // MARK: answers

    func play(_ script: WireScript, of exchange: Exchange) {
        if loop.isCurrent { begin(script, exchange) } else { loop.submit { self.begin(script, exchange) } }
    }

    func abort(_ exchange: Exchange) {
        loop.execute { [self] in
            switch state {
            case .waiting(let current) where current === exchange: end(exchange, .cancelled)
            case .playing(let current, let playback) where current === exchange:
                drop(playback, exchange)
                end(exchange, .cancelled)
            case .parked(let current, let ending) where current === exchange: end(exchange, ending)
            case .reading where announced === exchange: end(exchange, .cancelled)
            default: return
            }
            close(reset: true)
        }
    }

    private func begin(_ script: WireScript, _ exchange: Exchange) {
        switch state {
        case .waiting(let current) where current === exchange: break
        case .reading where announced === exchange:
            // Answered at its head: the body that may still come is not wanted, so the connection cannot go on.
            announced = nil
            keepAlive = false
        default:
            // The client has left, which `exchangeEnded` has told.
            return
        }
        state = .playing(exchange, Playback(steps: script.steps, end: script.end))
        proceed()
        if !isProcessing { flush() }
    }

    /// Plays on until the script waits or ends.
    private func proceed() {
        guard case .playing(let exchange, var playback) = state else { return }
        while playback.next < playback.steps.count {
            let step = playback.steps[playback.next]
            playback.next += 1
            switch step {
            case .bytes(let bytes):
                if !bytes.isEmpty { output.append(bytes) }
            case .wait(let nanoseconds):
                guard let clock = exchange.clock else { continue }
                settle(&playback, exchange)
                state = .playing(exchange, playback)
                flush()
                guard case .playing(_, var current) = state else { return }
                current.wait = clock.wait(nanoseconds) { [weak self] in
                    guard let self else { return clock.settled() }
                    self.loop.execute { self.waited(exchange, clock) }
                }
                if case .playing(_, let now) = state, now.next == current.next { state = .playing(exchange, current) }
                checkForDeparture()
                return
            case .pace(let nanoseconds):
                state = .playing(exchange, playback)
                flush()
                guard case .playing(_, var current) = state else { return }
                current.pace = loop.schedule(at: pushsim_monotonic_clock() + nanoseconds) { [weak self] in
                    self?.paced(exchange)
                }
                state = .playing(exchange, current)
                checkForDeparture()
                return
            }
        }
        state = .playing(exchange, playback)
        conclude(exchange, playback)
    }

    private func waited(_ exchange: Exchange, _ clock: any ScriptClock) {
        guard case .playing(let current, var playback) = state, current === exchange else { return clock.settled() }
        playback.wait = nil
        playback.owesSettlement = true
        state = .playing(exchange, playback)
        proceed()
        flush()
    }

    private func paced(_ exchange: Exchange) {
        guard case .playing(let current, var playback) = state, current === exchange else { return }
        playback.pace = nil
        state = .playing(exchange, playback)
        proceed()
        flush()
    }

    private func settle(_ playback: inout Playback, _ exchange: Exchange) {
        guard playback.owesSettlement else { return }
        playback.owesSettlement = false
        flush()
        exchange.clock?.settled()
    }

    /// A FIN that came before the wait began counts as leaving (DESIGN.md, "Clients that leave").
    private func checkForDeparture() {
        if inputEnded { lost() }
    }

    private func conclude(_ exchange: Exchange, _ script: Playback) {
        var playback = script
        switch playback.end {
        case .keep where keepAlive && !inputEnded:
            state = .reading
            setDeadline(limits.idle)
            if playback.owesSettlement { settle(&playback, exchange) }
            unflushed.append((exchange, .kept))
            if !isProcessing {
                if !isReadingWanted { want(wanted.union(.readable).subtracting(.peerClosed)) }
                if !pending.isEmpty { resumeReading() }
            }
        case .keep, .fin:
            unflushed.append((exchange, .closed))
            finishWriting()
            settle(&playback, exchange)
        case .rst:
            flush()
            settle(&playback, exchange)
            end(exchange, .reset)
            close(reset: true)
        case .half:
            flush()
            _ = pushsim_shutdown_write(descriptor)
            park(exchange, .halfClosed, &playback)
        case .stall:
            park(exchange, .stalled, &playback)
        }
    }

    private func park(_ exchange: Exchange, _ ending: Ending, _ playback: inout Playback) {
        state = .parked(exchange, ending)
        settle(&playback, exchange)
        deadline = .max
        if inputEnded { peerFinished() }
    }

    /// Goes on with what the peer has sent ahead, on a fresh stack.
    private func resumeReading() {
        loop.afterEvents { [weak self] in
            guard let self, case .reading = self.state else { return }
            self.processPending()
            self.flush()
        }
    }

    /// Sends FIN once the output is out. What is unread by then is drained, since closing over it would send a RST.
    private func finishWriting() {
        state = .lingering
        deadline = pushsim_monotonic_clock() + Self.lingerTime
        armTimer()
        flush()
    }

    private func end(_ exchange: Exchange, _ ending: Ending) {
        handler.exchangeEnded(exchange, ending)
    }

    private func flush() {
        if case .closed = state { return }
        if output.count > 1 {
            var joined: [UInt8] = []
            joined.reserveCapacity(output.reduce(0) { $0 + $1.count } - outputSent)
            for (index, chunk) in output.enumerated() { joined += index == 0 ? chunk[outputSent...] : chunk[...] }
            output = [joined]
            outputSent = 0
        }
        if let chunk = output.first {
            let count = chunk.withUnsafeBytes { bytes in
                pushsim_send(descriptor, bytes.baseAddress.map { $0 + outputSent }, bytes.count - outputSent)
            }
            if count < 0, SystemError("send", count).code != SystemError.wouldBlock { return lost() }
            outputSent += max(0, Int(count))
            if outputSent < chunk.count {
                setDeadline(limits.idle)
                return want(wanted.union(.writable))
            }
            output.removeAll(keepingCapacity: true)
            outputSent = 0
        }
        if wanted.contains(.writable) { want(wanted.subtracting(.writable)) }
        flushed()
    }

    private func flushed() {
        if !unflushed.isEmpty {
            let done = unflushed
            unflushed.removeAll(keepingCapacity: true)
            for (exchange, ending) in done { end(exchange, ending) }
        }
        guard case .lingering = state else { return }
        // With all input read, close() sends FIN; otherwise FIN goes first and the rest is drained.
        if inputEnded || (!parser.isInside && pushsim_unread(descriptor) == 0) {
            close(reset: false)
        } else {
            _ = pushsim_shutdown_write(descriptor)
            if !isReadingWanted { want(wanted.union(.readable)) }
        }
    }

    // MARK: ends

    /// The peer sent FIN: it may still read, so an answer under way goes out, but nobody waits for a delayed one.
    private func peerFinished() {
        inputEnded = true
        switch state {
        case .reading:
            if output.isEmpty { lost() } else { finishWriting() }
        case .waiting:
            want([])
        case .playing(_, let playback):
            if playback.wait != nil || playback.pace != nil { lost() } else { want(wanted.intersection(.writable)) }
        case .parked(let exchange, let ending):
            end(exchange, ending)
            close(reset: false)
        case .lingering: close(reset: false)
        case .closed: break
        }
    }

    /// The connection is of no more use: whoever was being answered has left.
    private func lost() {
        switch state {
        case .waiting(let exchange): end(exchange, .clientLeft)
        case .playing(let exchange, let playback):
            drop(playback, exchange)
            end(exchange, .clientLeft)
        case .reading:
            if let announced { end(announced, .clientLeft) }
            announced = nil
        case .parked(let exchange, let ending): end(exchange, ending)
        case .lingering, .closed: break
        }
        endUnflushed()
        close(reset: false)
    }

    private func endUnflushed() {
        let cut = unflushed
        unflushed = []
        for (exchange, _) in cut { end(exchange, .clientLeft) }
    }

    private func drop(_ playback: Playback, _ exchange: Exchange) {
        if let wait = playback.wait { exchange.clock?.cancel(wait) }
        if let pace = playback.pace { loop.cancel(pace) }
        if playback.owesSettlement { exchange.clock?.settled() }
    }

    /// The server stops.
    func shutDown() {
        switch state {
        case .waiting(let exchange): end(exchange, .cancelled)
        case .playing(let exchange, let playback):
            drop(playback, exchange)
            end(exchange, .cancelled)
        case .reading: if let announced { end(announced, .cancelled) }
        case .parked(let exchange, let ending): end(exchange, ending)
        case .lingering, .closed: break
        }
        announced = nil
        for (exchange, _) in unflushed { end(exchange, .cancelled) }
        unflushed = []
        close(reset: false, forget: false)
    }

    private func close(reset: Bool, forget: Bool = true) {
        if case .closed = state { return }
        state = .closed
        if let timer { loop.cancel(timer) }
        timer = nil
        if let token { loop.unwatch(descriptor, token: token) }
        token = nil
        _ = reset ? pushsim_reset(descriptor) : pushsim_close(descriptor)
        output = []
        pending = []
        if forget { tenant.connections[ObjectIdentifier(self)] = nil }
    }

    private func want(_ readiness: Poller.Readiness) {
        guard readiness != wanted, let token else { return }
        wanted = readiness
        loop.change(descriptor, readiness, token: token)
    }

    // MARK: deadlines

    /// Moves the deadline. The timer itself stays where it is and looks again when it fires: a request costs no timer.
    private func setDeadline(_ nanoseconds: Int64) {
        deadline = pushsim_monotonic_clock() + nanoseconds
        armTimer()
    }

    /// A request's time runs from its first byte to its last.
    private func requestBegan() {
        guard !isRequestTimed else { return }
        isRequestTimed = true
        setDeadline(limits.requestTime)
    }

    private var isRequestTimed = false

    private func armTimer() {
        if timer != nil, timerDeadline <= deadline { return }
        if let timer { loop.cancel(timer) }
        timerDeadline = deadline
        timer = loop.schedule(at: deadline) { [weak self] in self?.timerFired() }
    }

    private func timerFired() {
        timer = nil
        if deadline == .max { return }
        if pushsim_monotonic_clock() < deadline { return armTimer() }
        switch state {
        case .reading:
            if parser.isInside { refuse(.timeout) } else { lost() }
        case .lingering: close(reset: false)
        case .waiting, .playing:
            if output.isEmpty { setDeadline(limits.idle) } else { lost() }
        case .parked, .closed: break
        }
    }
}

extension SystemError {
    /// EAGAIN, as the system numbers it.
    static let wouldBlock: Int32 = pushsim_would_block()
}
