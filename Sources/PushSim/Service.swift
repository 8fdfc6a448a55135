package import PushSimFaults
import PushSimFluxer
import PushSimJSONText
import PushSimNTM
import PushSimPush
package import PushSimSimulation
import PushSimSunbird
package import PushSimWire
import Synchronization

/// Answers every request of one server: finds the scope, then the control API or a backend.
package final class Service: RequestHandler {
    package struct Settings: Sendable {
        package var seed: UInt64 = 1
        package var seedName = "default"
        package var clock = SimulationClock.real
        package var options: OptionValues
        package var profile: Profile?
        package var templates: [String: [UInt8]] = [:]
        /// By host in lower case: where deliveries to it go (`delivery.routes`).
        package var deliveryRoutes: [ByteKey: DeliveryRoute] = [:]
        /// What takes deliveries out to the network where the option `delivery.network` lets them leave.
        package var carrier: (any DeliveryCarrier)?
        /// By backend: the state that each scope begins with and returns to at a reset.
        package var initialState: [String: JSON] = [:]
        /// Names beside those of loopback under which the control API answers.
        package var hostNames: [[UInt8]] = []
        /// What the control API asks for where the server listens beyond loopback.
        package var controlToken: [UInt8]?
        package var backends: [any Backend] = Service.allBackends
        /// Makes what answers in the place of the backends, one for each scope.
        package var makePlayer: (@Sendable () -> any Player)?

        package init() { options = OptionValues(Service.optionTable) }
    }

    package static let allBackends: [any Backend] = [NTM(), PushService(), Sunbird(), Fluxer()]
    package static let optionTable: [OptionDescription] = allBackends.flatMap(\.options) + ServerOptions.table

    let settings: Settings
    let isLoopback: Bool
    package let home: EventLoop
    package let defaultScope: Scope
    private let others = Mutex<[[UInt8]: Scope]>([:])
    private let heard: (@Sendable (JournalEntry) -> Void)?
    private let currentLimits: Mutex<ServerLimits>
    private let baseURL = Mutex("")
    private let stubs = Mutex<[Stub]>([])
    /// So that a call takes no lock where there are none.
    private let hasStubs = Atomic<Bool>(false)
    private let currentProfile: Mutex<Profile?>
    private let listener = Mutex(WeakListener())
    /// Until when the listener refuses, on the default scope's clock.
    private let refusedUntil = Mutex(Int64.min)
    /// Scopes that were given a profile of their own.
    private let ownProfiles = Mutex<Set<ObjectIdentifier>>([])
    private let places: PlaceTable

    /// - Parameter heard: told of each call when it is over.
    package init(
        _ settings: Settings, isLoopback: Bool, home: EventLoop, heard: (@Sendable (JournalEntry) -> Void)? = nil
    ) {
        self.settings = settings
        self.isLoopback = isLoopback
        self.home = home
        self.heard = heard
        currentLimits = Mutex(ServerOptions.limits(settings.options))
        places = PlaceTable(settings.backends)
        currentProfile = Mutex(settings.profile)
        defaultScope = Self.makeScope(
            settings, places, route: "", seedName: settings.seedName, home, heard)
    }

    private static func makeScope(
        _ settings: Settings, _ places: PlaceTable, route: String, seedName: String, _ home: EventLoop,
        _ heard: (@Sendable (JournalEntry) -> Void)?
    ) -> Scope {
        let seed = settings.profile?.seed ?? settings.seed
        let scope = Scope(
            route: route, clock: settings.clock, draws: Draws(seed: seed, seedName: seedName),
            options: settings.options, places: places, home: home)
        scope.run { world in
            world.templates = settings.templates
            world.heard = heard
            world.player = settings.makePlayer?()
            world.deliveryRoutes = settings.deliveryRoutes
            world.carrier = settings.carrier
            world.setInitialState(settings.initialState)
            if let profile = settings.profile { world.decider = FaultEngine(profile, now: world.clock.now) }
        }
        return scope
    }

    /// What URLs that the fake hands out begin with.
    package func setBaseURL(_ url: String) {
        baseURL.withLock { $0 = url }
        defaultScope.run { $0.baseURL = url }
    }

    /// Replaces the default scope's state with what GET `/state` gave.
    package func loadState(_ bytes: [UInt8]) throws {
        try ControlAPI.restore(try JSONDocument(bytes).root, defaultScope)
    }

    /// Replaces the profile of all scopes, and of those to come, but for scopes that were given one of their own.
    package func setProfile(_ profile: Profile) {
        currentProfile.withLock { $0 = profile }
        let own = ownProfiles.withLock { $0 }
        let scopes = [defaultScope] + others.withLock { $0.values.filter { !own.contains(ObjectIdentifier($0)) } }
        for scope in scopes {
            scope.run { $0.decider = FaultEngine(profile, now: $0.clock.now) }
        }
    }

    /// Gives one scope a profile of its own, or none.
    func setProfile(_ profile: Profile?, of scope: Scope) {
        if scope !== defaultScope { ownProfiles.withLock { _ = $0.insert(ObjectIdentifier(scope)) } }
        scope.run { world in world.decider = profile.map { FaultEngine($0, now: world.clock.now) } }
    }

    /// Calls of the default scope that no recording answered, and why.
    package var unmatched: [String] { defaultScope.run { $0.unmatched } }

    /// Recordings of the default scope that nobody has asked for.
    package var leftovers: [String] { defaultScope.run { $0.player?.leftovers ?? [] } }

    /// Whether GET `/state` could have given this for a backend.
    package static func check(
        _ state: JSON, backend name: String, _ options: OptionValues
    ) throws(ControlError) {
        guard let backend = allBackends.first(where: { $0.name == name }),
            let document = try? JSONDocument(state.bytes)
        else { return }
        let own = backend.makeState(firstObligation: 0)
        own.optionsChanged(options)
        try own.restore(document.root)
    }

    /// The topic of FCM's that a name stands for, or nil where it is none.
    package static func topic(_ name: [UInt8], _ options: OptionValues) -> [UInt8]? {
        TopicName.checked(name, isStrict: options["sunbird.topicNames"] == "strict")
    }

    /// What happened in the default scope, for people and programs: calls, what no backend owns, obligations.
    package var report: [UInt8] { JSONWriter.pretty(ControlAPI(self, defaultScope).report) }

    package var limits: ServerLimits { currentLimits.withLock { $0 } }

    /// Why these options cannot be had here, or nil.
    func problem(_ values: OptionValues) -> String? {
        ServerOptions.problem(values, settings.carrier ?? defaultScope.run { $0.carrier })
    }

    func optionsChanged(_ values: OptionValues) { currentLimits.withLock { $0 = ServerOptions.limits(values) } }

    /// The scope of that name, made at first use; nil where the name is not path-safe.
    package func scope(named name: [UInt8]) -> Scope? {
        if name == Self.defaultName { return defaultScope }
        guard !name.isEmpty, name.count <= 128, name.allSatisfy(Self.isPathSafe) else { return nil }
        return others.withLock { scopes in
            if let known = scopes[name] { return known }
            // Read under this lock: a profile that is loaded meanwhile finds the scope, or is found here.
            var own = settings
            own.profile = currentProfile.withLock { $0 }
            let fresh = Self.makeScope(own, places, route: name.text, seedName: name.text, home, heard)
            let base = baseURL.withLock { $0 }
            fresh.run { $0.baseURL = "\(base)/__scope/\(name.text)" }
            scopes[name] = fresh
            return fresh
        }
    }

    private static let defaultName = Array<UInt8>("default")

    private static func isPathSafe(_ byte: UInt8) -> Bool {
        switch byte {
        case 48...57, 65...90, 97...122, 45, 46, 95, 126: true
        default: false
        }
    }

    // MARK: calls

    enum Destination {
        case control(Scope, RequestHead.Span)
        case client(Scope, Call)
        case refused
    }

    package func headArrived(_ exchange: Exchange) {
        guard case .client(let scope, let call) = destination(exchange) else { return }
        let head = call.head
        let script: WireScript? = scope.run { world in
            guard world.decider?.needsBody(call) != true else { return nil }
            let entry = open(call, scope, exchange, &world)
            world.decide(entry)
            let connection = entry.decision?.actions.connection
            guard
                connection == .reset || connection == .stall
                    || head.expectsContinue && !wantsBody(entry, &world)
            else { return nil }
            return answer(entry, &world, closes: true)
        }
        if let script { finish(exchange, script, scope) }
    }

    /// Whether the answer depends on the body.
    private func wantsBody(_ entry: JournalEntry, _ world: inout World) -> Bool {
        if let decision = entry.decision { return decision.actions.status == nil }
        let call = entry.call
        // A player and a stub answer by the whole.
        if world.player != nil || hasStubs.load(ordering: .acquiring) { return true }
        if call.place.route == nil { return false }
        return state(call, world)?.refusesUnread(call, &world) != true
    }

    package func requestArrived(_ exchange: Exchange) {
        switch destination(exchange) {
        case .refused:
            let failure = RequestFailure(
                status: 400, message: "A scope's name has 1 to 128 of the characters A-Z a-z 0-9 . _ ~ -")
            exchange.finish(WireScript(answer(to: failure, nil), end: .fin))
        case .control(let scope, let path): ControlAPI(self, scope).answer(exchange, path)
        case .client(let scope, let call): perform(call, scope, exchange)
        }
    }

    private func perform(_ call: Call, _ scope: Scope, _ exchange: Exchange) {
        if hasStubs.load(ordering: .acquiring), let stub = stubs.withLock({ $0.last { $0.matches(call) } }) {
            return perform(call, stub, scope, exchange)
        }
        let announced = exchange.context as? JournalEntry
        let script: WireScript = scope.run { world in
            let entry: JournalEntry
            if let announced {
                entry = announced
                call.goesOn(entry.call)
                entry.call = call
            } else {
                entry = open(call, scope, exchange, &world)
            }
            if !entry.isDecided { world.decide(entry) }
            return answer(entry, &world)
        }
        finish(exchange, script, scope)
    }

    /// A script that waits is under way from the moment that the journal shows its call, so that nobody who has seen the
    /// call can move the clock past a wait that is not on it yet.
    func underway(_ script: WireScript, _ world: inout World) -> WireScript {
        if script.hasWait { world.takeOff() }
        return script
    }

    private func finish(_ exchange: Exchange, _ script: WireScript, _ scope: Scope) {
        let owes = script.hasWait
        exchange.finish(script)
        if owes { scope.settled() }
    }

    func addStub(_ matcher: CallMatcher, _ answer: @escaping @Sendable (RecordedCall) -> StubAnswer) {
        stubs.withLock { $0.append(Stub(matcher, answer)) }
        hasStubs.store(true, ordering: .releasing)
    }

    /// The profile decides as on any call; what it leaves alone the stub answers, outside the lock.
    private func perform(_ call: Call, _ stub: Stub, _ scope: Scope, _ exchange: Exchange) {
        let announced = exchange.context as? JournalEntry
        let (entry, faulty): (JournalEntry, WireScript?) = scope.run { world in
            let entry = announced ?? open(call, scope, exchange, &world)
            if announced != nil { call.goesOn(entry.call) }
            entry.call = call
            entry.isStubbed = true
            if !entry.isDecided { world.decide(entry) }
            return (entry, entry.decision.map { _ in answer(entry, &world) })
        }
        if let faulty { return finish(exchange, faulty, scope) }
        let given = stub.answer(RecordedCall(entry))
        exchange.finish(
            scope.run { world in
                var answer = Answer(given.response)
                return WireScript(write(&answer, entry, &world, false))
            })
    }

    /// Finds out whom a request is for.
    func destination(_ exchange: Exchange) -> Destination {
        let head = exchange.request.head
        var path = head.path
        var scope = defaultScope
        if Self.begins(path, "/__scope/", head) {
            let start = Int(path.start) + 9
            var end = start
            while end < Int(path.end), head.bytes[end] != Byte.slash { end += 1 }
            guard let named = self.scope(named: head.slice(.init(start, end))) else { return .refused }
            scope = named
            path = .init(end, Int(path.end))
        } else if let name = head.value(.scope) {
            guard let named = self.scope(named: name) else { return .refused }
            scope = named
        }
        if Self.begins(path, "/__pushsim/", head) {
            return .control(scope, .init(Int(path.start) + 11, Int(path.end)))
        }
        if head.equals(path, "/__pushsim") { return .control(scope, .init(Int(path.end), Int(path.end))) }
        let (place, match) = scope.places.find(head, path)
        return .client(
            scope,
            Call(request: exchange.request, path: path, peerAddress: exchange.peerAddress, place: place, match: match))
    }

    static func begins(_ path: RequestHead.Span, _ prefix: StaticString, _ head: RequestHead) -> Bool {
        // Few paths do: the third octet tells.
        guard path.count > 2, head.bytes[Int(path.start) + 2] == 95 else { return false }
        let length = prefix.utf8CodeUnitCount
        return path.count >= length && head.equals(.init(Int(path.start), Int(path.start) + length), prefix)
    }

    func open(_ call: Call, _ scope: Scope, _ exchange: Exchange, _ world: inout World) -> JournalEntry {
        let entry = world.journal.open(call, exchange, time: world.clock.now)
        exchange.context = entry
        exchange.clock = scope
        return entry
    }

    // MARK: refusing

    /// Makes the listener of this service stop listening for so many nanoseconds of the scope's clock, where it is the
    /// scope's own.
    func refuse(_ scope: Scope, _ time: Int64) {
        guard scope === defaultScope, let listener = listener.withLock({ $0.value }) else { return }
        let end = scope.now + time
        refusedUntil.withLock { $0 = max($0, end) }
        listener.pause()
        _ = scope.wait(time) { [weak self] in
            // Another refusal may go on for longer.
            if self?.refusedUntil.withLock({ $0 <= end }) == true { self?.endRefusal() }
            scope.settled()
        }
    }

    private func endRefusal() {
        refusedUntil.withLock { $0 = .min }
        listener.withLock { $0.value }?.resume()
    }

    /// Puts a scope back to how it began: what it refused is taken again.
    package func reset(_ scope: Scope) {
        scope.reset()
        if scope === defaultScope { endRefusal() }
    }

    package func setListener(_ own: Listener) { listener.withLock { $0 = WeakListener(value: own) } }

    private struct WeakListener: Sendable {
        weak var value: Listener?
    }

    package func exchangeEnded(_ exchange: Exchange, _ ending: Ending) {
        guard let entry = exchange.context as? JournalEntry, let scope = exchange.clock as? Scope else {
            if let stream = exchange.context as? EventStream { stream.ended() }
            return
        }
        let wasOpen = scope.run { world in
            guard world.journal.close(entry, ending) else { return false }
            world.happened(.call) { JournalReport.describe(entry) }
            return true
        }
        if wasOpen { heard?(entry) }
    }
}
