package import PushSimJSONText
package import PushSimWire

/// All that one scope knows. It lives behind the lock of its `Scope`.
package struct World {
    package var clock: SimulationClock
    package var draws: Draws
    package private(set) var options: OptionValues
    package var journal = Journal()
    package var inboxes = Inboxes()
    package var events = Events()
    package var ledger: Ledger
    package var states: [any BackendState]
    package var decider: (any Decider)? {
        didSet { beginProfile() }
    }
    /// How many profiles this scope has had, resets counted too.
    package private(set) var profiles = 0
    /// By this profile.
    private var decisions = 0
    package var player: (any Player)?
    private var initialState: [String: JSON] = [:]
    package var templates: [String: [UInt8]] = [:]
    /// What URLs that the fake hands out begin with: scheme, host and base path.
    package var baseURL = ""
    /// Told of each attempt to deliver.
    package var heard: (@Sendable (JournalEntry) -> Void)?
    /// How many records the control API has made without a seed.
    package var recordsMade = 0
    package var deliveryLimits = DeliveryLimits()
    /// By host in lower case: where deliveries to it really go.
    package var deliveryRoutes: [ByteKey: DeliveryRoute] = [:]
    /// What takes deliveries out to the network, where they may leave (`delivery.network`).
    package var carrier: (any DeliveryCarrier)?
    var timers = TimerHeap<@Sendable () -> Void>()
    /// What the player had no recording for.
    package var unmatched: [String] = []
    var flights = Flights()
    /// What is to be done once the lock is gone, in order.
    var effects: [@Sendable (Scope) -> Void] = []
    var outbox = Outbox()
    /// Counts resets.
    var generation = 0

    init(clock: SimulationClock, draws: Draws, options: OptionValues, backends: [any Backend]) {
        self.clock = clock
        self.draws = draws
        self.options = options
        var obligations = 0
        states = []
        for backend in backends {
            states.append(backend.makeState(firstObligation: obligations))
            obligations += backend.obligations.count
        }
        ledger = Ledger(count: obligations)
        optionsChanged()
    }

    private mutating func beginProfile() {
        profiles += 1
        decisions = 0
    }

    /// Has the profile decide on a call, once.
    package mutating func decide(_ entry: JournalEntry) {
        entry.isDecided = true
        guard let decider else { return }
        decisions += 1
        entry.decided = .init(profile: profiles, number: decisions)
        entry.decision = decider.decide(entry.call, now: clock.now, draws: draws)
        guard let decision = entry.decision else { return }
        let index = entry.index
        happened(.decision) { decision.json(call: index) }
    }

    /// Has the profile decide on a delivery, or on one more attempt at it.
    mutating func decide(_ delivery: Delivery, isRetry: Bool) -> DeliveryDecision? {
        guard let decider else { return nil }
        decisions += 1
        delivery.decided = .init(profile: profiles, number: decisions)
        let decision = decider.decide(delivery, isRetry: isRetry, now: clock.now, draws: draws)
        if isRetry { delivery.rules = decision?.rules ?? [] }
        guard let decision else { return nil }
        let name = delivery.name
        happened(.decision) { ["delivery": .string(name), "rules": .array(decision.rules.map { .string($0) })] }
        return decision
    }

    /// Runs `effect` after the lock is gone.
    package mutating func after(_ effect: @escaping @Sendable (Scope) -> Void) { effects.append(effect) }

    package mutating func setOptions(_ values: OptionValues) {
        options = values
        optionsChanged()
    }

    private mutating func optionsChanged() {
        journal.setLimit(OptionValues.size(options["journal.bytes"]) ?? 8 << 20)
        for state in states { state.optionsChanged(options) }
    }

    /// The state, by backend, that the scope begins with and returns to at a reset. What is no state is left out: whoever
    /// gives it has it checked before.
    package mutating func setInitialState(_ states: [String: JSON]) {
        initialState = states
        applyInitialState()
    }

    private mutating func applyInitialState() {
        for state in states {
            guard let own = initialState[state.backendName], let document = try? JSONDocument(own.bytes) else {
                continue
            }
            try? state.restore(document.root)
            state.restored(&self)
        }
    }

    /// Something is under way that an advance waits for, until `Scope.settled`.
    package mutating func takeOff() { flights.count += 1 }

    /// Has the running advance go on, on the home loop.
    mutating func stepLater() {
        if flights.isStepQueued { return }
        flights.isStepQueued = true
        after { scope in scope.home.submit { [weak scope] in scope?.queuedStep() } }
    }

    /// Tells those who wait for deliveries, where none is under way.
    mutating func tellLanded() {
        guard flights.count == 0, !flights.waiting.isEmpty else { return }
        let waiting = flights.waiting
        flights.waiting = []
        for done in waiting { after { _ in done() } }
    }

    /// Empties the scope; options, profile, seed and clock stay.
    mutating func reset() {
        for state in states { state.reset() }
        applyInitialState()
        player?.reset()
        unmatched = []
        let exchanges = journal.openExchanges
        journal.reset()
        for ended in inboxes.waiting { after { _ in ended() } }
        inboxes.reset()
        recordsMade = 0
        ledger.reset()
        timers.removeAll()
        generation += 1
        flights.count = max(0, flights.count - outbox.waiting)
        flights.waiting += outbox.markers
        tellLanded()
        outbox = Outbox()
        decider?.reset(now: clock.now)
        beginProfile()
        for exchange in exchanges { after { _ in exchange.abort() } }
    }
}

/// How long a delivery over HTTP may take. Nanoseconds of real time.
package struct DeliveryLimits: Hashable, Sendable {
    package var connect: Int64
    package var whole: Int64

    package init(connect: Int64 = 5_000_000_000, whole: Int64 = 10_000_000_000) {
        self.connect = connect
        self.whole = whole
    }
}

/// Takes deliveries to push services out on the network.
package protocol DeliveryCarrier: Sendable {
    /// - Parameters:
    ///   - origin: scheme and authority of the push service.
    ///   - done: called once, on any thread.
    func send(
        _ call: HTTPClient.Call, to origin: String,
        _ done: @escaping @Sendable (Result<Response, HTTPClient.Failure>) -> Void)
}

/// Where deliveries to a host are sent over plain HTTP.
package struct DeliveryRoute: Hashable, Sendable {
    package let host: String
    package let port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// A host as deliveries look for it; nil for what can never be found: a port, a path, a wildcard, or the host of the
    /// built-in push service.
    package static func host(_ text: String) -> ByteKey? {
        let bytes = text.utf8.map(Byte.lowercased)
        let isLiteral = bytes.first == 91 && bytes.last == 93
        guard !bytes.isEmpty, bytes != PushEndpoint.host,
            bytes.allSatisfy({ byte in
                switch byte {
                case 45, 46, 48...57, 95, 97...122, 128...: true
                case 58, 91, 93: isLiteral
                default: false
                }
            })
        else { return nil }
        return ByteKey(bytes)
    }
}

/// What is under way of this scope, and who waits for it to be done.
struct Flights {
    struct Advance {
        let target: Int64
        let done: @Sendable (Int64) -> Void
    }

    /// Due actions whose outcome is not settled.
    var count = 0
    /// Who waits for the deliveries under way to have been tried.
    var waiting: [@Sendable () -> Void] = []
    /// Advances to come, the running one first.
    var advances: [Advance] = []
    var isStepping = false
    /// Whether the next step is on its way to the home loop.
    var isStepQueued = false
}
