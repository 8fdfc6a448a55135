import PushSimJSONText
import PushSimSimulation
import PushSimWire

extension SunbirdState {
    static let mostTopics = 2000
    static let mostTokens = 1000

    /// Why a token is not on a topic now.
    enum TopicFailure: String, Error {
        case notFound = "NOT_FOUND"
        case invalid = "INVALID_ARGUMENT"
        case tooMany = "TOO_MANY_TOPICS"
    }

    /// The device of a token, known from now on.
    /// - Parameter now: nanoseconds since 1970.
    func device(_ token: [UInt8], _ now: Int64) throws(TopicFailure) -> FCMDevice {
        guard DeviceToken.isWellFormed(token) else { throw .invalid }
        if let device = devices[ByteKey(token)] { return device }
        guard !lost.contains(ByteKey(token)) else { throw .notFound }
        let device = FCMDevice(token, sequence: nextSequence, since: now)
        add(device)
        return device
    }

    func add(_ device: FCMDevice) {
        devices[ByteKey(device.token)] = device
        order.append(device)
        nextSequence = device.sequence + 1
    }

    func subscribe(_ token: [UInt8], _ topic: [UInt8], _ world: inout World) throws(TopicFailure) {
        let device = try device(token, world.clock.now)
        if device.isOn(topic) { return }
        guard device.subscriptions.count < Self.mostTopics else { throw .tooMany }
        device.subscriptions.append(.init(topic: topic, since: world.clock.now))
        topics[ByteKey(topic), default: []].append(device)
    }

    func unsubscribe(_ device: FCMDevice, _ topic: [UInt8]) {
        device.subscriptions.removeAll { $0.topic.isSame(as: topic) }
        topics[ByteKey(topic)]?.removeAll { $0 === device }
        if topics[ByteKey(topic)]?.isEmpty == true { topics[ByteKey(topic)] = nil }
    }

    func forget(_ token: [UInt8], asLost: Bool) {
        guard let device = devices.removeValue(forKey: ByteKey(token)) else { return }
        for subscription in device.subscriptions { unsubscribe(device, subscription.topic) }
        order.removeAll { $0 === device }
        if asLost { lost.insert(ByteKey(token)) }
    }

    /// The name in a call.
    func topic(_ given: [UInt8], _ field: String) throws(GoogleError) -> [UInt8] {
        guard let topic = TopicName.checked(given, isStrict: options.isStrict) else {
            throw .invalid(field, "Invalid topic name: \"\(given.text)\". It must match [a-zA-Z0-9-_.~%]{1,900}.")
        }
        return topic
    }

    /// The name of a topic that somebody goes on or off; one that is none is noted in the ledger.
    private func topic(
        _ given: [UInt8], _ field: String, isAdding: Bool, _ call: Call, _ world: inout World
    ) throws(GoogleError) -> [UInt8] {
        do throws(GoogleError) {
            return try topic(given, field)
        } catch {
            if isAdding { broken(.topics, call.index, "\"\(given.text)\" is no name of a topic.", &world) }
            throw error
        }
    }

    // MARK: the service of topics

    func batch(_ call: Call, isAdding: Bool, _ world: inout World) throws(GoogleError) -> Response {
        let root = try object(call)
        guard let to = root["to"]?.stringBytes else { throw .invalid("to", "\"to\" must be a topic.") }
        guard let list = root["registration_tokens"], list.kind == .array, !list.elements.isEmpty else {
            throw .invalid("registration_tokens", "\"registration_tokens\" must be a list of tokens.")
        }
        let tokens = list.elements
        guard tokens.count <= Self.mostTokens else {
            throw .invalid("registration_tokens", "\(tokens.count) tokens are more than \(Self.mostTokens).")
        }
        let topic = try topic(to, "to", isAdding: isAdding, call, &world)
        var results: [JSON] = []
        for token in tokens {
            let failure = change(token.stringBytes ?? [], topic, isAdding: isAdding, call, &world)
            results.append(failure.map { ["error": .string($0.rawValue)] } ?? .object([]))
        }
        return Self.json(["results": .array(results)])
    }

    private func change(
        _ token: [UInt8], _ topic: [UInt8], isAdding: Bool, _ call: Call, _ world: inout World
    ) -> TopicFailure? {
        noteUse(of: token, call.index, &world)
        do throws(TopicFailure) {
            if isAdding {
                try subscribe(token, topic, &world)
                if let device = devices[ByteKey(token)], device.tenant.map(device.isOn) ?? true { met(.topics, &world) }
            } else if !DeviceToken.isWellFormed(token) {
                throw .invalid
            } else if let device = devices[ByteKey(token)] {
                noteLeaving(device, topic, &world)
                unsubscribe(device, topic)
            }
            return nil
        } catch {
            return error
        }
    }

