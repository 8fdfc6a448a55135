import PushSimJSONText
import PushSimSimulation
import PushSimWire

extension SunbirdState {
    // MARK: FCM v1

    func sendMessage(
        _ parameters: [ArraySlice<UInt8>], _ call: Call, _ world: inout World
    ) throws(GoogleError) -> Response {
        let project = parameters.first.map(TopicName.decoded) ?? []
        let root = try object(call)
        for member in root.members where !["message", "validate_only", "validateOnly"].contains(member.name) {
            throw FCMReader.unknown(member.name, "")
        }
        let trial = FCMReader.member(root, "validate_only") ?? FCMReader.member(root, "validateOnly")
        if let trial, trial.bool == nil {
            throw .malformed("Invalid value at 'validate_only' (TYPE_BOOL)", "validate_only")
        }
        guard let given = root["message"], given.kind == .object else {
            throw .invalid("message", "The message is missing.")
        }
        let message = try read(given)
        let devices = try receivers(message)
        var id = Array("fake_message_id".utf8)
        if trial?.bool != true {
            id = nextMessageID(&world)
            _ = dispatch(message, to: devices, id: id, sender: project.text, &world)
        }
        return Self.json(["name": .string("projects/\(project.text)/messages/\(id.text)")])
    }

    private func read(_ given: JSONValue) throws(GoogleError) -> FCMMessage {
        var target = try FCMReader.target(given, isStrict: options.isStrict)
        if case .topic(let name) = target { target = .topic(try topic(name, "message.topic")) }
        let message = try raw(target, given, "message.")
        guard message.size <= message.limit else {
            throw .invalid("message", "The message has \(message.size) octets, and may have \(message.limit).")
        }
        return message
    }

    /// A message that somebody sends through FCM itself.
    private func raw(
        _ target: FCMMessage.Target, _ given: JSONValue, _ path: String
    ) throws(GoogleError) -> FCMMessage {
        let message = FCMMessage(
            target, data: try FCMReader.data(FCMReader.member(given, "data"), path + "data"),
            notification: try FCMReader.notification(FCMReader.member(given, "notification"), path + "notification"),
            mayBeValues: !isOneText, hasTexts: options.form == .shipped)
        if let key = message.reservedKey { throw .invalid(path + "data", "Invalid data payload key: \(key)") }
        return message
    }

    private func receivers(_ message: FCMMessage) throws(GoogleError) -> [FCMDevice] {
        switch message.target {
        case .topic(let topic): return receivers(of: topic)
        case .condition(let condition):
            return order.filter { device in
                condition.holds { $0.isSame(as: options.defaultTopic) || device.isOn($0) }
            }
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
        let isTrial = root["dry_run"]?.bool ?? false
        let targets = [root["to"], root["registration_ids"], root["condition"]].count { $0.map { !$0.isNull } ?? false }
        if targets > 1 {
            return Self.text("Must use only one of \"to\", \"registration_ids\" and \"condition\"", status: 400)
        }
        if let target = try legacyTopics(root) {
            let message = try raw(target, root, "")
            if message.size > message.limit { return Self.json(["error": "MessageTooBig"]) }
            let id = nextMessageID(&world)
            if !isTrial { _ = dispatch(message, to: try receivers(message), id: id, sender: "legacy", &world) }
            return Self.json(["message_id": .number(id.text)])
        }
        let tokens = (root["to"].map { [$0] } ?? root["registration_ids"]?.elements ?? []).map { $0.stringBytes ?? [] }
        guard !tokens.isEmpty else { return Self.text("MissingRegistration", status: 400) }
        guard tokens.count <= Self.mostTokens else { return Self.text("Too many registration ids", status: 400) }
        var results: [JSON] = []
        for token in tokens {
            // This sending still reaches who has another token by now, and says which.
            let current = current(token)
            let message = try raw(.token(current), root, "")
            if let problem = legacyProblem(message, current) {
                results.append(["error": .string(problem)])
                continue
            }
            let id = nextMessageID(&world)
            let device = devices[ByteKey(current)].map { [$0] } ?? []
            if !isTrial { _ = dispatch(message, to: device, id: id, sender: "legacy", &world) }
            var result: JSON = ["message_id": .text(id)]
            if current != token { result.set("registration_id", .text(current)) }
            results.append(result)
        }
        let failures = results.count { $0["error"] != nil }
        let multicast = nextMessageID(&world)
        return Self.json([
            "multicast_id": .number(multicast.text), "success": .int(tokens.count - failures),
            "failure": .int(failures), "canonical_ids": .int(results.count { $0["registration_id"] != nil }),
            "results": .array(results),
        ])
    }

    /// Of a message to a topic, or to those whom a condition names.
    private func legacyTopics(_ root: JSONValue) throws(GoogleError) -> FCMMessage.Target? {
        if let to = root["to"]?.stringBytes, to.starts(with: TopicName.prefix) { return .topic(try topic(to, "to")) }
        guard let condition = FCMReader.member(root, "condition") else { return nil }
        return .condition(try FCMReader.condition(condition, "condition", isStrict: options.isStrict))
    }

    private func legacyProblem(_ message: FCMMessage, _ token: [UInt8]) -> String? {
        if !DeviceToken.isWellFormed(token) { return "InvalidRegistration" }
        if message.size > message.limit { return "MessageTooBig" }
        return devices[ByteKey(token)] == nil ? "NotRegistered" : nil
    }

    // MARK: deliveries

    /// - Parameter deadline: from which it is not tried again; nanoseconds since 1970.
    func dispatch(
        _ message: FCMMessage, to devices: [FCMDevice], id: [UInt8], sender: String, deadline: Int64? = nil,
        _ world: inout World
    ) -> [Delivery] {
        var named: [[UInt8]] = []
        switch message.target {
        case .topic(let topic): noteTenants(topic, devices, &world)
        case .condition(let condition):
            named = condition.topics
            for topic in named { noteStrangers(topic, devices, &world) }
        case .token: break
        }
        let parcels = devices.map { device in
            let delivery = Delivery(
                id: world.reserveDelivery(), backend: "sunbird", kind: "broadcast", transport: "fcm",
                token: device.token)
            if case .topic(let topic) = message.target { delivery.topic = topic }
            delivery.conditionTopics = named
            delivery.deadline = deadline
            return Parcel(delivery, retries: Self.retries) { delivery, shaping in
                Self.make(delivery, message, id, sender, shaping.actions.payload)
                return true
            }
        }
        world.dispatch(parcels)
        return parcels.map(\.delivery)
    }

    /// FCM says when to come back.
    private static let retries = RetryPlan(
        waits: RetryPlan.usual.waits, limit: RetryPlan.usual.limit, honoursRetryAfter: true)

    private static func make(
        _ delivery: Delivery, _ message: FCMMessage, _ id: [UInt8], _ sender: String,
        _ change: DeliveryActions.Payload?
    ) {
        var message = message
        if let change { message.change(change) }
        let dictionary = message.dictionary(id: id, sender: sender)
        delivery.plaintext = message.payload?.bytes
        delivery.dictionary = dictionary
        delivery.body = dictionary.bytes
    }
}
