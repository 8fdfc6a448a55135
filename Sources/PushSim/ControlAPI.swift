import Dispatch
import PushSimFaults
import PushSimJSONText
import PushSimSimulation
import PushSimWire

/// The calls under `/__pushsim` (contract control-api.md). They are never faulted, counted or journalled.
struct ControlAPI {
    let service: Service
    let scope: Scope

    init(_ service: Service, _ scope: Scope) {
        self.service = service
        self.scope = scope
    }

    func answer(_ exchange: Exchange, _ path: RequestHead.Span) {
        let request = exchange.request
        let call = Call(request: request, path: path, peerAddress: exchange.peerAddress)
        do throws(ControlError) {
            try checkAccess(request.head)
            let method = request.head.methodText
            let name = request.head.text(path)
            if name == "inbox", method == "GET" { return try InboxCall(self, exchange).answer(call) }
            if name == "inbox/stream", method == "GET" {
                return EventStream.inbox(try InboxCall.key(call.query, scope), self, exchange)
            }
            if name == "events", method == "GET" { return EventStream.events(self, exchange) }
            if name == "verify", method == "POST" { return try VerifyCall(self, exchange).answer(try object(call)) }
            if name == "clock", method == "POST" { return try moveClock(try object(call), exchange) }
            if name == "records", method == "POST" { return try makeRecord(call, exchange) }
            deliver(try reply(name, method, call)) { finish(exchange, $0) }
        } catch {
            finish(exchange, Self.describe(error))
        }
    }

    static func describe(_ error: ControlError) -> ControlAnswer {
        let status: Int
        switch error.code {
        case "forbidden": status = 403
        case "unauthorized": status = 401
        case "notFound": status = 404
        case "methodNotAllowed": status = 405
        case "internal": status = 500
        default: status = 400
        }
        return ControlAnswer(
            status,
            ["error": ["code": .string(error.code), "message": .string(error.message), "path": .string(error.path)]])
    }

    /// Hands the answer on once what it sent has been tried, and says what came of each delivery.
    private func deliver(_ answer: ControlAnswer, _ done: @escaping @Sendable (ControlAnswer) -> Void) {
        guard let deliveries = answer.deliveries else { return done(answer) }
        scope.run { world in
            world.afterDeliveries {
                var answer = answer
                answer.body = ["deliveries": Self.describe(deliveries)]
                done(answer)
            }
        }
    }

    static func describe(_ deliveries: [Delivery]) -> JSON {
        .array(
            deliveries.map { delivery in
                var entry: JSON = ["id": .string(delivery.name)]
                if let subscriber = delivery.subscriber { entry.set("subscriber", .text(subscriber)) }
                if let device = delivery.deviceID { entry.set("device_id", .text(device)) }
                entry.set("transport", .string(delivery.transport))
                entry.set("outcome", .string(delivery.outcomeText))
                return entry
            })
    }

    func finish(_ exchange: Exchange, _ answer: ControlAnswer) {
        var fields: [HeaderField] = []
        if answer.body != nil { fields.append(HeaderField("Content-Type", "application/json")) }
        finish(exchange, answer.status, fields, answer.body.map { $0.bytes + [10] } ?? [])
    }

    func finish(_ exchange: Exchange, _ status: Int, _ fields: [HeaderField], _ body: [UInt8]) {
        let date = scope.run { $0.clock.httpDate() }
        var response = Response(status: status, fields: fields + [HeaderField(Array("Date"), date)], body: body)
        let head = exchange.request.head
        if !head.keepAlive { response.fields.append(Service.close) }
        let bytes = response.bytes(isHead: head.equals(head.method, "HEAD"))
        exchange.finish(WireScript(bytes, end: head.keepAlive ? .keep : .fin))
    }

    // MARK: access

    /// A page in a browser can reach loopback under a name of its own: only names of loopback count (no DNS rebinding).
    private func checkAccess(_ head: RequestHead) throws(ControlError) {
        let hosts = [head.value(.host), head.authority.map { head.slice($0) }].compactMap { $0 }
        guard hosts.allSatisfy({ Self.isLoopback($0) || isConfigured($0) }) else {
            throw ControlError(
                "The control API answers only under a name of loopback, such as localhost or 127.0.0.1.",
                code: "forbidden")
        }
        if service.isLoopback { return }
        guard let token = service.settings.controlToken, let given = head.value(.authorization),
            Array(given.prefix(7)).equalsIgnoringCase(Array("Bearer ")), Array(given.dropFirst(7)) == token
        else {
            throw ControlError("The control API wants its bearer token here.", code: "unauthorized")
        }
    }

