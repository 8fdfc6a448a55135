import PushSimJSONText
import PushSimSimulation
import PushSimWebPush
import PushSimWire

/// GET `/__pushsim/journal`: what clients sent and got, filtered.
struct JournalReport {
    private var filters: [(name: String, value: String)] = []
    private var since = 0
    private var limit = Int.max

    private static let names = ["backend", "route", "method", "path", "status", "since", "limit"]

    init(_ query: ArraySlice<UInt8>?, _ backends: [any Backend]) throws(ControlError) {
        guard let pairs = Percent.form(query ?? []) else { throw ControlError("The query has a bad escape.") }
        for pair in pairs {
            let (name, value) = (pair.name.text, pair.value.text)
            switch name {
            case "since", "limit", "status":
                guard let number = decimalDigits(pair.value) else {
                    throw ControlError("\"\(value)\" is no number", path: "query.\(name)")
                }
                if name == "since" {
                    since = number
                } else if name == "limit" {
                    limit = number
                } else {
                    filters.append((name, value))
                }
            case "backend": try check(name, value, backends.map(\.name))
            case "route": try check(name, value, backends.flatMap { $0.table.routes.map(\.name) })
            case "method", "path": filters.append((name, value))
            default:
                throw ControlError(
                    "\"\(name)\" is not known here.\(Suggestion.text(name, Self.names)) Known are: \(Self.names.joined(separator: ", ")).",
                    path: "query.\(name)", code: "unknownMember")
            }
        }
    }

    private mutating func check(_ name: String, _ value: String, _ known: [String]) throws(ControlError) {
        guard known.contains(value) else {
            throw ControlError(
                "there is no \(name) \"\(value)\".\(Suggestion.text(value, known))", path: "query.\(name)")
        }
        filters.append((name, value))
    }

    func answer(_ scope: Scope) -> ControlAnswer {
        let (entries, evicted, profile) = scope.run { world in
            (world.journal.entries, world.journal.evicted, Self.describeProfile(world))
        }
        let shown = entries.filter { $0.index > since && matches($0) }.prefix(limit)
        return ControlAnswer(
            200, ["entries": .array(shown.map(Self.describe)), "evicted": .int(evicted), "profile": profile])
    }

    /// The running profile, and what its decisions are drawn from.
    private static func describeProfile(_ world: World) -> JSON {
        guard let decider = world.decider else { return .null }
        return [
            "name": .string(decider.profileName), "number": .int(world.profiles),
            "started": .string(TimeText.rfc3339(decider.start)),
            "seed": .number(String(decider.seed ?? world.draws.seed)),
            "scope": .text(world.draws.seedName),
        ]
    }

    private func matches(_ entry: JournalEntry) -> Bool {
        filters.allSatisfy { filter -> Bool in
            if let attempt = entry.attempt {
                return filter.name == "backend" && attempt.delivery.backend == filter.value
                    || filter.name == "status" && attempt.status.map(String.init) == filter.value
            }
            switch filter.name {
            case "backend": return entry.call.place.backend?.name == filter.value
            case "route": return entry.call.place.route == filter.value
            case "method": return entry.call.method.elementsEqual(filter.value.utf8)
            case "path": return entry.call.path.elementsEqual(filter.value.utf8)
            default: return entry.status.map(String.init) == filter.value
            }
        }
    }

    private static func describe(_ attempt: Attempt, index: Int, time: Int64) -> JSON {
        let delivery = attempt.delivery
        var row: JSON = [
            "index": .int(index), "time": .string(TimeText.rfc3339(time)), "side": "delivery",
            "backend": .string(delivery.backend), "delivery": .string(delivery.name), "kind": .string(delivery.kind),
            "transport": .string(delivery.transport), "token": .text(delivery.token), "attempt": .int(attempt.number),
            "outcome": .string(attempt.outcome.rawValue),
        ]
        row.set("device_id", delivery.deviceID.map { .text($0) } ?? .null)
        row.set("status", attempt.status.map { .int($0) } ?? .null)
        row.set("failure", attempt.failure.map { .string($0) } ?? .null)
        row.set("account", delivery.account.map { .text($0) } ?? .null)
        row.set("subscriber", delivery.subscriber.map { .text($0) } ?? .null)
        row.set("topic", delivery.topic.map { .text($0) } ?? .null)
        if !delivery.conditionTopics.isEmpty {
            row.set("condition_topics", .array(delivery.conditionTopics.map { .text($0) }))
        }
        row.set("rules", .array(attempt.rules.map { .string($0) }))
        row.set("decided", describe(attempt.decided, at: attempt.begun))
        return row
    }

    static func describe(_ entry: JournalEntry) -> JSON {
        if let attempt = entry.attempt { return describe(attempt, index: entry.index, time: entry.time) }
        var row: JSON = ["index": .int(entry.index), "time": .string(TimeText.rfc3339(entry.time))]
        row.set("backend", entry.call.place.backend.map { .string($0.name) } ?? .null)
        row.set("route", entry.call.place.route.map { .string($0) } ?? .null)
        row.set("method", .text(Array(entry.call.method)))
        row.set("target", .text(entry.call.target))
        row.set("headers", .array(entry.call.head.headerFields.map { [.text($0.name), .text($0.value)] }))
        setBody(entry.call.body, "body", &row)
        if let digest = entry.bodyDigest {
            row.set("body_length", .int(digest.length))
            row.set("body_sha256", .string(Hex.text(digest.sha256)))
        }
        row.set("topic", entry.call.identified.topic.map { .text($0) } ?? .null)
        row.set("rules", .array((entry.decision?.rules ?? []).map { .string($0) }))
        row.set("decided", describe(entry.decided, at: entry.time))
        row.set("draw", entry.decision?.draw.map { .number(String($0)) } ?? .null)
        row.set("status", entry.status.map { .int($0) } ?? .null)
        if !entry.answer.isEmpty {
            let end = Response.headEnd(entry.answer)
            row.set("answer_head", .text(Array(entry.answer[..<end])))
            setBody(Array(entry.answer[end...]), "answer_body", &row)
            if let digest = entry.answerDigest {
                row.set("answer_body_length", .int(digest.length))
                row.set("answer_body_sha256", .string(Hex.text(digest.sha256)))
            }
        }
        row.set("ended", entry.ending.map { .string($0.rawValue) } ?? .null)
        return row
    }

    private static func describe(_ decided: Decided?, at time: Int64) -> JSON {
        guard let decided else { return .null }
        return [
            "profile": .int(decided.profile), "number": .int(decided.number), "at": .string(TimeText.rfc3339(time)),
        ]
    }

    /// As text where it is UTF-8, else as base64.
    private static func setBody(_ body: [UInt8], _ name: String, _ row: inout JSON) {
        if let text = String(validating: body, as: UTF8.self) {
            row.set(name, .string(text))
        } else {
            row.set("\(name)_base64", .string(Base64.encode(body, .standard)))
        }
    }
}
