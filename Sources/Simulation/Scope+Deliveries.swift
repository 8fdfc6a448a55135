import CPushSimSystem
import Dispatch
import PushSimWire

// The delivery queue: in sequence on the home loop, in chunks of at most 1 ms (DESIGN.md, decision 1).
extension Scope {
    private static let chunk: Int64 = 1_000_000

    func pump() {
        home.execute { [weak self] in self?.pumpOnLoop() }
    }

    private func pumpOnLoop() {
        let mayRun = run { world in
            if world.outbox.isRunning { return false }
            world.outbox.isRunning = true
            return true
        }
        guard mayRun else { return }
        let end = pushsim_monotonic_clock() + Self.chunk
        while let job = run({ world in
            let job = world.outbox.pop()
            if job == nil { world.outbox.isRunning = false }
            return job
        }) {
            switch job {
            case .marker(let done):
                let mayGoOn = run { world in
                    if world.flights.count == 0 { return true }
                    world.flights.waiting.append(done)
                    return false
                }
                if mayGoOn { done() }
            case .parcel(let parcel):
                if !parcel.isMade, parcel.isSlow(parcel.shaping) { return makeElsewhere(parcel) }
                attempt(parcel)
            }
            if pushsim_monotonic_clock() >= end {
                run { $0.outbox.isRunning = false }
                home.submit { [weak self] in self?.pumpOnLoop() }
                return
            }
        }
    }

    /// Makes a parcel on another thread; the queue goes on behind it.
    private func makeElsewhere(_ parcel: Parcel) {
        DispatchQueue.global().async { [self] in
            // What is found is kept, so that the making itself is quick afterwards.
            _ = parcel.make(parcel.delivery, parcel.shaping)
            home.submit { [self] in
                attempt(parcel)
                run { $0.outbox.isRunning = false }
                pumpOnLoop()
            }
        }
    }

    /// What is to be shuffled waits a minute for the others, on the scope's clock.
    func endShuffle(_ rule: String, _ turn: Int) {
        _ = wait(60_000_000_000) { [weak self] in
            self?.run { $0.releaseShuffle(rule, turn) }
            self?.pump()
            self?.settled()
        }
    }

    /// Keeps a parcel back, on the scope's clock.
    func hold(_ parcel: Parcel, _ nanoseconds: Int64) {
        _ = wait(nanoseconds) { [weak self] in
            // The timer's flight goes over to the parcel.
            self?.run { $0.outbox.append(.parcel(parcel)) }
            self?.pump()
        }
    }

    private func attempt(_ parcel: Parcel) {
        var parcel = parcel
        let delivery = parcel.delivery
        // A reset forgets what is under way.
        guard run({ $0.generation == parcel.generation }) else { return settled() }
        if case .refused(let outcome) = parcel.destination { return settle(parcel, outcome) }
        if !parcel.isFirst || parcel.shaping.actions.keepsBack,
            run({ $0.state(of: delivery)?.mayReach(delivery) == false })
        {
            return settle(parcel, .dropped, failure: "the registration or subscription has ended")
        }
        if !parcel.isFirst, let deadline = delivery.deadline, run({ $0.clock.now >= deadline }) {
            return settle(parcel, .dropped, failure: "it has expired")
        }
        if !parcel.isMade {
            guard parcel.make(delivery, parcel.shaping) else { return settle(parcel, .invalidKeys) }
            Self.change(delivery, parcel.shaping.actions)
            parcel.isMade = true
        }
        let isFirst = parcel.isFirst
        parcel.isFirst = false
        let (begun, faults) = run { world -> (Int64, DeliveryActions) in
            delivery.attempts += 1
            var actions =
                isFirst
                ? parcel.shaping.actions : world.decide(delivery, isRetry: true)?.actions ?? DeliveryActions()
            if let framing = parcel.shaping.actions.headerWire {
                actions.wire = actions.wire?.framed(as: framing) ?? framing
            }
            return (world.clock.now, actions)
        }
        if isFirst { parcel.begun = begun } else { parcel.decidedAt = begun }
        if let answer = faults.answer {
            return judge(parcel, answer.status, reason: answer.reason, retryAfter: answer.retryAfter)
        }
        guard case .post(let endpoint) = parcel.destination else { return capture(parcel, faults) }
        post(parcel, endpoint, faults)
    }

    /// Into the inbox without a socket, unless it would not have got through one.
    private func capture(_ parcel: Parcel, _ faults: DeliveryActions) {
        guard faults.connection != nil || faults.wire != nil else { return settle(parcel, .accepted) }
        let call = HTTPClient.Call(
            host: "push.pushsim.example", port: 443, method: "POST", target: "/", fields: parcel.delivery.headers,
            body: parcel.delivery.body)
        switch CapturedSending.outcome(script(call, faults, parcel.delivery), of: call) {
        case .arrived: settle(parcel, .accepted)
        case .refused(let status): judge(parcel, status, reason: nil, retryAfter: nil)
        case .failed(.timeout):
            // As long as a socket would have been waited for.
            let limit = run { $0.deliveryLimits.whole }
            _ = wait(limit) { [weak self] in
                self?.retry(parcel, status: nil, failure: HTTPClient.Failure.timeout.description, retryAfter: nil)
            }
            settled()
        case .failed(let failure): retry(parcel, status: nil, failure: failure.description, retryAfter: nil)
        }
    }

