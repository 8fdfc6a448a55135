import CPushSimSystem

// Plays the scripts of answers.
extension Connection {
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
            case .resetting(let current) where current === exchange: end(exchange, .cancelled)
            case .streaming(let current, _) where current === exchange: end(exchange, .cancelled)
            case .reading where announced === exchange: end(exchange, .cancelled)
            case .reading where isUnflushed(exchange), .lingering where isUnflushed(exchange): endUnflushed(.cancelled)
            default: return
            }
            close(reset: true)
        }
    }

    func begin(_ script: WireScript, _ exchange: Exchange) {
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
        if let bytes = script.whole {
            output.append(bytes)
            if case .keep = script.end, isKept {
                kept(exchange)
            } else {
                conclude(exchange, Playback(steps: [], end: script.end))
            }
        } else {
            let playback = Playback(steps: script.steps, end: script.end, outlivesInput: script.outlivesInput)
            state = .playing(exchange, playback)
            proceed()
        }
        if !isProcessing { flush() }
    }

    /// Plays on until the script waits or ends.
    func proceed() {
        guard case .playing(let exchange, var playback) = state else { return }
        while playback.next < playback.steps.count {
            let step = playback.steps[playback.next]
            playback.next += 1
            switch step {
            case .bytes(let bytes):
                output.append(bytes)
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
                if inputEnded, !playback.outlivesInput { lost() }
                return
            case .pace(let nanoseconds):
                state = .playing(exchange, playback)
                flush()
                guard case .playing(_, var current) = state else { return }
                current.pace = loop.schedule(at: pushsim_monotonic_clock() + nanoseconds) { [weak self] in
                    self?.paced(exchange)
                }
                state = .playing(exchange, current)
                return
            }
        }
        state = .playing(exchange, playback)
        conclude(exchange, playback)
    }

    func waited(_ exchange: Exchange, _ clock: any ScriptClock) {
        guard case .playing(let current, var playback) = state, current === exchange else { return clock.settled() }
        playback.wait = nil
        playback.owesSettlement = true
        state = .playing(exchange, playback)
        proceed()
        flush()
    }

    func paced(_ exchange: Exchange) {
        guard case .playing(let current, var playback) = state, current === exchange else { return }
        playback.pace = nil
        state = .playing(exchange, playback)
        proceed()
        flush()
    }

    func settle(_ playback: inout Playback, _ exchange: Exchange) {
        guard playback.owesSettlement else { return }
        playback.owesSettlement = false
        flush()
        exchange.clock?.settled()
    }

    func conclude(_ exchange: Exchange, _ script: Playback) {
        var playback = script
        switch playback.end {
        case .keep where isKept:
            kept(exchange)
            settle(&playback, exchange)
        case .keep, .fin:
            noteUnflushed(exchange, .closed)
            finishWriting()
            settle(&playback, exchange)
        case .rst:
            state = .resetting(exchange)
            flush()
            settle(&playback, exchange)
            resetOnceSent(exchange, by: pushsim_monotonic_clock() + Self.lingerTime)
        case .half:
            flush()
            _ = pushsim_shutdown_write(descriptor)
            park(exchange, .halfClosed, &playback)
        case .stall:
            park(exchange, .stalled, &playback)
        case .open, .relayed:
            let hasEnd = playback.end == .relayed
            state = .streaming(exchange, hasEnd: hasEnd)
            settle(&playback, exchange)
            if inputEnded, !hasEnd { lost() }
        }
    }

    /// No event tells when the system has sent what it took: it is looked for again and again.
    private func resetOnceSent(_ exchange: Exchange, by deadline: Int64) {
        guard case .resetting(let current) = state, current === exchange else { return }
        let now = pushsim_monotonic_clock()
        guard now < deadline, !output.isEmpty || pushsim_unsent(descriptor) > 0 else {
            end(exchange, .reset)
            return close(reset: true)
        }
        loop.schedule(at: now + 1_000_000) { self.resetOnceSent(exchange, by: deadline) }
    }

    /// Whether the connection stays: also where the peer has said all, as long as some of that is not answered.
    private var isKept: Bool { keepAlive && (!inputEnded || isProcessing || pending.count > 0) }

    /// The answer is said, and the connection stays for the next request.
    private func kept(_ exchange: Exchange) {
        state = .reading
        setDeadline(limits.idle)
        noteUnflushed(exchange, .kept)
        if !isProcessing { readOn() }
    }

    private func readOn() {
        if isChoked { return }
        if !isReadingWanted, !inputEnded { want(wanted.union(.readable).subtracting(.peerClosed)) }
        if pending.count > 0 { resumeReading() }
    }

    func send(_ bytes: [UInt8], _ exchange: Exchange) {
        loop.execute { [self] in
            guard case .streaming(let current, _) = state, current === exchange else { return }
            output.append(bytes)
            flush()
            // A client that does not read is let go before it costs more.
            if output.count > limits.streamLag { lost() }
        }
    }

    func conclude(_ end: WireScript.End, of exchange: Exchange) {
        loop.execute { [self] in
            guard case .streaming(let current, _) = state, current === exchange else { return }
            state = .playing(exchange, Playback(steps: [], end: end))
            conclude(exchange, Playback(steps: [], end: end))
            flush()
        }
    }

    func park(_ exchange: Exchange, _ ending: Ending, _ playback: inout Playback) {
        state = .parked(exchange, ending)
        settle(&playback, exchange)
        deadline = .max
        if inputEnded { peerFinished() }
    }

    /// Goes on with what the peer has sent ahead, on a fresh stack.
    func resumeReading() {
        isResuming = true
        loop.afterEvents {
            self.isResuming = false
            guard case .reading = self.state else { return }
            self.processPending()
            self.flush()
        }
    }

    /// Sends FIN once the output is out. What is unread by then is drained, since closing over it would send a RST.
    func finishWriting() {
        state = .lingering
        deadline = pushsim_monotonic_clock() + Self.lingerTime
        armTimer()
        if inputEnded { want(wanted.intersection(.writable)) }
        flush()
    }

    func end(_ exchange: Exchange, _ ending: Ending) {
        handler.exchangeEnded(exchange, ending)
    }

    func flush() {
        if case .closed = state { return }
        if !output.isEmpty {
            if output.send(to: descriptor) < 0 { return lost() }
            if !output.isEmpty {
                setDeadline(limits.idle)
                return want(wanted.union(.writable))
            }
        }
        if wanted.contains(.writable) { want(wanted.subtracting(.writable)) }
        flushed()
        if isChoked, !isProcessing {
            isChoked = false
            guard case .reading = state else { return }
            if inputEnded, pending.count == 0 { inputExhausted() } else { readOn() }
        }
    }

    func flushed() {
        endUnflushed()
        guard case .lingering = state else { return }
        // With all input read, close() sends FIN; otherwise FIN goes first and the rest is drained.
        if inputEnded || (!parser.isInside && pushsim_unread(descriptor) == 0) {
            close(reset: false)
        } else {
            _ = pushsim_shutdown_write(descriptor)
            if !isReadingWanted { want(wanted.union(.readable)) }
        }
    }
}
