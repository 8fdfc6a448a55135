import PushSimJSONText
import PushSimSimulation
import PushSimWire

/// A message as FCM takes it.
struct FCMMessage: Sendable {
    enum Target: Sendable {
        case token([UInt8])
        case topic([UInt8])
    }

    let target: Target
    var data: JSON
    let notification: JSON?

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
}

extension SunbirdState {
    // MARK: FCM v1

    func sendMessage(
        _ parameters: [ArraySlice<UInt8>], _ call: Call, _ world: inout World
    ) throws(GoogleError) -> Response {
        let project = parameters.first.flatMap { Percent.decode($0) } ?? []
        let root = try object(call)
        for member in root.members where !["message", "validate_only", "validateOnly"].contains(member.name) {
            throw Self.unknown(member.name, "")
        }
        let isTrial = root["validate_only"]?.bool ?? root["validateOnly"]?.bool ?? false
        guard let given = root["message"], given.kind == .object else {
            throw .invalid("message", "The message is missing.")
        }
        let message = try read(given, call, &world)
        let devices = try receivers(message)
        if isTrial { return Self.json(["name": .string("projects/\(project.text)/messages/fake_message_id")]) }
        let id = nextMessageID(&world)
        _ = dispatch(message, to: devices, id: id, sender: project.text, &world)
        return Self.json(["name": .string("projects/\(project.text)/messages/\(id.text)")])
    }

    private static func unknown(_ name: String, _ place: String) -> GoogleError {
        .invalid(
            place,
            "Invalid JSON payload received. Unknown name \"\(name)\"\(place.isEmpty ? "" : " at '\(place)'"): Cannot find field."
        )
    }

    private static let known = [
        "token", "topic", "condition", "data", "notification", "android", "apns", "webpush", "fcm_options",
        "fcmOptions", "name",
    ]

    private func read(
        _ given: JSONValue, _ call: Call, _ world: inout World
    ) throws(GoogleError) -> FCMMessage {
        for member in given.members where !Self.known.contains(member.name) {
            throw Self.unknown(member.name, "message")
        }
        let target: FCMMessage.Target
        switch (given["token"]?.stringBytes, given["topic"]?.stringBytes) {
        case (let token?, nil) where given["condition"] == nil: target = .token(token)
        case (nil, let name?) where given["condition"] == nil:
            target = .topic(try topic(name, "message.topic", call, &world))
        case (nil, nil) where given["condition"] != nil:
            throw .invalid("message.condition", "Conditions are not known here: send to a token or a topic.")
        default: throw .invalid("message", "Exactly one of token, topic and condition must be given.")
        }
        let message = FCMMessage(
            target: target, data: try Self.data(given["data"], "message.data"),
            notification: given["notification"].map { JSON($0) })
        guard message.size <= message.limit else {
            throw .invalid("message", "The message has \(message.size) octets, and may have \(message.limit).")
        }
        return message
    }

    /// Texts only, under names that FCM leaves to others.
    private static func data(_ value: JSONValue?, _ path: String) throws(GoogleError) -> JSON {
        guard let value else { return .object([]) }
        guard value.kind == .object else { throw .invalid(path, "The data must be an object of texts.") }
        for (index, member) in value.members.enumerated() {
            guard member.value.kind == .string else {
                throw .invalid("\(path)[\(index)].value", "Invalid value at '\(path)[\(index)].value' (TYPE_STRING)")
            }
            if member.name == "from" || member.name.hasPrefix("gcm") || member.name.hasPrefix("google") {
                throw .invalid("\(path)", "Invalid data payload key: \(member.name)")
            }
        }
        return JSON(value)
    }

    private func receivers(_ message: FCMMessage) throws(GoogleError) -> [FCMDevice] {
        switch message.target {
        case .topic(let topic): return receivers(of: topic)
        case .token(let token):
            guard DeviceToken.isWellFormed(token) else {
                throw .invalid("message.token", "The registration token is not a valid FCM registration token")
            }
            guard let device = devices[ByteKey(token)] else { throw .unregistered }
            return [device]
        }
    }

    /// All known tokens are on the default topic.
    func receivers(of topic: [UInt8]) -> [FCMDevice] {
        if !topic.isEmpty, topic.isSame(as: options.defaultTopic) { return order }
        return topics[ByteKey(topic)] ?? []
    }

