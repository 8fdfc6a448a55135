package import PushSimJSONText
import PushSimWebPush
package import PushSimWire

/// One message on its way to one device.
package struct Delivery: Sendable {
    package enum Outcome: String, Sendable {
        case accepted, retrying, rejected, removed, dropped
        case gaveUp = "gave_up"
        case invalidKeys = "invalid_keys"
        case endpointRejected = "endpoint_rejected"
    }

    /// The scope's number for it, from 1.
    package var id = 0
    package var time: Int64 = 0
    package let backend: String
    package let kind: String
    package let transport: String
    package var token: [UInt8]
    package var subscriber: [UInt8]?
    package var deviceID: [UInt8]?
    package var topic: [UInt8]?
    package var headers: [HeaderField] = []
    package var body: [UInt8]
    /// For APNs and FCM: what the app is handed.
    package var dictionary: JSON?
    package var plaintext: [UInt8]?
    package var rules: [String] = []
    package var attempts = 1
    package var outcome = Outcome.accepted

    package init(backend: String, kind: String, transport: String, token: [UInt8], body: [UInt8]) {
        self.backend = backend
        self.kind = kind
        self.transport = transport
        self.token = token
        self.body = body
    }

    package var name: String { "d\(id)" }

    /// As the inbox and its stream show it.
    package var json: JSON {
        var entry: JSON = [
            "id": .string(name), "time": .string(TimeText.rfc3339(time)), "backend": .string(backend),
            "kind": .string(kind), "transport": .string(transport),
            "headers": .array(headers.map { [.text($0.name), .text($0.value)] }),
            "body_base64": .string(Base64.encode(body, .standard)),
        ]
        entry.set("dictionary", dictionary ?? .null)
        entry.set("plaintext", plaintext.map { .text($0) } ?? .null)
        entry.set("topic", topic.map { .text($0) } ?? .null)
        entry.set("fault", rules.first.map { .string($0) } ?? .null)
        entry.set("attempts", .int(attempts))
        entry.set("outcome", .string(outcome.rawValue))
        return entry
    }

    var size: Int { 256 + token.count + body.count * 2 + (plaintext?.count ?? 0) }
}
