public import PushSimJSONText
import PushSimSimulation
import PushSimWire

/// What one device has received. Reading never consumes.
public struct Inbox: Sendable {
    private let scope: Scope
    private let key: InboxKey

    init(_ scope: Scope, _ token: [UInt8]) {
        self.scope = scope
        key = InboxKey(.token, InboxCall.canonical(token, scope))
    }

    /// All that is there, oldest first.
    public var deliveries: [Push] { scope.run { $0.inboxes.deliveries(key).deliveries }.map { Push($0) } }

    /// The first delivery, or the first after another; waits for it where it is not there yet.
    /// - Parameters:
    ///   - push: the delivery before the wanted one.
    ///   - within: how long to wait, in real time.
    /// - Throws: `PushSimError` where none came in time.
    public func next(after push: Push? = nil, within: Duration = .seconds(2)) async throws -> Push {
        var question = InboxCall.Question(key: key)
        question.after = push?.number ?? 0
        question.wait = within.boundedNanoseconds
        let asked = question
        if InboxCall.read(asked, scope).isEmpty {
            _ = await withCheckedContinuation { continuation in
                InboxWait.begin(asked, scope) { continuation.resume(returning: $0) }
            }
        }
        let found = scope.run { $0.inboxes.deliveries(asked.key, after: asked.after).deliveries }
        guard let first = found.first else {
            throw PushSimError("Nothing was delivered to \(key.name.text) within \(within).")
        }
        return Push(first)
    }
}

/// One delivery in an inbox.
public struct Push: Sendable {
    let number: Int
    /// Of the scope, such as `d1`.
    public let id: String
    /// `notify`, `cancel` or `chat` of NTM; `notification`, `clear` or `ring` of Fluxer; `message` of the push service.
    public let kind: String
    /// `apns`, `xmpp`, `fcm` or `webpush`.
    public let transport: String
    /// Its header fields, in order.
    public let headers: [(name: String, value: String)]
    /// What was encrypted, where something was.
    public let plaintext: [UInt8]?
    /// What the device's system or connection was handed.
    public let body: [UInt8]
    /// Of APNs and FCM: what the app is handed.
    public let dictionary: JSON?

    init(_ delivery: Delivery) {
        number = delivery.id
        id = delivery.name
        kind = delivery.kind
        transport = delivery.transport
        body = delivery.body
        dictionary = delivery.dictionary
        headers = delivery.headers.map { ($0.name.text, $0.value.text) }
        plaintext = delivery.plaintext
    }

    /// The body as text.
    public var text: String { String(decoding: body, as: UTF8.self) }
}

/// One call of a client in the journal.
public struct RecordedCall: Sendable, CustomStringConvertible {
    /// Counted from 1.
    public let index: Int
    /// As sent.
    public let method: String
    /// The raw path and query, without a scope's base path.
    public let target: String
    /// Its header fields, in order and case as sent.
    public let headers: [(name: String, value: String)]
    /// The request body.
    public let body: [UInt8]
    /// The route's name, or nil where no route owns the path.
    public let route: String?
    /// Nil while the call is open, and where a fault ended the connection before any status.
    public let status: Int?
    /// The rules of the profile that fired.
    public let rules: [String]

    init(_ entry: JournalEntry) {
        index = entry.index
        method = entry.call.head.methodText
        target = String(decoding: entry.call.target, as: UTF8.self)
        headers = entry.call.head.headerFields.map { ($0.name.text, $0.value.text) }
        body = entry.call.body
        route = entry.call.place.route
        status = entry.status
        rules = entry.decision?.rules ?? []
    }

    /// One line.
    public var description: String {
        "#\(index) \(method) \(target) -> \(status.map(String.init) ?? "no answer")"
            + (rules.isEmpty ? "" : " by \(rules.joined(separator: ", "))")
    }
}

/// What a device did with a delivery.
public enum DeviceReport: Sendable {
    /// Showed it.
    case shown
    /// Threw it away.
    case discarded
    /// Rang for a call.
    case rang
    /// Ended a call.
    case ended

    var report: Report {
        switch self {
        case .shown: .shown
        case .discarded: .discarded
        case .rang: .rang
        case .ended: .ended
        }
    }
}
