package import PushSimFaults
import PushSimJSONText
import PushSimNTM
package import PushSimSimulation
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
        /// Names beside those of loopback under which the control API answers.
        package var hostNames: [[UInt8]] = []
        /// What the control API asks for where the server listens beyond loopback.
        package var controlToken: [UInt8]?
        package var backends: [any Backend] = Service.allBackends

        package init() { options = OptionValues(Service.optionTable) }
    }

    package static let allBackends: [any Backend] = [NTM()]
    package static let optionTable: [OptionDescription] = allBackends.flatMap(\.options) + ServerOptions.table

    let settings: Settings
    let isLoopback: Bool
    package let home: EventLoop
    package let defaultScope: Scope
    private let others = Mutex<[[UInt8]: Scope]>([:])
    private let heard: (@Sendable (JournalEntry) -> Void)?
    private let currentLimits: Mutex<ServerLimits>
    private let baseURL = Mutex("")

    /// - Parameter heard: told of each call when it is over.
    package init(
        _ settings: Settings, isLoopback: Bool, home: EventLoop, heard: (@Sendable (JournalEntry) -> Void)? = nil
    ) {
        self.settings = settings
        self.isLoopback = isLoopback
        self.home = home
        self.heard = heard
        currentLimits = Mutex(ServerOptions.limits(settings.options))
        defaultScope = Self.makeScope(settings, route: "", seedName: settings.seedName, home)
    }

    private static func makeScope(_ settings: Settings, route: String, seedName: String, _ home: EventLoop) -> Scope {
        let seed = settings.profile?.seed ?? settings.seed
        let scope = Scope(
            route: route, clock: settings.clock, draws: Draws(seed: seed, seedName: seedName),
            options: settings.options, backends: settings.backends, home: home)
        scope.run { world in
            world.templates = settings.templates
            if let profile = settings.profile { world.decider = FaultEngine(profile, now: world.clock.now) }
        }
        return scope
    }

    /// What URLs that the fake hands out begin with.
    package func setBaseURL(_ url: String) { baseURL.withLock { $0 = url } }

    /// Replaces the default scope's state with what GET `/state` gave.
    package func loadState(_ bytes: [UInt8]) throws {
        try ControlAPI.restore(try JSONDocument(bytes).root, defaultScope)
    }

    package var limits: ServerLimits { currentLimits.withLock { $0 } }

    func optionsChanged(_ values: OptionValues) { currentLimits.withLock { $0 = ServerOptions.limits(values) } }

    /// The scope of that name, made at first use; nil where the name is not path-safe.
    package func scope(named name: [UInt8]) -> Scope? {
        if name == Self.defaultName { return defaultScope }
        guard !name.isEmpty, name.count <= 128, name.allSatisfy(Self.isPathSafe) else { return nil }
        return others.withLock { scopes in
            if let known = scopes[name] { return known }
            let scope = Self.makeScope(settings, route: name.text, seedName: name.text, home)
            scopes[name] = scope
            return scope
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

    /// What the service keeps with an exchange.
    private struct Context: Sendable {
        let scope: Scope
        let call: Call
        /// Decided at the head; what was decided may be that nothing goes wrong.
        var isDecided = false
        var decision: Decision?
    }

    private enum Destination {
        case control(Scope, ArraySlice<UInt8>)
        case client(Scope, Call)
        case refused(String)
    }

    package func headArrived(_ exchange: Exchange) {
        guard case .client(let scope, let call) = destination(exchange) else { return }
        let target = Target(call, scope)
        let head = call.head
        let script: WireScript? = scope.run { world in
            guard world.decider?.needsBody(call, backend: target.backend, route: target.route) != true else {
                return nil
            }
            let facts = target.facts(call, scope)
            open(call, target, facts, exchange, &world)
            let decision = decide(call, target, facts, &world)
            exchange.context = Context(scope: scope, call: call, isDecided: true, decision: decision)
            let connection = decision?.actions.connection
            let isRouteless = decision == nil && !target.isRoute
            guard
                connection == .reset || connection == .stall
                    || head.expectsContinue && (decision?.actions.status != nil || isRouteless)
            else { return nil }
            return answer(call, target, facts, decision, scope, &world)
        }
        if let script { exchange.finish(script, clock: scope) }
    }

    package func requestArrived(_ exchange: Exchange) {
        switch destination(exchange) {
        case .refused(let message):
            let failure = RequestFailure(status: 400, message: message)
            exchange.finish(WireScript(answer(to: failure), end: .fin))
        case .control(let scope, let path): ControlAPI(self, scope).answer(exchange, path)
        case .client(let scope, let call): perform(call, scope, exchange)
        }
    }

    private func perform(_ call: Call, _ scope: Scope, _ exchange: Exchange) {
        let target = Target(call, scope)
        let facts = target.facts(call, scope)
        let before = exchange.context as? Context
        let script: WireScript = scope.run { world in
            let decision: Decision?
            if let before {
                call.index = before.call.index
                world.journal.update(call.index) { entry in
                    entry.call = call
                    entry.facts = facts
                }
                decision = before.decision
            } else {
                open(call, target, facts, exchange, &world)
                decision = decide(call, target, facts, &world)
                exchange.context = Context(scope: scope, call: call)
            }
            return answer(call, target, facts, decision, scope, &world)
        }
        exchange.finish(script, clock: scope)
    }

    /// Finds out whom a request is for.
    private func destination(_ exchange: Exchange) -> Destination {
        let request = exchange.request
        let head = request.head
        var path = head.bytes[head.path.range]
        var scope = defaultScope
        if path.count > 3, path[path.startIndex + 1] == 95, path.starts(with: Self.scopePrefix) {
            let rest = path.dropFirst(Self.scopePrefix.count)
            let name = rest.prefix { $0 != Byte.slash }
            guard let named = self.scope(named: Array(name)) else {
                return .refused("A scope's name has 1 to 128 of the characters A-Z a-z 0-9 . _ ~ -")
            }
            scope = named
            path = rest.dropFirst(name.count)
        } else if let name = head.value(.scope) {
            guard let named = self.scope(named: name) else {
                return .refused("A scope's name has 1 to 128 of the characters A-Z a-z 0-9 . _ ~ -")
            }
            scope = named
        }
        if path.count > 3, path[path.startIndex + 1] == 95, path.starts(with: ControlAPI.prefix) {
            return .control(scope, path.dropFirst(ControlAPI.prefix.count))
        }
        let base = baseURL.withLock { $0 } + (scope.route.isEmpty ? "" : "/__scope/\(scope.route)")
        return .client(scope, Call(request: request, path: path, peerAddress: exchange.peerAddress, baseURL: base))
    }

    private static let scopePrefix = Array<UInt8>("/__scope/")

    private func open(
        _ call: Call, _ target: Target, _ facts: Facts, _ exchange: Exchange, _ world: inout World
    ) {
        let index = world.journal.reserve()
        call.index = index
        world.openExchanges[index] = exchange
        guard world.journal.isOn else { return }
        world.journal.open(
            JournalEntry(
                index: index, time: world.clock.now, call: call, backend: target.backend, route: target.route,
                facts: facts))
    }

    private func decide(_ call: Call, _ target: Target, _ facts: Facts, _ world: inout World) -> Decision? {
        guard let decider = world.decider else { return nil }
        let decision = decider.decide(
            call, backend: target.backend, route: target.route, facts: facts, now: world.clock.now, draws: world.draws)
        if let decision { world.journal.update(call.index) { $0.decision = decision } }
        return decision
    }

    /// Lets the fault or the backend answer, and notes the answer in the journal.
    private func answer(
        _ call: Call, _ target: Target, _ facts: Facts, _ decision: Decision?, _ scope: Scope, _ world: inout World
    ) -> WireScript {
        let actions = decision?.actions ?? Actions()
        let state = target.state(world)
        if let what = actions.lose { state?.lose(what, facts, call, &world) }
        if let fault = actions.token { state?.spoilToken(fault, call, &world) }
        var steps: [WireScript.Step] = actions.delay.map { [.wait($0)] } ?? []
        switch actions.connection {
        case .reset: return WireScript(steps, end: .rst)
        case .close: return WireScript(steps, end: .fin)
        case .stall: return WireScript(steps, end: .stall)
        case nil: break
        }
        var answer: Answer
        if let status = actions.status {
            answer = Scripted.answer(status, actions, state, call, &world)
        } else if let state, let match = target.match {
            answer = state.answer(match, call, facts, &world)
        } else {
            answer = Answer(Neutral.notFound(scope.backends))
        }
        answer.response.fields.append(HeaderField(Self.dateName, world.clock.httpDate()))
        if answer.closes { answer.response.fields.append(Self.close) }
        let bytes = answer.response.bytes(isHead: call.head.equals(call.head.method, "HEAD"))
        let status = answer.response.status
        world.journal.update(call.index) { entry in
            entry.answer = bytes
            entry.status = status
        }
        steps.append(.bytes(bytes))
        return WireScript(steps, end: answer.closes ? .fin : .keep)
    }

    private static let dateName = Array<UInt8>("Date")
    static let close = HeaderField("Connection", "close")

    package func exchangeEnded(_ exchange: Exchange, _ ending: Ending) {
        guard let context = exchange.context as? Context else { return }
        let index = context.call.index
        let heard = heard
        let entry: JournalEntry? = context.scope.run { world in
            world.openExchanges[index] = nil
            return world.journal.close(index, ending, wanted: heard != nil)
        }
        if let entry { heard?(entry) }
    }

    package func answer(to failure: RequestFailure) -> [UInt8] {
        let body: JSON = ["error": ["code": .string("HTTP-\(failure.status)"), "message": .string(failure.message)]]
        let date = defaultScope.run { $0.clock.httpDate() }
        return Response(
            status: failure.status,
            fields: [
                HeaderField("Content-Type", "application/json"), HeaderField(Self.dateName, date), Self.close,
            ], body: body.bytes
        ).bytes()
    }
}

/// Which backend and route a call is for.
struct Target: Sendable {
    private let number: Int?
    let match: RouteMatch?
    let backend: String?
    let route: String?

    init(_ call: Call, _ scope: Scope) {
        for (index, backend) in scope.backends.enumerated() {
            guard let match = backend.match(method: call.method, path: call.path) else { continue }
            (number, self.match, self.backend) = (index, match, backend.name)
            if case .route(let found, _) = match { route = backend.table.routes[found].name } else { route = nil }
            return
        }
        (number, match, backend, route) = (nil, nil, nil, nil)
    }

    var isRoute: Bool { route != nil }

    func facts(_ call: Call, _ scope: Scope) -> Facts {
        guard let number, case .route(let route, let parameters) = match else { return Facts() }
        return scope.backends[number].identify(route, parameters, call)
    }

    func state(_ world: World) -> (any BackendState)? { number.map { world.states[$0] } }
}

/// Answers that no backend gives.
enum Neutral {
    static func notFound(_ backends: [any Backend]) -> Response {
        let owners = backends.map { JSON.Member($0.name, .array($0.ownedPaths.map { .string($0) })) }
        let body: JSON = [
            "error": ["code": "HTTP-404", "message": "No backend owns this path."], "owners": .object(owners),
        ]
        return Response(status: 404, fields: [HeaderField("Content-Type", "application/json")], body: body.bytes)
    }
}

/// The answer that a profile wants.
enum Scripted {
    static func answer(
        _ status: Int, _ actions: Actions, _ state: (any BackendState)?, _ call: Call, _ world: inout World
    ) -> Answer {
        var answer: Answer
        if let state {
            answer = state.scripted(status, call, &world)
        } else {
            let body: JSON = [
                "error": ["code": .string("HTTP-\(status)"), "message": .string(StatusText.reason(status))]
            ]
            answer = Answer(
                Response(status: status, fields: [HeaderField("Content-Type", "application/json")], body: body.bytes))
        }
        answer.response.reason = actions.reason
        if let body = actions.body {
            answer.response.body = body
            if let type = actions.contentType { replace(HeaderField("Content-Type", type), in: &answer.response) }
        }
        switch actions.retryAfter {
        case .seconds(let wait): replace(HeaderField("Retry-After", String(seconds(wait))), in: &answer.response)
        case .date(let wait):
            let moment = (world.clock.now + wait).floorDivided(by: 1_000_000_000)
            replace(HeaderField(Array("Retry-After"), HTTPDate.bytes(moment)), in: &answer.response)
        case nil: break
        }
        var replaced: [[UInt8]] = []
        for field in actions.headers ?? [] {
            if !replaced.contains(where: field.isNamed) {
                answer.response.fields.removeAll { $0.isNamed(field.name) }
                replaced.append(field.name)
            }
            answer.response.fields.append(field)
        }
        return answer
    }

    /// Whole seconds, upwards: a client that waits for them has waited long enough.
    private static func seconds(_ nanoseconds: Int64) -> Int64 {
        nanoseconds / 1_000_000_000 + (nanoseconds % 1_000_000_000 > 0 ? 1 : 0)
    }

    private static func replace(_ field: HeaderField, in response: inout Response) {
        response.fields.removeAll { $0.isNamed(field.name) }
        response.fields.append(field)
    }
}
