import PushSimJSONText
import PushSimWebPush
import PushSimWire

/// What shapes a delivery beside its content: asked by a profile.
package struct Shaping: Sendable {
    /// 0 for the first making; each fresh duplicate counts on.
    package var variant = 0
    package var actions: DeliveryActions

    package init(variant: Int = 0, actions: DeliveryActions = DeliveryActions()) {
        self.variant = variant
        self.actions = actions
    }
}

/// A delivery with what is needed to make and send it.
package struct Parcel: Sendable {
    package enum Destination: Sendable {
        /// Straight into the device's inbox.
        case inbox
        /// Over HTTP, and into the inbox once it is accepted.
        case post(Endpoint)
        /// Never sent.
        case refused(Delivery.Outcome)
    }

    package struct Endpoint: Hashable, Sendable {
        package let host: String
        package let port: Int
        package let target: String
        package let hostField: String
        /// Scheme and authority where it is reached over the network; nil on this machine.
        package var origin: String?

        package init(host: String, port: Int, target: String, hostField: String, origin: String? = nil) {
            self.host = host
            self.port = port
            self.target = target
            self.hostField = hostField
            self.origin = origin
        }
    }

    package let delivery: Delivery
    package let destination: Destination
    package let retries: RetryPlan
    /// Makes headers, body and dictionary. Runs without the lock, on the home loop or, where it is slow, beside it; false
    /// where the keys are no keys.
    package let make: @Sendable (Delivery, Shaping) -> Bool
    /// Whether making it takes so long that it is not for the loop.
    package var isSlow: @Sendable (Shaping) -> Bool = { _ in false }
    var shaping = Shaping()
    var isMade = false
    var isFirst = true
    /// Of the world when it was dispatched: what is under way at a reset is nobody's afterwards.
    var generation = 0
    /// When the first attempt began, on the scope's clock.
    var begun: Int64 = 0
    /// When what is to become of the running attempt was decided.
    var decidedAt: Int64 = 0

    package init(
        _ delivery: Delivery, to destination: Destination = .inbox, retries: RetryPlan = .none,
        make: @escaping @Sendable (Delivery, Shaping) -> Bool
    ) {
        self.delivery = delivery
        self.destination = destination
        self.retries = retries
        self.make = make
    }
}

/// When a delivery that failed is tried again. Times in nanoseconds on the scope's clock.
package struct RetryPlan: Hashable, Sendable {
    package let waits: [Int64]
    /// No attempt begins later than so long after the first.
    package let limit: Int64
    /// Whether `Retry-After` takes the place of the next wait.
    package let honoursRetryAfter: Bool

    package init(waits: [Int64], limit: Int64, honoursRetryAfter: Bool = false) {
        self.waits = waits
        self.limit = limit
        self.honoursRetryAfter = honoursRetryAfter
    }

    package static let none = RetryPlan(waits: [], limit: 0)

    /// Contract fluxer.md, "Outcomes"; where a backend's documentation names none, these.
    package static let usual = RetryPlan(
        waits: [200, 400, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000].map { $0 * 1_000_000 }, limit: 90_000_000_000)

    /// The wait after so many attempts, or nil to give up.
    func wait(afterAttempt number: Int, elapsed: Int64, retryAfter: Int64?) -> Int64? {
        guard let last = waits.last else { return nil }
        var wait = number <= waits.count ? waits[number - 1] : last
        if honoursRetryAfter, let retryAfter { wait = retryAfter }
        return elapsed + wait <= limit ? wait : nil
    }
}

/// What the answer of a push service means.
package enum Verdict: Hashable, Sendable {
    case accepted, removed, retry, rejected
}

/// Deliveries that wait for their turn, and those who wait for them.
struct Outbox {
    enum Job {
        case parcel(Parcel)
        case marker(@Sendable () -> Void)
    }

    private var jobs: [Job] = []
    private var next = 0
    var isRunning = false
    /// By rule: what is kept back until there are enough to be shuffled.
    var shuffles: [String: [Parcel]] = [:]
    var shuffleCounts: [String: Int] = [:]

    /// How many parcels have not had their turn.
    var waiting: Int {
        jobs[next...].reduce(0) { count, job in
            if case .parcel = job { count + 1 } else { count }
        }
    }

    /// Those who wait behind them.
    var markers: [@Sendable () -> Void] {
        jobs[next...].compactMap { job in
            if case .marker(let done) = job { done } else { nil }
        }
    }

    mutating func append(_ job: Job) { jobs.append(job) }

    mutating func pop() -> Job? {
        guard next < jobs.count else { return nil }
        defer {
            next += 1
            if next == jobs.count {
                jobs.removeAll(keepingCapacity: true)
                next = 0
            }
        }
        return jobs[next]
    }
}

extension World {
    /// The number of the next delivery: inboxes keep the order of these.
    package mutating func reserveDelivery() -> Int { inboxes.reserve() }

