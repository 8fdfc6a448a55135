import PushSimJSONText
import PushSimSimulation
import PushSimWire

/// A message as FCM takes it, and how a notification travels in it.
struct FCMMessage: Sendable {
    enum Target: Sendable {
        case token([UInt8])
        case topic([UInt8])
        case condition(TopicCondition)
    }

    enum Carriage: Sendable {
        /// As one JSON text under the key `payload`.
        case oneText
        /// The data is the notification, each value as text.
        case values
        /// The data is no notification.
        case none
    }

    let target: Target
    private(set) var data: JSON
    let notification: JSON?
    let carriage: Carriage
    /// What the data stands for.
    private(set) var payload: JSON?

    /// Of a sender whose data may or may not be a notification.
    /// - Parameters:
    ///   - mayBeValues: whether data without the key `payload` is one.
    ///   - hasTexts: whether its values are texts to the app, too.
    init(_ target: Target, data: JSON, notification: JSON?, mayBeValues: Bool, hasTexts: Bool) {
        self.target = target
        self.data = data
        self.notification = notification
        let text = mayBeValues ? nil : data["payload"]?.string
        if let root = text.flatMap({ try? JSONDocument($0) })?.root, root.kind == .object {
            (carriage, payload) = (.oneText, JSON(root))
        } else {
            (carriage, payload) = mayBeValues ? (.values, hasTexts ? data : Self.assembled(data)) : (.none, nil)
        }
    }

    /// A notification of Sunbird's.
    init(_ target: Target, _ payload: JSON, isOneText: Bool) {
        self.target = target
        self.payload = payload
        notification = nil
        carriage = isOneText ? .oneText : .values
        data = isOneText ? ["payload": .string(payload.description)] : Self.texts(payload)
    }

    /// FCM's data has texts only.
    private static func texts(_ payload: JSON) -> JSON {
        .object((payload.members ?? []).map { .init($0.name, .string($0.value.string ?? $0.value.description)) })
    }

    /// Values that were numbers and objects before they became texts.
    private static func assembled(_ data: JSON) -> JSON {
        let members = (data.members ?? []).map { member -> JSON.Member in
            guard ["id", "type", "expiry", "actiondata", "translations"].contains(member.name),
                let text = member.value.string, let root = (try? JSONDocument(text))?.root, root.kind != .string
            else { return member }
            return .init(member.name, JSON(root))
        }
        return .object(members)
    }

    /// Has a profile change what the data stands for, or the data where it stands for nothing.
    mutating func change(_ change: DeliveryActions.Payload) {
        guard var own = payload else {
            change.apply(to: &data)
            data = Self.texts(data)
            return
        }
        change.apply(to: &own)
        let name = own["actionData"] == nil ? "actiondata" : "actionData"
        switch change.actiondata {
        case .notJSON: own.set(name, "{not JSON")
        case .object:
            if let root = own[name]?.string.flatMap({ try? JSONDocument($0) })?.root { own.set(name, JSON(root)) }
        case nil: break
        }
        let before = payload
        payload = own
        if case .oneText = carriage {
            data.set("payload", .string(own.description))
        } else {
            let sent = data
            data = Self.texts(own)
            // What is not changed stays as it was written.
            for member in own.members ?? [] where before?[member.name] == member.value {
                if let text = sent[member.name] { data.set(member.name, text) }
            }
            // What FCM itself cannot carry: apps meet it where something stands between.
            if change.actiondata == .object, let action = own[name] { data.set(name, action) }
        }
    }

    /// What the app is handed.
    func dictionary(id: [UInt8], sender: String) -> JSON {
        var from = sender
        if case .topic(let topic) = target { from = "/topics/\(topic.text)" }
        var message: JSON = ["from": .string(from), "message_id": .text(id), "data": data]
        if let notification { message.set("notification", notification) }
        return message
    }

    /// Octets of names and values, by which FCM limits a message.
    var size: Int {
        let pairs = (data.members ?? []).reduce(0) { $0 + $1.name.utf8.count + ($1.value.string?.utf8.count ?? 0) }
        return pairs + (notification?.bytes.count ?? 0)
    }

    /// 4,096 octets to a token, 2,048 to a topic.
    var limit: Int { if case .token = target { 4096 } else { 2048 } }

    /// The first key of the data that FCM keeps for itself.
    var reservedKey: String? {
        data.members?.map(\.name).first { $0 == "from" || $0.hasPrefix("gcm") || $0.hasPrefix("google") }
    }
}

/// Reads what senders give FCM.
enum FCMReader {
    private static let known = [
        "token", "topic", "condition", "data", "notification", "android", "apns", "webpush", "fcm_options",
        "fcmOptions", "name",
    ]

    /// To protobuf's JSON null is absent.
    static func member(_ value: JSONValue, _ name: StaticString) -> JSONValue? {
        value[name].flatMap { $0.isNull ? nil : $0 }
    }

    static func unknown(_ name: String, _ place: String) -> GoogleError {
        let at = place.isEmpty ? "" : " at '\(place)'"
        return .malformed("Invalid JSON payload received. Unknown name \"\(name)\"\(at): Cannot find field.", place)
    }

    /// Of FCM v1: token, topic or condition, and only members that it has.
    /// - Parameter isStrict: whether names of topics must be as FCM has them.
    static func target(_ message: JSONValue, isStrict: Bool) throws(GoogleError) -> FCMMessage.Target {
        for member in message.members where !known.contains(member.name) { throw unknown(member.name, "message") }
        let given = (member(message, "token"), member(message, "topic"), member(message, "condition"))
        switch given {
        case (let token?, nil, nil): return .token(try text(token, "message.token"))
        case (nil, let topic?, nil): return .topic(try text(topic, "message.topic"))
        case (nil, nil, let condition?):
            return .condition(try self.condition(condition, "message.condition", isStrict: isStrict))
        default: throw .invalid("message", "Exactly one of token, topic and condition must be given.")
        }
    }

    static func condition(
        _ value: JSONValue, _ path: String, isStrict: Bool
    ) throws(GoogleError) -> TopicCondition {
        let text = try text(value, path)
        do throws(TopicCondition.Mistake) {
            return try TopicCondition(text, isStrict: isStrict)
        } catch {
            throw .invalid(path, "Invalid condition expression provided: \(error.message).")
        }
    }

    private static func text(_ value: JSONValue, _ path: String) throws(GoogleError) -> [UInt8] {
        guard let text = value.stringBytes else { throw .malformed("Invalid value at '\(path)' (TYPE_STRING)", path) }
        return text
    }

    /// Texts only, under names that FCM leaves to others.
    static func data(_ value: JSONValue?, _ path: String) throws(GoogleError) -> JSON {
        guard let value else { return .object([]) }
        guard value.kind == .object else { throw .malformed("The data must be an object of texts.", path) }
        for (index, member) in value.members.enumerated() {
            guard member.value.kind == .string else {
                let place = "\(path)[\(index)].value"
                throw .invalid(place, "Invalid value at '\(place)' (TYPE_STRING)")
            }
        }
        return JSON(value)
    }

    static func notification(_ value: JSONValue?, _ path: String) throws(GoogleError) -> JSON? {
        guard let value else { return nil }
        guard value.kind == .object else { throw .malformed("The notification must be an object.", path) }
        return JSON(value)
    }
}
