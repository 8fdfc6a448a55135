package import PushSimJSONText
import PushSimWebPush
package import PushSimWire

/// One message on its way to one device.
///
/// A class, since the queue, the inboxes and the journal all hold it. `@unchecked Sendable`: filled by one thread after the
/// other, each of which hands it on, before it is in an inbox or journal; what changes after that (`attempts`, `outcome`,
/// `time`, `rules`, `decided`) changes only under the scope's lock.
package final class Delivery: @unchecked Sendable {
    package enum Outcome: String, Sendable {
        case accepted, retrying, rejected, removed, dropped
        case gaveUp = "gave_up"
        case invalidKeys = "invalid_keys"
        case endpointRejected = "endpoint_rejected"
    }

    /// The scope's number for it, from 1.
    package let id: Int
    package let backend: String
    package let kind: String
    package let transport: String
    /// The device token, routing id or endpoint that was registered.
    package let token: [UInt8]
    package var account: [UInt8]?
    /// Session tokens of that account, by which a profile may name it too.
    package var sessions: [[UInt8]] = []
    package var subscriber: [UInt8]?
    package var deviceID: [UInt8]?
    package var topic: [UInt8]?
    /// Of a message to a condition on topics: those that it names.
    package var conditionTopics: [[UInt8]] = []
    /// Of the device, where its backend has such.
    package var platform: String?
    /// Seconds that the push service may keep it.
    package var timeToLive = 0

    /// From which it is not tried again; nanoseconds since 1970, on the scope's clock.
    package var deadline: Int64?

    package var headers: [HeaderField] = []
    package var body: [UInt8] = []
    /// For APNs and FCM: what the app is handed.
    package var dictionary: JSON?
    package var plaintext: [UInt8]?
    /// What phones get where a relay stands between, by transport.
    package var relayed: (@Sendable ([UInt8]) -> JSON)?
    package var rules: [String] = []
    var decided: Decided?
    /// What was put in on purpose, as `fault` of the inbox shows it.
    package var fault: String?
    /// When it was accepted, on the scope's clock.
    package internal(set) var time: Int64 = 0
    package internal(set) var attempts = 0
    /// Nil while it is on its way.
    package internal(set) var outcome: Outcome?

    package init(id: Int, backend: String, kind: String, transport: String, token: [UInt8]) {
        self.id = id
        self.backend = backend
        self.kind = kind
        self.transport = transport
        self.token = token
    }

    package var name: String { "d\(id)" }

    package var outcomeText: String { outcome?.rawValue ?? "pending" }

    /// Another delivery of the same to the same.
    func again(id: Int) -> Delivery {
        let copy = Delivery(id: id, backend: backend, kind: kind, transport: transport, token: token)
        copy.account = account
        copy.sessions = sessions
        copy.subscriber = subscriber
        copy.deviceID = deviceID
        copy.topic = topic
        copy.platform = platform
        copy.timeToLive = timeToLive
        copy.deadline = deadline
        copy.rules = rules
        copy.fault = fault
        copy.decided = decided
        return copy
    }

    /// As the inbox and its stream show it.
    package var json: JSON {
        var entry: JSON = [
            "id": .string(name), "time": .string(TimeText.rfc3339(time)), "backend": .string(backend),
            "kind": .string(kind), "transport": .string(transport),
            "headers": .array(headers.map { [.text($0.name), .text($0.value)] }),
            "body_base64": .string(Base64.encode(body, .standard)),
        ]
        entry.set("dictionary", dictionary ?? .null)
        if let platform { entry.set("platform", .string(platform)) }
        if let relayed { entry.set("relay", relayed(body)) }
        entry.set("plaintext", plaintext.map { .text($0) } ?? .null)
        entry.set("topic", topic.map { .text($0) } ?? .null)
        entry.set("fault", (fault ?? rules.first).map { .string($0) } ?? .null)
        entry.set("attempts", .int(attempts))
        entry.set("outcome", .string(outcomeText))
        return entry
    }

    var size: Int { 320 + token.count + body.count + (plaintext?.count ?? 0) + headers.count * 80 }
}

/// One attempt to deliver, as the journal keeps it.
package struct Attempt: Sendable {
    package let delivery: Delivery
    /// Counted from 1.
    package let number: Int
    package let outcome: Delivery.Outcome
    /// What the push service answered, or the failure of the connection.
    package let status: Int?
    package let failure: String?
    package let rules: [String]
    package let decided: Decided?
    /// When the attempt was decided on, on the scope's clock.
    package let begun: Int64
}