    /// Sends parcels on their way, in this order, after the profile has had its say on each.
    package mutating func dispatch(_ parcels: [Parcel]) {
        for parcel in parcels { dispatch(parcel) }
        after { $0.pump() }
    }

    private mutating func dispatch(_ parcel: Parcel) {
        var parcel = parcel
        parcel.generation = generation
        parcel.decidedAt = clock.now
        guard let decision = decide(parcel.delivery, isRetry: false) else { return send(parcel) }
        let actions = decision.actions
        parcel.delivery.rules = decision.rules
        parcel.delivery.fault =
            actions.record?.id ?? actions.ring?.rawValue ?? (actions.changesContent ? decision.rules.first : nil)
        parcel.shaping.actions = actions
        state(of: parcel.delivery)?.prepare(parcel.delivery, actions, &self)
        if actions.drop { return finish(parcel, .dropped, status: nil, failure: nil) }
        if let count = actions.reorder, let rule = actions.reorderRule {
            return shuffle(parcel, count, rule)
        }
        release(parcel)
    }

    /// Sends, or holds back as long as the profile asks, once or several times.
    private mutating func release(_ parcel: Parcel) {
        let actions = parcel.shaping.actions
        for copy in 0..<max(1, actions.duplicate ?? 1) {
            var each = parcel
            if copy > 0 {
                each = Parcel(
                    parcel.delivery.again(id: reserveDelivery()), to: parcel.destination, retries: parcel.retries,
                    make: parcel.make)
                each.decidedAt = parcel.decidedAt
                each.isSlow = parcel.isSlow
                each.generation = parcel.generation
                each.shaping = Shaping(variant: actions.isFresh ? copy : 0, actions: actions)
            }
            let late = actions.late.map { Int64(parcel.delivery.timeToLive) * 1_000_000_000 + $0 } ?? 0
            let wait = (actions.hold ?? 0) + late
            if wait > 0 {
                let held = each
                after { $0.hold(held, wait) }
            } else {
                send(each)
            }
        }
    }

    private mutating func shuffle(_ parcel: Parcel, _ count: Int, _ rule: String) {
        outbox.shuffles[rule, default: []].append(parcel)
        let turn = outbox.shuffleCounts[rule, default: 0]
        guard var waiting = outbox.shuffles[rule], waiting.count >= count else {
            if outbox.shuffles[rule]?.count == 1 { after { $0.endShuffle(rule, turn) } }
            return
        }
        outbox.shuffles[rule] = nil
        outbox.shuffleCounts[rule] = turn + 1
        let before = waiting.map(\.delivery.id)
        // Fisher and Yates, with a draw for each place.
        for place in stride(from: waiting.count - 1, to: 0, by: -1) {
            let draw = draws.unit("reorder", [Array(rule.utf8), Array(String(turn).utf8)], index: place)
            waiting.swapAt(place, Int(draw * Double(place + 1)))
        }
        // The order must not stay as it was: that is what was asked.
        if waiting.map(\.delivery.id) == before { waiting.swapAt(0, 1) }
        for each in waiting { release(each) }
    }

    /// Sends what has waited for others that did not come.
    mutating func releaseShuffle(_ rule: String, _ turn: Int) {
        guard outbox.shuffleCounts[rule, default: 0] == turn, let waiting = outbox.shuffles.removeValue(forKey: rule)
        else { return }
        outbox.shuffleCounts[rule] = turn + 1
        for each in waiting { release(each) }
    }

    mutating func send(_ parcel: Parcel) {
        flights.count += 1
        outbox.append(.parcel(parcel))
    }

    /// Calls `done`, on the home loop, once all that was dispatched before has been tried, what is held back excepted.
    package mutating func afterDeliveries(_ done: @escaping @Sendable () -> Void) {
        outbox.append(.marker(done))
        after { $0.pump() }
    }

    func state(of delivery: Delivery) -> (any BackendState)? {
        states.first { $0.backendName == delivery.backend }
    }

    /// Notes how an attempt ended.
    mutating func finish(_ parcel: Parcel, _ outcome: Delivery.Outcome, status: Int?, failure: String?) {
        guard parcel.generation == generation else { return }
        let delivery = parcel.delivery
        delivery.outcome = outcome
        let entry = journal.append(
            Attempt(
                delivery: delivery, number: max(1, delivery.attempts), outcome: outcome, status: status,
                failure: failure, rules: delivery.rules, decided: delivery.decided, begun: parcel.decidedAt),
            time: clock.now)
        if let heard { after { _ in heard(entry) } }
        if outcome == .accepted {
            delivery.time = clock.now
            for telling in inboxes.add(delivery) { after { _ in telling() } }
            happened(.delivery) { delivery.json }
        }
        if outcome == .removed { state(of: delivery)?.registrationGone(delivery, &self) }
    }
}