    /// Header fields that a profile changes or leaves out.
    private static func change(_ delivery: Delivery, _ actions: DeliveryActions) {
        for change in actions.headers {
            delivery.headers.removeAll { $0.isNamed(change.name) }
            for value in change.values { delivery.headers.append(HeaderField(change.name, value)) }
        }
    }

    private func post(_ parcel: Parcel, _ endpoint: Parcel.Endpoint, _ faults: DeliveryActions) {
        var call = HTTPClient.Call(
            host: endpoint.host, port: endpoint.port, method: "POST", target: endpoint.target,
            fields: [HeaderField("Host", endpoint.hostField)] + parcel.delivery.headers, body: parcel.delivery.body)
        if faults.connection != nil || faults.wire != nil { call.script = script(call, faults, parcel.delivery) }
        let (limits, carrier) = run { ($0.deliveryLimits, $0.carrier) }
        (call.connectLimit, call.wholeLimit) = (limits.connect, limits.whole)
        let heard: @Sendable (Result<Response, HTTPClient.Failure>) -> Void = { [weak self] result in
            guard let self else { return }
            switch result {
            case .success(let response):
                judge(parcel, response.status, reason: nil, retryAfter: retryAfter(response))
            case .failure(let failure): retry(parcel, status: nil, failure: failure.description, retryAfter: nil)
            }
        }
        guard let origin = endpoint.origin else { return HTTPClient.send(call, on: home, heard) }
        // What is wrong on the wire cannot be asked of a library that keeps it right.
        guard call.script == nil, let carrier else {
            return heard(.failure(.unsent("a fault of the wire needs a route of delivery.routes")))
        }
        carrier.send(call, to: origin) { [home] result in home.submit { heard(result) } }
    }

    /// Seconds, or a date on the scope's clock (RFC 9110 section 10.2.3).
    private func retryAfter(_ response: Response) -> Int64? {
        guard let text = response.fields.first("retry-after") else { return nil }
        if let seconds = decimalDigits(text) { return Int64(min(seconds, 1 << 31)) * 1_000_000_000 }
        let second = now.floorDivided(by: 1_000_000_000)
        return HTTPDate.parse(text).map { min(max(0, $0 - second), 1 << 31) * 1_000_000_000 }
    }

    /// What goes over the delivery's own connection where that is a fault.
    private func script(_ call: HTTPClient.Call, _ faults: DeliveryActions, _ delivery: Delivery) -> WireScript {
        switch faults.connection {
        case .reset, .refuse: return WireScript(end: .rst)
        case .close: return WireScript(end: .fin)
        case .stall: return WireScript(end: .stall)
        default: break
        }
        var shaper = WireShaper(
            startLine: call.startLine, fields: call.allFields, body: call.body, hasBody: true,
            faults: faults.wire ?? WireFaults(), chance: faults.wireChance, end: .keep)
        return shaper.script(faults.connection)
    }

    private func judge(_ parcel: Parcel, _ status: Int, reason: String?, retryAfter: Int64?) {
        let delivery = parcel.delivery
        let verdict = run { world in
            world.state(of: delivery)?.judge(delivery, status, reason) ?? .accepted
        }
        switch verdict {
        case .accepted: settle(parcel, .accepted, status: status)
        case .removed: settle(parcel, .removed, status: status, failure: reason)
        case .rejected: settle(parcel, .rejected, status: status, failure: reason)
        case .retry: retry(parcel, status: status, failure: reason, retryAfter: retryAfter)
        }
    }

    private func retry(_ parcel: Parcel, status: Int?, failure: String?, retryAfter: Int64?) {
        let wait = run { world in
            parcel.retries.wait(
                afterAttempt: parcel.delivery.attempts, elapsed: world.clock.now - parcel.begun,
                retryAfter: retryAfter)
        }
        guard let wait else { return settle(parcel, .gaveUp, status: status, failure: failure) }
        run { $0.finish(parcel, .retrying, status: status, failure: failure) }
        hold(parcel, wait)
        settled()
    }

    private func settle(
        _ parcel: Parcel, _ outcome: Delivery.Outcome, status: Int? = nil, failure: String? = nil
    ) {
        run { $0.finish(parcel, outcome, status: status, failure: failure) }
        settled()
    }

    /// Tells the backend what the device did.
    /// - Parameter name: of the delivery, such as `d1`.
    /// - Returns: whether there is such a delivery in an inbox.
    package func report(_ name: String, _ did: Report) -> Bool {
        guard name.utf8.first == 100, let id = decimalDigits(name.utf8.dropFirst()) else { return false }
        return run { world in
            guard let delivery = world.inboxes.delivery(id) else { return false }
            world.state(of: delivery)?.reported(delivery, did, &world)
            return true
        }
    }
}