    /// 19 digits, as FCM's are.
    func nextMessageID(_ world: inout World) -> [UInt8] {
        messages += 1
        let drawn = world.draws.octets("fcm message", [], index: messages).prefix(8)
        let number = drawn.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Array(String(1_000_000_000_000_000_000 + number % 8_000_000_000_000_000_000).utf8)
    }

    // MARK: FCM's legacy sending

    func sendLegacy(_ call: Call, _ world: inout World) throws(GoogleError) -> Response {
        if options.isLegacyOver { return Self.text("DeprecatedApi", status: 404) }
        let root = try object(call)
        let data = try Self.data(root["data"], "data")
        let notification = root["notification"].map { JSON($0) }
        if let to = root["to"]?.stringBytes, to.starts(with: TopicName.prefix) {
            let message = FCMMessage(
                target: .topic(try topic(to, "to", call, &world)), data: data, notification: notification)
            let id = nextMessageID(&world)
            _ = dispatch(message, to: try receivers(message), id: id, sender: "legacy", &world)
            return Self.json(["message_id": .number(id.text)])
        }
        let tokens = (root["to"].map { [$0] } ?? root["registration_ids"]?.elements ?? []).map { $0.stringBytes ?? [] }
        guard !tokens.isEmpty, tokens.count <= Self.mostTokens else {
            return Self.text("MissingRegistration", status: 400)
        }
        var results: [JSON] = []
        var failures = 0
        for token in tokens {
            let message = FCMMessage(target: .token(token), data: data, notification: notification)
            if let problem = legacyProblem(message, token) {
                failures += 1
                results.append(["error": .string(problem)])
            } else if let device = devices[ByteKey(token)] {
                let id = nextMessageID(&world)
                _ = dispatch(message, to: [device], id: id, sender: "legacy", &world)
                results.append(["message_id": .text(id)])
            }
        }
        let multicast = nextMessageID(&world)
        return Self.json([
            "multicast_id": .number(multicast.text), "success": .int(tokens.count - failures),
            "failure": .int(failures), "canonical_ids": 0, "results": .array(results),
        ])
    }

    private func legacyProblem(_ message: FCMMessage, _ token: [UInt8]) -> String? {
        if !DeviceToken.isWellFormed(token) { return "InvalidRegistration" }
        if message.size > message.limit { return "MessageTooBig" }
        return devices[ByteKey(token)] == nil ? "NotRegistered" : nil
    }

    // MARK: deliveries

    /// - Parameter payload: the notification that the data stands for, where that is known.
    func dispatch(
        _ message: FCMMessage, to devices: [FCMDevice], id: [UInt8], sender: String, payload: JSON? = nil,
        _ world: inout World
    ) -> [Delivery] {
        let payload = payload ?? Self.payload(in: message.data)
        let parcels = devices.map { device in
            let delivery = Delivery(
                id: world.reserveDelivery(), backend: "sunbird", kind: "broadcast", transport: "fcm",
                token: device.token)
            if case .topic(let topic) = message.target { delivery.topic = topic }
            let isOneText = options.isOneText
            return Parcel(delivery, retries: .usual) { delivery, shaping in
                Self.make(delivery, message, id, sender, payload, isOneText, shaping.actions.payload)
                return true
            }
        }
        world.dispatch(parcels)
        return parcels.map(\.delivery)
    }

    private static func make(
        _ delivery: Delivery, _ message: FCMMessage, _ id: [UInt8], _ sender: String, _ payload: JSON?,
        _ isOneText: Bool, _ change: DeliveryActions.Payload?
    ) {
        var (message, payload) = (message, payload)
        if let change {
            if var own = payload {
                change.apply(to: &own)
                payload = own
                message.data = data(own, isOneText: message.data["payload"] != nil)
            } else {
                change.apply(to: &message.data)
            }
        }
        let dictionary = message.dictionary(id: id, sender: sender)
        delivery.plaintext = payload?.bytes
        delivery.dictionary = dictionary
        delivery.body = dictionary.bytes
    }

    /// A notification as FCM's data: one JSON text under `payload`, or value by value as text.
    static func data(_ payload: JSON, isOneText: Bool) -> JSON {
        if isOneText { return ["payload": .string(payload.description)] }
        return .object((payload.members ?? []).map { .init($0.name, .string($0.value.string ?? $0.value.description)) })
    }

    private static func payload(in data: JSON) -> JSON? {
        guard let text = data["payload"]?.string, let document = try? JSONDocument(text),
            document.root.kind == .object
        else { return nil }
        return JSON(document.root)
    }
}
