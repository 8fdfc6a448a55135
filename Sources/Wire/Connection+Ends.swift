import CPushSimSystem

// How a connection ends, and what it may take its time for.
extension Connection {
    /// The peer sent FIN: it may still read, so an answer under way goes out, but nobody waits for a delayed one.
    func peerFinished() {
        inputEnded = true
        switch state {
        case .reading:
            // What it has asked for before is answered first.
            if isChoked || isResuming { want(wanted.intersection(.writable)) } else { inputExhausted() }
        case .waiting:
            want([])
        case .streaming(_, let hasEnd): if hasEnd { want(wanted.intersection(.writable)) } else { lost() }
        case .playing(_, let playback):
            // A FIN in the midst of a wait counts as leaving (DESIGN.md, "Clients that leave").
            if playback.wait != nil, !playback.outlivesInput { lost() } else { want(wanted.intersection(.writable)) }
        case .resetting: want(wanted.intersection(.writable))
        case .parked(let exchange, let ending):
            end(exchange, ending)
            close(reset: false)
        case .lingering:
            if output.isEmpty { close(reset: false) } else { want(wanted.intersection(.writable)) }
        case .closed: break
        }
    }

    /// All that the peer has asked for is answered, and nothing more comes.
    func inputExhausted() {
        if output.isEmpty { return lost() }
        // The rest of an announced request does not come.
        if let announced { end(announced, .clientLeft) }
        announced = nil
        finishWriting()
    }

    /// The connection is of no more use: whoever was being answered has left.
    func lost() {
        switch state {
        case .waiting(let exchange), .streaming(let exchange, _): end(exchange, .clientLeft)
        case .playing(let exchange, let playback):
            drop(playback, exchange)
            end(exchange, .clientLeft)
        case .reading:
            if let announced { end(announced, .clientLeft) }
            announced = nil
        case .parked(let exchange, let ending): end(exchange, ending)
        case .resetting(let exchange): end(exchange, .clientLeft)
        case .lingering, .closed: break
        }
        endUnflushed(.clientLeft)
        close(reset: false)
    }

    func noteUnflushed(_ exchange: Exchange, _ ending: Ending) {
        if unflushed == nil { unflushed = (exchange, ending) } else { alsoUnflushed.append((exchange, ending)) }
    }

    func isUnflushed(_ exchange: Exchange) -> Bool {
        unflushed?.0 === exchange || alsoUnflushed.contains { $0.0 === exchange }
    }

    /// - Parameter cut: how they end where their last bytes will never be with the kernel.
    func endUnflushed(_ cut: Ending? = nil) {
        guard let (exchange, ending) = unflushed else { return }
        unflushed = nil
        let more = alsoUnflushed
        if more.count > 0 { alsoUnflushed = [] }
        end(exchange, cut ?? ending)
        if more.count > 0 {
            for (exchange, ending) in more { end(exchange, cut ?? ending) }
        }
    }

    func drop(_ playback: Playback, _ exchange: Exchange) {
        if let wait = playback.wait { exchange.clock?.cancel(wait) }
        if let pace = playback.pace { loop.cancel(pace) }
        if playback.owesSettlement { exchange.clock?.settled() }
    }

    /// The server stops.
    func shutDown() {
        switch state {
        case .waiting(let exchange), .streaming(let exchange, _): end(exchange, .cancelled)
        case .playing(let exchange, let playback):
            drop(playback, exchange)
            end(exchange, .cancelled)
        case .reading: if let announced { end(announced, .cancelled) }
        case .parked(let exchange, let ending): end(exchange, ending)
        case .resetting(let exchange): end(exchange, .cancelled)
        case .lingering, .closed: break
        }
        announced = nil
        endUnflushed(.cancelled)
        close(reset: false, forget: false)
    }

    func close(reset: Bool, forget: Bool = true) {
        if case .closed = state { return }
        state = .closed
        if let timer { loop.cancel(timer) }
        timer = nil
        if let token { loop.unwatch(descriptor, token: token) }
        token = nil
        _ = reset ? pushsim_reset(descriptor) : pushsim_close(descriptor)
        output.removeAll()
        pending = []
        endUnflushed(.clientLeft)
        if forget { tenant.connections[ObjectIdentifier(self)] = nil }
    }

    func want(_ readiness: Poller.Readiness) {
        guard readiness != wanted, let token else { return }
        wanted = readiness
        loop.change(descriptor, readiness, token: token)
    }

    /// Moves the deadline. The timer itself stays where it is and looks again when it fires: a request costs no timer.
    func setDeadline(_ nanoseconds: Int64) {
        deadline = pushsim_monotonic_clock() + nanoseconds
        armTimer()
    }

    /// A request's time runs from its first byte to its last.
    func requestBegan() {
        guard !isRequestTimed else { return }
        isRequestTimed = true
        setDeadline(limits.requestTime)
    }

    func armTimer() {
        if timer != nil, timerDeadline <= deadline { return }
        if let timer { loop.cancel(timer) }
        timerDeadline = deadline
        // Not weakly: what is referred to so once is slow to retain for ever. The timer goes when the connection closes.
        timer = loop.schedule(at: deadline) { self.timerFired() }
    }

    func timerFired() {
        timer = nil
        if deadline == .max { return }
        if pushsim_monotonic_clock() < deadline { return armTimer() }
        switch state {
        case .reading:
            if parser.isInside { refuse(.timeout) } else { lost() }
        case .lingering: close(reset: false)
        case .waiting, .playing, .streaming:
            if output.isEmpty { setDeadline(limits.idle) } else { lost() }
        case .parked, .resetting, .closed: break
        }
    }
}
