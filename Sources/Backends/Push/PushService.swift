import PushSimJSONText
package import PushSimSimulation
package import PushSimWire

/// The built-in push service (RFC 8030, contract control-api.md): takes a Web Push message into an endpoint's inbox.
package struct PushService: Backend {
    package init() {}

    package let name = "push"
    package let losable: [String] = []
    package let tokenFaults: [String] = []
    package let kinds: [String] = []
    package let ownedPaths = ["/push/…"]
    package let controls: [ControlDescription] = []
    package let options: [OptionDescription] = []
    package let obligations: [Obligation] = []
    package let table = RouteTable([
        RouteDescription("push", "POST", "/push/{id}", "a Web Push message for the inbox of an endpoint")
    ])

    package func match(_ head: RequestHead, _ path: RequestHead.Span) -> RouteMatch? {
        if let match = table.match(head, path) { return match }
        return head.bytes[path.range].starts(with: Array("/push/".utf8)) ? .unknown : nil
    }

    package func identify(_ route: Int, _ parameters: [ArraySlice<UInt8>], _ call: Call) -> Facts {
        let facts = Facts()
        facts.token = parameters.first.map { PushEndpoint.prefix + $0 }
        facts.transport = "webpush"
        return facts
    }

    package func makeState(firstObligation: Int) -> any BackendState { PushServiceState() }
}

final class PushServiceState: BackendState {
    let backendName = "push"

    private struct Refusal: Error {
        let status: Int
        let message: String
    }

    func optionsChanged(_ options: OptionValues) {}

    func answer(_ match: RouteMatch, _ call: Call, _ world: inout World) -> Answer {
        switch match {
        case .unknown: return Answer(Self.failure(404, "There is no such endpoint."))
        case .wrongMethod(let methods):
            var response = Self.failure(405, "An endpoint takes \(methods.joined(separator: ", ")).")
            response.fields.append(HeaderField("Allow", methods.joined(separator: ", ")))
            return Answer(response)
        case .route(_, let parameters):
            do throws(Refusal) {
                return Answer(try take(parameters.first.map(Array.init) ?? [], call, &world))
            } catch {
                return Answer(Self.failure(error.status, error.message))
            }
        }
    }

    func refusesUnread(_ call: Call, _ world: inout World) -> Bool {
        do throws(Refusal) {
            _ = try Self.check(call.head)
        } catch {
            return true
        }
        if case .length(let count) = call.head.framing { return count > Self.limit }
        return false
    }

    private static let limit = 4096

    /// What the head must say, and how long the message may be kept.
    private static func check(_ head: RequestHead) throws(Refusal) -> Int {
        let timeToLive = try timeToLive(head)
        try checkCoding(head)
        try checkUrgency(head)
        try checkTopic(head)
        return timeToLive
    }

    private func take(_ id: [UInt8], _ call: Call, _ world: inout World) throws(Refusal) -> Response {
        guard !id.isEmpty else { throw Refusal(status: 404, message: "There is no such endpoint.") }
        let timeToLive = try Self.check(call.head)
        var isTooLong = call.body.count > Self.limit
        if case .length(let count) = call.head.framing { isTooLong = isTooLong || count > Self.limit }
        guard !isTooLong else {
            throw Refusal(status: 413, message: "A push message has at most 4096 octets.")
        }
        let delivery = Delivery(
            id: world.reserveDelivery(), backend: "push", kind: "message", transport: "webpush",
            token: PushEndpoint.prefix + id)
        delivery.timeToLive = timeToLive
        let (fields, body) = (call.head.headerFields, call.body)
        world.dispatch([
            Parcel(delivery) { delivery, _ in
                delivery.headers = fields
                delivery.body = body
                return true
            }
        ])
        return Response(
            status: 201,
            fields: [
                HeaderField("Location", "\(world.baseURL)/push/\(id.text)/messages/\(delivery.name)"),
                HeaderField("TTL", String(timeToLive)),
            ])
    }

    /// RFC 8030 section 5.2: digits; more than 2^31 counts as that.
    private static func timeToLive(_ head: RequestHead) throws(Refusal) -> Int {
        let values = head.values("ttl")
        guard values.count == 1, let text = values.first, !text.isEmpty,
            text.allSatisfy({ $0 >= 48 && $0 <= 57 })
        else { throw Refusal(status: 400, message: "TTL is needed, once, in seconds.") }
        return min(decimalDigits(text) ?? .max, 1 << 31)
    }

    /// RFC 8291 section 4: exactly aes128gcm, once.
    private static func checkCoding(_ head: RequestHead) throws(Refusal) {
        guard head.values("content-encoding") == [Array("aes128gcm".utf8)] else {
            throw Refusal(status: 400, message: "Content-Encoding must be aes128gcm, once.")
        }
        let old = (head.values("crypto-key") + head.values("encryption")).map(\.text)
        if old.contains(where: { $0.contains("dh=") || $0.contains("salt=") }) {
            throw Refusal(status: 400, message: "Crypto-Key and Encryption belong to an older coding.")
        }
    }

    private static func checkUrgency(_ head: RequestHead) throws(Refusal) {
        let values = head.values("urgency")
        guard values.count <= 1,
            values.allSatisfy({ ["very-low", "low", "normal", "high"].contains($0.text) })
        else { throw Refusal(status: 400, message: "Urgency is one of very-low, low, normal and high.") }
    }

    private static func checkTopic(_ head: RequestHead) throws(Refusal) {
        for topic in head.values("topic") {
            let isGood = topic.allSatisfy { byte in
                (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte) || byte == 45
                    || byte == 95
            }
            guard isGood, (1...32).contains(topic.count), head.values("topic").count == 1 else {
                throw Refusal(status: 400, message: "Topic has at most 32 characters of base64url.")
            }
        }
    }

    private static func failure(_ status: Int, _ message: String) -> Response {
        let body: JSON = ["code": .int(status), "message": .string(message)]
        return Response(
            status: status, fields: [HeaderField("Content-Type", "application/json")], body: body.bytes)
    }

    func scripted(_ status: Int, retryAfter: Int64?, _ call: Call, _ world: inout World) -> Answer {
        Answer(Self.failure(status, StatusText.reason(status)))
    }

    func lose(_ what: String, _ tokens: [[UInt8]], _ call: Call, _ world: inout World) {}
    func spoilToken(_ fault: String, _ tokens: [[UInt8]], _ call: Call, _ world: inout World) {}

    func control(
        _ name: String, _ method: String, _ body: JSONValue?, _ world: inout World
    ) throws(ControlError) -> ControlAnswer? { nil }

    var snapshot: JSON { .object([]) }

    func restore(_ snapshot: JSONValue) throws(ControlError) {
        let reader = try MemberReader(snapshot, path: "$.push")
        try reader.finish()
    }

    func reset() {}
}