    private func isConfigured(_ host: [UInt8]) -> Bool {
        let name = Array(host.prefix { $0 != Byte.colon })
        return service.settings.hostNames.contains { $0.equalsIgnoringCase(name) }
    }

    private static func isLoopback(_ host: [UInt8]) -> Bool {
        if host.starts(with: "[::1]") { return host.count == 5 || host[5] == Byte.colon }
        let name = Array(host.prefix { $0 != Byte.colon })
        if name.equalsIgnoringCase(Array("localhost")) { return true }
        let parts = name.split(separator: 46, omittingEmptySubsequences: false)
        let numbers = parts.compactMap { decimalDigits($0) }
        return parts.count == 4 && numbers.count == 4 && numbers[0] == 127 && numbers.allSatisfy { $0 < 256 }
    }

    // MARK: calls

    /// The JSON object in the body; nil where there is no body.
    func object(_ call: Call) throws(ControlError) -> JSONDocument? {
        guard let body = call.plainBody() else { throw ControlError("The body's Content-Encoding cannot be undone.") }
        if body.isEmpty { return nil }
        do throws(JSONError) {
            return try JSONDocument(body)
        } catch {
            throw ControlError("The body is not JSON: \(error.description).", code: "notJSON")
        }
    }

    private func reply(_ name: String, _ method: String, _ call: Call) throws(ControlError) -> ControlAnswer {
        if let query = call.query, !query.isEmpty, !Self.withQuery.contains(name) {
            throw ControlError("/__pushsim/\(name) takes no query.", path: "query", code: "unknownMember")
        }
        switch (name, method) {
        case ("health", "GET"): return health
        case ("state", "GET"): return ControlAnswer(200, state)
        case ("state", "PUT"): return try putState(object(call))
        case ("reset", "POST"):
            if let body = try object(call) { try MemberReader(body.root).finish() }
            scope.reset()
            return ControlAnswer(204)
        case ("journal", "GET"): return try JournalReport(call.query, scope.backends).answer(scope)
        case ("profile", "GET"): return getProfile()
        case ("profile", "PUT"): return try putProfile(call)
        case ("profile", "DELETE"):
            scope.run { $0.decider = nil }
            return ControlAnswer(204)
        case ("options", "GET"): return ControlAnswer(200, options)
        case ("options", "PATCH"): return try patchOptions(object(call))
        case ("clock", "GET"): return ControlAnswer(200, clock)
        case ("reports", "POST"): return try report(object(call))
        case ("obligations", "GET"): return ControlAnswer(200, obligations)
        case ("inbox", "DELETE"):
            let key = try InboxCall.key(call.query, scope).key
            scope.run { $0.inboxes.empty(key) }
            return ControlAnswer(204)
        default: return try backendCall(name, method, call)
        }
    }

    private static let withQuery = ["journal", "inbox"]

    private static let names = [
        "health", "state", "reset", "journal", "verify", "profile", "options", "clock", "obligations", "inbox",
        "inbox/stream", "events", "reports", "records",
    ]

    private var allNames: [String] {
        var names = Self.names
        for backend in scope.backends {
            for control in backend.controls {
                let name = "\(backend.name)/\(control.pattern)"
                if !names.contains(name) { names.append(name) }
            }
        }
        return names
    }

    private func backendCall(_ name: String, _ method: String, _ call: Call) throws(ControlError) -> ControlAnswer {
        let parts = name.split(separator: "/", maxSplits: 1)
        if parts.count == 2, let index = scope.backends.firstIndex(where: { $0.name == parts[0] }) {
            let rest = String(parts[1])
            let body = try object(call)
            let answer = try scope.run { world throws(ControlError) -> ControlAnswer? in
                try world.states[index].control(rest, method, body?.root, &world)
            }
            if let answer { return answer }
            if scope.backends[index].controls.contains(where: { $0.matches(rest) }) {
                throw ControlError("/__pushsim/\(name) does not take \(method).", code: "methodNotAllowed")
            }
        }
        if Self.names.contains(name) {
            throw ControlError("/__pushsim/\(name) does not take \(method).", code: "methodNotAllowed")
        }
        throw ControlError(
            "There is no call /__pushsim/\(name).\(Suggestion.text(name, allNames)) The calls are: "
                + allNames.joined(separator: ", ") + ".", code: "notFound")
    }

