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
    /// - Throws: `PushSimError` where none came in time, or the simulation was stopped or reset meanwhile;
    ///   `CancellationError` where the task was cancelled.
    public func next(after push: Push? = nil, within: Duration = .seconds(2)) async throws -> Push {
        var question = InboxCall.Question(key: key)
        question.after = push?.number ?? 0
        question.wait = within.boundedNanoseconds
        let asked = question
        let wait = InboxWait(asked, scope)
        if InboxCall.read(asked, scope).isEmpty {
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in wait.begin { _ in continuation.resume() } }
            } onCancel: {
                wait.end()
            }
            try Task.checkCancellation()
        }
        let found = scope.run { $0.inboxes.deliveries(asked.key, after: asked.after).deliveries }
        guard let first = found.first else {
            if wait.wasGivenUp {
                throw PushSimError("The simulation was stopped or reset before anything came to \(key.name.text).")
            }
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
    /// `notify`, `cancel` or `chat` of NTM; `notification`, `clear` or `ring` of Fluxer; `broadcast` of Sunbird;
    /// `message` of the push service; `delivery` of a recording.
    public let kind: String
    /// `apns`, `xmpp`, `fcm` or `webpush`.
    public let transport: String
    /// `ntm`, `fluxer`, `sunbird`, `push`, or `recording` where a cassette is played.
    public let backend: String
    /// Of NTM and Sunbird: the topic whose subscriber got it.
    public let topic: String?
    /// When it was accepted, on the simulation clock, in RFC 3339.
    public let time: String
    /// What was put in on purpose: the id of a broken record, or the rule that acted; nil for a good one.
    public let fault: String?
    /// How often it was tried until it was accepted.
    public let attempts: Int
    /// Its header fields, in order.
    public let headers: [(name: String, value: String)]
    /// What was encrypted, where something was; of NTM the userdata, of Sunbird the notification.
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
        backend = delivery.backend
        topic = delivery.topic?.text
        time = TimeText.rfc3339(delivery.time)
        fault = delivery.fault ?? delivery.rules.first
        attempts = delivery.attempts
        body = delivery.body
        dictionary = delivery.dictionary
        headers = delivery.headers.map { ($0.name.text, $0.value.text) }
        plaintext = delivery.plaintext
    }

    /// The value of its first header field of that name, whatever its case.
    public func header(_ name: String) -> String? { headers.first { $0.name.lowercased() == name.lowercased() }?.value }

    /// The body as text.
    public var text: String { String(decoding: body, as: UTF8.self) }
}

/// One call of a client in the journal.
public struct RecordedCall: Sendable, CustomStringConvertible {
    /// Counted from 1.
    public let index: Int
    /// When it arrived, on the simulation clock, in RFC 3339.
    public let time: String
    /// The backend that owns the path, or nil.
    public let backend: String?
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
    /// What was answered, head and body as they went over the wire; empty where nothing was.
    public let answer: [UInt8]
    /// How the exchange ended: `kept`, `closed`, `reset`, `half-closed`, `stalled`, `client-left` or `cancelled`; nil while
    /// it is open.
    public let ended: String?
    /// The rules of the profile that fired.
    public let rules: [String]

    init(_ entry: JournalEntry) {
        index = entry.index
        time = TimeText.rfc3339(entry.time)
        backend = entry.call.place.backend?.name
        answer = entry.answer
        ended = entry.ending?.rawValue
        method = entry.call.head.methodText
        target = String(decoding: entry.call.target, as: UTF8.self)
        headers = entry.call.head.headerFields.map { ($0.name.text, $0.value.text) }
        body = entry.call.body
        route = entry.call.place.route
        status = entry.status
        rules = entry.decision?.rules ?? []
    }

    /// The value of the request's first header field of that name, whatever its case.
    public func header(_ name: String) -> String? { headers.first { $0.name.lowercased() == name.lowercased() }?.value }

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
