import Dispatch
import PushSimFaults
import PushSimJSONText
import PushSimSimulation
import PushSimWire

// What the calls of the control API do that are no backend's.
extension ControlAPI {
    var health: ControlAnswer {
        ControlAnswer(
            200,
            [
                "status": "ok", "version": .string(Version.text),
                "backends": .array(scope.backends.map { .string($0.name) }),
            ])
    }

    var state: JSON {
        scope.run { world in
            var state: JSON = .object([])
            for (backend, own) in zip(scope.backends, world.states) { state.set(backend.name, own.snapshot) }
            return state
        }
    }

    func putState(_ document: JSONDocument?) throws(ControlError) -> ControlAnswer {
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
            for (state, _) in done { state.restored(&world) }
        }
    }

    func getProfile() -> ControlAnswer {
        guard let source = scope.run({ $0.decider?.source }) else {
            return ControlAnswer(200, ["name": .null, "rules": []])
        }
        guard let document = try? JSONDocument(source, dialect: .json5) else { return ControlAnswer(500) }
        return ControlAnswer(200, JSON(document.root))
    }

    func putProfile(_ call: Call) throws(ControlError) -> ControlAnswer {
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
        service.setProfile(profile, of: scope)
        return ControlAnswer(200, ["name": .string(profile.name), "rules": .int(profile.rules.count)])
    }

    var options: JSON {
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

    func patchOptions(_ document: JSONDocument?) throws(ControlError) -> ControlAnswer {
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
            if member.name.hasPrefix("server."), scope !== service.defaultScope {
                throw ControlError(
                    "\(member.name) is the whole server's: change it without naming a scope",
                    path: "$[\"\(member.name)\"]", code: "badOption")
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

    var clock: JSON { scope.run { Self.describe($0.clock) } }

    static func describe(_ clock: SimulationClock) -> JSON {
        ["now": .string(TimeText.rfc3339(clock.now)), "mode": .string(clock.mode.rawValue)]
    }

    func moveClock(_ document: JSONDocument?, _ exchange: Exchange) throws(ControlError) {
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

    func makeRecord(_ call: Call, _ exchange: Exchange) throws(ControlError) {
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

    func finish(_ exchange: Exchange, _ record: [UInt8]) {
        finish(exchange, 200, [HeaderField("Content-Type", "application/octet-stream")], record)
    }

    func report(_ document: JSONDocument?) throws(ControlError) -> ControlAnswer {
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

    var obligations: JSON {
        scope.run { world in
            var rows: [JSON] = []
            for (obligation, account) in zip(scope.backends.flatMap(\.obligations), world.ledger.accounts) {
                let state = account.brokenCount > 0 ? "broken" : account.met > 0 ? "met" : "not exercised"
                let calls = account.broken.map {
                    JSON.object([.init("call", $0.call == 0 ? .null : .int($0.call)), .init("why", .string($0.why))])
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