    private var health: ControlAnswer {
        ControlAnswer(
            200,
            [
                "status": "ok", "version": .string(Version.text),
                "backends": .array(scope.backends.map { .string($0.name) }),
            ])
    }

    private var state: JSON {
        scope.run { world in
            var state: JSON = .object([])
            for (backend, own) in zip(scope.backends, world.states) { state.set(backend.name, own.snapshot) }
            return state
        }
    }

    private func putState(_ document: JSONDocument?) throws(ControlError) -> ControlAnswer {
        guard let document else { throw ControlError("The body is empty.") }
        try Self.restore(document.root, scope)
        return ControlAnswer(204)
    }

    /// Replaces the scope's state, or changes nothing.
    static func restore(_ root: JSONValue, _ scope: Scope) throws(ControlError) {
        var reader = try MemberReader(root)
        var parts: [(Int, JSONValue)] = []
        for (index, backend) in scope.backends.enumerated() {
            if let part = try reader.object(backend.name) {
                parts.append((index, part))
            } else if root.member(backend.name) != nil {
                throw ControlError("must be an object, not null", path: "$.\(backend.name)")
            }
        }
        try reader.finish()
        let found = parts
        try scope.run { world throws(ControlError) in
            // One backend at a time may refuse; what the others had is put back then.
            var done: [(any BackendState, JSON)] = []
            for (index, part) in found {
                let state = world.states[index]
                let before = state.snapshot
                do throws(ControlError) {
                    try state.restore(part)
                } catch {
                    for (state, old) in done {
                        if let document = try? JSONDocument(old.bytes) { try state.restore(document.root) }
                    }
                    throw error
                }
                done.append((state, before))
            }
        }
    }

    private func getProfile() -> ControlAnswer {
        guard let source = scope.run({ $0.decider?.source }) else {
            return ControlAnswer(200, ["name": .null, "rules": []])
        }
        guard let document = try? JSONDocument(source, dialect: .json5) else { return ControlAnswer(500) }
        return ControlAnswer(200, JSON(document.root))
    }

    private func putProfile(_ call: Call) throws(ControlError) -> ControlAnswer {
        guard let body = call.plainBody() else { throw ControlError("The body's Content-Encoding cannot be undone.") }
        let profile: Profile
        do throws(ProfileError) {
            profile = try ProfileReader.read(body, Vocabulary(scope.backends))
        } catch {
            throw ControlError(error.description, code: "badProfile")
        }
        if scope !== service.defaultScope, let rule = profile.rules.first(where: \.refuses) {
            throw ControlError(
                "rule \"\(rule.id)\": \"refuse\" needs a listener of its own, which this scope has not.",
                code: "badProfile")
        }
        scope.run { $0.decider = FaultEngine(profile, now: $0.clock.now) }
        return ControlAnswer(200, ["name": .string(profile.name), "rules": .int(profile.rules.count)])
    }

    private var options: JSON {
        scope.run { world in
            .object(
                world.options.table.map { option in
                    JSON.Member(
                        option.name,
                        [
                            "value": .string(world.options[option.name]), "default": .string(option.defaultValue),
                            "values": .string(option.valuesText), "about": .string(option.about),
                        ])
                })
        }
    }

    private func patchOptions(_ document: JSONDocument?) throws(ControlError) -> ControlAnswer {
        guard let document, document.root.kind == .object else {
            throw ControlError("The body must be an object of option names and values.")
        }
        let members = document.root.members
        var values = scope.run { $0.options }
        for member in members {
            guard let value = member.value.string ?? (member.value.kind == .number ? member.value.sourceText : nil)
            else {
                throw ControlError("must be a string, not \(member.value.kindName)", path: "$[\"\(member.name)\"]")
            }
            do throws(OptionError) {
                try values.change(member.name, to: value)
            } catch {
                throw ControlError(error.description, path: "$[\"\(member.name)\"]", code: "badOption")
            }
        }
        let changed = values
        if let problem = service.problem(changed) {
            throw ControlError(problem, path: "$[\"delivery.network\"]", code: "badOption")
        }
        scope.run { $0.setOptions(changed) }
        if scope === service.defaultScope { service.optionsChanged(changed) }
        return ControlAnswer(200, options)
    }

