package import PushSimFaults
package import PushSimJSONText
import PushSimSimulation
import PushSimWebPush
import PushSimWire

/// Takes every decision of a recorded journal again, by the profile alone, and compares.
package struct DecisionAudit {
    /// One decision that comes out in another way.
    package struct Difference: Sendable, CustomStringConvertible {
        package let description: String
    }

    private let rows: [JSONValue]
    private let engine: FaultEngine
    private let draws: Draws
    private let places = PlaceTable(Service.allBackends)

    /// - Parameter journal: what GET `/__pushsim/journal` gave.
    /// - Throws: `PushSimError` for what is none, or is not whole.
    package init(_ journal: JSONValue, _ profile: Profile) throws {
        guard let entries = journal.member("entries"), let info = journal.member("profile"), info.kind == .object else {
            throw PushSimError("This is no journal of a scope with a profile: save GET /__pushsim/journal.")
        }
        guard journal.member("evicted")?.int == 0 else {
            throw PushSimError("Calls have left the journal: raise the option journal.bytes.")
        }
        guard let number = info.member("number")?.int, let seedText = info.member("seed")?.sourceText,
            let seed = UInt64(seedText), let scope = info.member("scope")?.string,
            let start = info.member("started")?.string.flatMap({ TimeText.instant($0) })
        else { throw PushSimError("The journal does not say what its decisions were drawn from.") }
        engine = FaultEngine(profile, now: start)
        draws = Draws(seed: seed, seedName: scope)
        for (row, index) in zip(entries.elements, 1...) where row.member("index")?.int != index {
            throw PushSimError(
                "Entry \(index) is missing, and with it what was decided: save GET /__pushsim/journal without a filter."
            )
        }
        let decided = entries.elements.filter { $0.member("decided")?.member("profile")?.int == number }
            .sorted { Self.number($0) < Self.number($1) }
        // Copies of a delivery share the decision.
        var rows: [JSONValue] = []
        for row in decided where rows.last.map({ Self.number($0) }) != Self.number(row) { rows.append(row) }
        self.rows = rows
        for (row, number) in zip(rows, 1...) where Self.number(row) != number {
            throw PushSimError(
                "Decision \(number) is of a delivery that has not been tried yet: let the clock go on, then save the "
                    + "journal again.")
        }
    }

    private static func number(_ row: JSONValue) -> Int { row.member("decided")?.member("number")?.int ?? 0 }

    package var count: Int { rows.count }

    package func differences() -> [Difference] {
        rows.compactMap { row in
            let now = row.member("decided")?.member("at")?.string.flatMap { TimeText.instant($0) } ?? 0
            let got = row.member("rules")?.elements.compactMap(\.string) ?? []
            let isDelivery = row.member("side")?.string == "delivery"
            let wanted = isDelivery ? rules(delivery: row, now) : rules(call: row, now)
            guard let wanted else { return nil }
            if wanted == got { return nil }
            let index = row.member("index")?.int ?? 0
            return Difference(
                description: "#\(index): the journal has [\(got.joined(separator: ", "))], "
                    + "the profile says [\(wanted.joined(separator: ", "))]")
        }
    }

    private func rules(delivery row: JSONValue, _ now: Int64) -> [String]? {
        func octets(_ name: String) -> [UInt8]? { row.member(name)?.stringBytes }
        let delivery = Delivery(
            id: 0, backend: row.member("backend")?.string ?? "", kind: row.member("kind")?.string ?? "",
            transport: row.member("transport")?.string ?? "", token: octets("token") ?? [])
        delivery.account = octets("account")
        delivery.subscriber = octets("subscriber")
        delivery.deviceID = octets("device_id")
        delivery.topic = octets("topic")
        delivery.conditionTopics = row.member("condition_topics")?.elements.compactMap(\.stringBytes) ?? []
        let isRetry = (row.member("attempt")?.int ?? 1) > 1
        return engine.decide(delivery, isRetry: isRetry, now: now, draws: draws)?.rules ?? []
    }

    private func rules(call row: JSONValue, _ now: Int64) -> [String]? {
        guard let request = Self.request(row) else { return nil }
        let (place, match) = places.find(request.head, request.head.path)
        let call = Call(request: request, path: request.head.path, peerAddress: "", place: place, match: match)
        return engine.decide(call, now: now, draws: draws)?.rules ?? []
    }

    /// The request as it came, but for how its body was framed.
    private static func request(_ row: JSONValue) -> Request? {
        let body =
            row.member("body")?.stringBytes
            ?? row.member("body_base64")?.stringBytes.flatMap { Base64.decodeLeniently($0) } ?? []
        var text = row.member("method")?.stringBytes ?? []
        text += [32] + (row.member("target")?.stringBytes ?? []) + Array(" HTTP/1.1\r\n".utf8)
        var hasHost = false
        for field in row.member("headers")?.elements ?? [] {
            let pair = field.elements.compactMap(\.stringBytes)
            guard pair.count == 2 else { continue }
            let field = HeaderField(pair[0], pair[1])
            let isFraming = ["content-length", "transfer-encoding", "expect"].contains {
                field.isNamed(Array($0.utf8))
            }
            if isFraming { continue }
            if field.isNamed(Array("host".utf8)) { hasHost = true }
            text += pair[0] + [58, 32] + pair[1] + [13, 10]
        }
        if !hasHost { text += Array("Host: localhost\r\n".utf8) }
        text += Array("Content-Length: \(body.count)\r\n\r\n".utf8) + body
        var parser = RequestParser()
        var used = 0
        var step = text.withUnsafeBytes { parser.advance($0, consumed: &used) }
        if case .head = step { step = text.withUnsafeBytes { parser.advance($0, consumed: &used) } }
        guard case .complete = step else { return nil }
        return parser.take()
    }
}