    /// One token, which the path names.
    private func change(
        _ rawToken: ArraySlice<UInt8>?, _ given: [UInt8], isAdding: Bool, _ call: Call, _ world: inout World
    ) throws(GoogleError) -> Response {
        let token = rawToken.map(TopicName.decoded) ?? []
        let topic = try topic(given, "topic", isAdding: isAdding, call, &world)
        switch change(token, topic, isAdding: isAdding, call, &world) {
        case nil: return Self.json(.object([]))
        case .notFound: throw .unregistered
        case .invalid: throw .invalid("token", "\"\(token.text)\" is no registration token.")
        case .tooMany: throw Self.tooManyTopics
        }
    }

    private static let tooManyTopics = GoogleError(
        status: 400, name: "INVALID_ARGUMENT", message: "A token has at most \(mostTopics) topics.",
        code: TopicFailure.tooMany.rawValue)

    func relate(
        _ parameters: [ArraySlice<UInt8>], _ call: Call, _ world: inout World
    ) throws(GoogleError) -> Response {
        let topic = parameters.last.map(TopicName.decoded) ?? []
        return try change(parameters.first, topic, isAdding: true, call, &world)
    }

    func changeTopic(
        _ parameters: [ArraySlice<UInt8>], _ call: Call, _ world: inout World
    ) throws(GoogleError) -> Response {
        guard let (topic, isAdding) = parameters.last.flatMap({ TopicName.withVerb($0) }) else {
            throw GoogleError(
                status: 404, name: "NOT_FOUND", message: "The methods are :subscribe and :unsubscribe of a topic.")
        }
        return try change(parameters.dropFirst().first, topic, isAdding: isAdding, call, &world)
    }

    func info(_ parameters: [ArraySlice<UInt8>], _ call: Call) throws(GoogleError) -> Response {
        let token = parameters.first.map(TopicName.decoded) ?? []
        guard DeviceToken.isWellFormed(token) else {
            throw .invalid("token", "\"\(token.text)\" is no registration token.")
        }
        guard let device = devices[ByteKey(token)] else { throw .unregistered }
        var body: JSON = ["platform": "ANDROID"]
        let isDetailed = (Percent.form(call.query ?? []) ?? []).contains { pair in
            pair.name.isSame(as: "details") && pair.value.isSame(as: "true")
        }
        if isDetailed {
            var names: JSON = .object([])
            let isOnDefault = !options.defaultTopic.isEmpty && !device.isOn(options.defaultTopic)
            let own: [FCMDevice.Subscription] =
                isOnDefault ? [.init(topic: options.defaultTopic, since: device.since)] : []
            for subscription in own + device.subscriptions {
                let date = TimeText.rfc3339(subscription.since).prefix(10)
                names.set(subscription.topic.text, ["addDate": .string(String(date))])
            }
            body.set("rel", ["topics": names])
        }
        return Self.json(body)
    }

    /// A device's own call: it registers, subscribes, or leaves.
    func register(_ call: Call, _ world: inout World) throws(GoogleError) -> Response {
        guard let form = DeviceForm(call) else {
            throw GoogleError(
                status: 400, name: "INVALID_PARAMETERS", message: "The body is no form.", code: "INVALID_PARAMETERS")
        }
        let token = form.token ?? current(Self.newToken(form.identity, &world))
        guard let given = form.topic else {
            if form.isDeleting {
                forget(token, asLost: true)
                return Self.text("token=\(token.text)")
            }
            let living = successor(of: token, &world)
            (try? device(living, world.clock.now))?.isUnused = false
            return Self.text("token=\(living.text)")
        }
        let topic = try topic(given, "X-gcm.topic", isAdding: !form.isDeleting, call, &world)
        switch change(token, topic, isAdding: !form.isDeleting, call, &world) {
        case nil: return Self.text("token=\(token.text)")
        case .notFound: throw .unregistered
        case .invalid: throw .invalid("sender", "\"\(token.text)\" is no registration token.")
        case .tooMany: throw Self.tooManyTopics
        }
    }

    /// The same for the same device, app and sender.
    static func newToken(_ identity: [[UInt8]], _ world: inout World) -> [UInt8] {
        let head = world.draws.hex("fcm instance", identity, count: 22)
        let tail =
            world.draws.hex("fcm token", identity, count: 64)
            + world.draws.hex("fcm token", identity, index: 1, count: 64)
        return head + Array(":APA91b".utf8) + tail
    }
}
