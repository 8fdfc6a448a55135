import CPushSimSystem
import PushSimFaults
import PushSimJSONText
import PushSimSimulation
import PushSimWire
import Synchronization

/// POST `/__pushsim/verify`: whether the calls so far are as wanted, at once or within a time.
struct VerifyCall {
    private let api: ControlAPI
    private let exchange: Exchange

    init(_ api: ControlAPI, _ exchange: Exchange) {
        self.api = api
        self.exchange = exchange
    }

    func answer(_ document: JSONDocument?) throws(ControlError) {
        guard let document else { throw ControlError("The body is empty: give \"request\" or \"inOrder\".") }
        let (verification, within) = try Self.read(document.root, Vocabulary(api.scope.backends))
        guard api.scope.run({ $0.journal.isOn }) else {
            throw ControlError(
                "The journal is off (option journal.bytes), so that no call is known.", code: "journalOff")
        }
        let outcome = verification.check(api.scope)
        guard !outcome.isSatisfied, within > 0 else { return finish(outcome) }
        CallWait(api.scope) { verification.check(api.scope).isSatisfied }
            .begin(within) { finish(verification.check(api.scope)) }
    }

    private func finish(_ outcome: Verification.Outcome) {
        api.finish(exchange, ControlAnswer(outcome.isSatisfied ? 200 : 422, outcome.json))
    }

    private static func read(
        _ value: JSONValue, _ vocabulary: Vocabulary
    ) throws(ControlError) -> (Verification, Int64) {
        var reader = try MemberReader(value)
        let request = try reader.object("request")
        let count = try reader.object("count")
        let order = reader.value("inOrder")
        let within = try reader.duration("within") ?? 0
        try reader.finish()
        guard (request == nil) != (order == nil) else { throw ControlError("Give one of \"request\" and \"inOrder\".") }
        if let order {
            guard order.kind == .array, count == nil else {
                throw ControlError("must be an array of matchers, without a count", path: "$.inOrder")
            }
            if order.elements.isEmpty { throw ControlError("names no call", path: "$.inOrder") }
            var steps: [CallQuestion] = []
            for (index, element) in order.elements.enumerated() {
                steps.append(try question(element, vocabulary, "$.inOrder[\(index)]"))
            }
            return (Verification(.inOrder(steps)), within)
        }
        guard let request else { throw ControlError("is missing", path: "$.request") }
        return (
            Verification(.count(try question(request, vocabulary, "$.request"), try Self.count(count))), within
        )
    }

    private static func question(
        _ value: JSONValue, _ vocabulary: Vocabulary, _ path: String
    ) throws(ControlError) -> CallQuestion {
        do throws(ProfileError) {
            return try CallQuestion(value, vocabulary)
        } catch {
            throw ControlError(error.mistakes.map(\.message).joined(separator: "; "), path: path)
        }
    }

    private static func count(_ value: JSONValue?) throws(ControlError) -> CallCount {
        guard let value else { return .atLeast(1) }
        var reader = try MemberReader(value, path: "$.count")
        let exactly = try reader.int("exactly")
        let least = try reader.int("atLeast")
        let most = try reader.int("atMost")
        try reader.finish()
        if let exactly {
            guard least == nil, most == nil, exactly >= 0 else {
                throw ControlError("\"exactly\" stands alone and counts from 0", path: "$.count")
            }
            return .exactly(exactly)
        }
        guard least != nil || most != nil, least ?? 0 >= 0, most ?? 0 >= 0, least ?? 0 <= most ?? .max else {
            throw ControlError("needs \"exactly\", \"atLeast\" or \"atMost\"", path: "$.count")
        }
        return CallCount(least: least ?? 0, most: most ?? .max)
    }
}

/// What the calls of a scope are to be like.
struct Verification: Sendable {
    enum Wish: Sendable {
        case count(CallQuestion, CallCount)
        case inOrder([CallQuestion])
    }

    struct Outcome: Sendable {
        let isSatisfied: Bool
        let json: JSON
    }

    private let wish: Wish

    init(_ wish: Wish) { self.wish = wish }

    func check(_ scope: Scope) -> Outcome {
        let (all, evicted) = scope.run { ($0.journal.entries, $0.journal.evicted) }
        let entries = all.filter { $0.attempt == nil }
        switch wish {
        case .count(let question, let count):
            let matching = entries.filter { question.differences($0.call).isEmpty }
            let calls: JSON = .array(matching.map { .int($0.index) })
            // What has left the journal may have been more of them.
            let isSure = evicted == 0 || count.most == .max
            if count.contains(matching.count), isSure {
                return Outcome(
                    isSatisfied: true, json: ["satisfied": true, "count": .int(matching.count), "calls": calls])
            }
            return Self.failure(
                "Wanted \(count) of such calls, found \(matching.count) among \(entries.count)"
                    + (isSure ? "." : "; \(evicted) older ones have left the journal (option journal.bytes)."),
                question, entries, evicted, ["count": .int(matching.count), "calls": calls])
        case .inOrder(let steps):
            var next = 0
            var calls: [JSON] = []
            for entry in entries where next < steps.count && steps[next].differences(entry.call).isEmpty {
                next += 1
                calls.append(.int(entry.index))
            }
            if next == steps.count {
                return Outcome(isSatisfied: true, json: ["satisfied": true, "calls": .array(calls)])
            }
            return Self.failure(
                "Of \(steps.count) calls in order, number \(next + 1) did not come.", steps[next], entries, evicted,
                ["calls": .array(calls)])
        }
    }

    /// With the three nearest calls and what differs in each.
    private static func failure(
        _ message: String, _ question: CallQuestion, _ entries: [JournalEntry], _ evicted: Int, _ more: JSON
    ) -> Outcome {
        var json: JSON = ["satisfied": false, "message": .string(message)]
        for member in more.members ?? [] { json.set(member.name, member.value) }
        let near = entries.map { ($0, question.differences($0.call)) }.filter { !$0.1.isEmpty }
            .sorted { ($0.1.count, $0.0.index) < ($1.1.count, $1.0.index) }.prefix(3)
        json.set(
            "nearest",
            .array(
                near.map { entry, differences in
                    [
                        "call": .int(entry.index), "method": .string(entry.call.head.methodText),
                        "target": .text(entry.call.target), "differences": .array(differences.map { .string($0) }),
                    ]
                }))
        json.set("evicted", .int(evicted))
        json.set("inconclusive", .bool(evicted > 0))
        return Outcome(isSatisfied: false, json: json)
    }
}