    private var clock: JSON { scope.run { Self.describe($0.clock) } }

    private static func describe(_ clock: SimulationClock) -> JSON {
        ["now": .string(TimeText.rfc3339(clock.now)), "mode": .string(clock.mode.rawValue)]
    }

    private func moveClock(_ document: JSONDocument?, _ exchange: Exchange) throws(ControlError) {
        var reader = try MemberReader(document?.root)
        let advance = try reader.duration("advance")
        let freeze = try reader.bool("freeze")
        let resume = try reader.bool("resume")
        let set = try reader.string("set")
        try reader.finish()
        let given = [advance != nil, freeze == true, resume == true, set != nil].filter { $0 }.count
        guard given == 1 else { throw ControlError("Give one of advance, freeze, resume and set.") }
        let done: @Sendable (Int64) -> Void = { _ in self.finish(exchange, ControlAnswer(200, self.clock)) }
        if let advance { return scope.advance(advance, done) }
        if let set {
            guard let instant = TimeText.instant(set) else {
                throw ControlError("\"\(set)\" is no RFC 3339 time such as 2026-01-01T00:00:00Z", path: "$.set")
            }
            guard instant >= scope.now else { throw ControlError("lies in the past of the clock", path: "$.set") }
            return scope.advance(to: instant, done)
        }
        scope.run { if freeze == true { $0.clock.freeze() } else { $0.clock.resume() } }
        scope.setAlarm()
        finish(exchange, ControlAnswer(200, clock))
    }

    private func makeRecord(_ call: Call, _ exchange: Exchange) throws(ControlError) {
        let wanted = try RecordsCall(object(call)?.root)
        guard wanted.isSlow else { return finish(exchange, try wanted.record(call.body, scope)) }
        DispatchQueue.global().async {
            do throws(ControlError) {
                finish(exchange, try wanted.record(call.body, scope))
            } catch {
                finish(exchange, Self.describe(error))
            }
        }
    }

    private func finish(_ exchange: Exchange, _ record: [UInt8]) {
        finish(exchange, 200, [HeaderField("Content-Type", "application/octet-stream")], record)
    }

    private func report(_ document: JSONDocument?) throws(ControlError) -> ControlAnswer {
        var reader = try MemberReader(document?.root)
        let name = try reader.required("delivery")
        let did = try reader.required("did")
        try reader.finish()
        guard let report = Report(rawValue: did) else {
            let known = Report.allCases.map(\.rawValue)
            throw ControlError(
                "must be one of \(known.joined(separator: ", ")), not \"\(did)\".\(Suggestion.text(did, known))",
                path: "$.did")
        }
        guard scope.report(name, report) else { throw ControlError("\"\(name)\" is in no inbox", path: "$.delivery") }
        return ControlAnswer(204)
    }

    /// What `serve --report` writes.
    var report: JSON {
        let (entries, evicted) = scope.run { ($0.journal.entries, $0.journal.evicted) }
        let strangers = entries.filter { $0.attempt == nil && $0.call.place.route == nil }
        let fired = entries.filter { $0.decision != nil }
        var report: JSON = [
            "version": .string(Version.text), "calls": .int(entries.count { $0.attempt == nil }),
            "evicted": .int(evicted),
        ]
        report.set(
            "unexpected_calls",
            .array(strangers.map { .string("\($0.call.head.methodText) \($0.call.target.text)") }))
        report.set(
            "faults", .array(fired.compactMap { $0.decision?.json(call: $0.index) }))
        for member in obligations.members ?? [] { report.set(member.name, member.value) }
        return report
    }

    private var obligations: JSON {
        scope.run { world in
            var rows: [JSON] = []
            for (obligation, account) in zip(scope.backends.flatMap(\.obligations), world.ledger.accounts) {
                let state = account.brokenCount > 0 ? "broken" : account.met > 0 ? "met" : "not exercised"
                let calls = account.broken.map {
                    JSON.object([.init("call", .int($0.call)), .init("why", .string($0.why))])
                }
                rows.append([
                    "id": .string(obligation.id), "asks": .string(obligation.text), "state": .string(state),
                    "met": .int(account.met), "broken": .int(account.brokenCount), "calls": .array(calls),
                ])
            }
            return ["obligations": .array(rows)]
        }
    }
}

/// The version of the product.
package enum Version {
    package static let text = "0.1.0"
}
