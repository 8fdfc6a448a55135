import PushSimJSONText
import PushSimSimulation
import PushSimWire

extension SunbirdState {
    /// The platform's own sending: what goes to devices is delivered, other modes are only taken.
    func platformSend(_ call: Call, isSync: Bool, _ world: inout World) -> Response {
        do throws(ControlError) {
            let sendings = try read(call, isSync: isSync, &world)
            for sending in sendings { deliver(sending, &world) }
            return envelope(call, &world, status: 200, code: "OK", message: nil)
        } catch {
            return envelope(call, &world, status: 400, code: "CLIENT_ERROR", message: error.description)
        }
    }

    private struct PlatformSending {
        let topic: [UInt8]?
        let tokens: [[UInt8]]
        let notification: SunbirdNotification
    }

    /// All are read before any is sent.
    private func read(
        _ call: Call, isSync: Bool, _ world: inout World
    ) throws(ControlError) -> [PlatformSending] {
        let root: JSONValue
        do throws(GoogleError) {
            root = try object(call)
        } catch {
            throw ControlError(error.message)
        }
        guard let list = root["request"]?["notifications"], list.kind == .array, !list.elements.isEmpty else {
            throw ControlError("must be a list of notifications", path: "$.request.notifications")
        }
        var sendings: [PlatformSending] = []
        for (index, entry) in list.elements.enumerated() {
            let path = "$.request.notifications[\(index)]"
            guard let mode = entry["mode"]?.string else { throw ControlError("must be a text", path: "\(path).mode") }
            guard mode == "device" else { continue }
            let ids = try Self.tokens(entry["ids"], "\(path).ids")
            let given = try Self.topic(entry["config"], "\(path).config")
            if let given, TopicName.checked(given, isStrict: options.isStrict) == nil {
                throw ControlError("\"\(given.text)\" is no name of a topic", path: "\(path).config.topic")
            }
            guard given != nil || !ids.isEmpty || !options.defaultTopic.isEmpty else {
                throw ControlError("needs ids or a config.topic", path: path)
            }
            guard let data = entry["rawData"], data.kind == .object else {
                throw ControlError("must be an object", path: "\(path).rawData")
            }
            // Where both are given the waiting call goes to the ids, the other one to the topic.
            let isToTokens = !ids.isEmpty && (isSync || given == nil)
            let topic = isToTokens ? nil : given.map(TopicName.bare) ?? options.defaultTopic
            let notification = try notification(data, path: "\(path).rawData", &world)
            if notification.afterInstall != nil {
                throw ControlError("is one of the app's own, which nobody sends", path: "\(path).rawData")
            }
            try checkSize(notification, topic == nil ? 4096 : 2048, "\(path).rawData")
            sendings.append(PlatformSending(topic: topic, tokens: isToTokens ? ids : [], notification: notification))
        }
        return sendings
    }

    private static func tokens(_ value: JSONValue?, _ path: String) throws(ControlError) -> [[UInt8]] {
        guard let value, !value.isNull else { return [] }
        let tokens = value.elements.compactMap(\.stringBytes)
        guard value.kind == .array, tokens.count == value.elements.count else {
            throw ControlError("must be a list of texts", path: path)
        }
        return tokens
    }

    private static func topic(_ config: JSONValue?, _ path: String) throws(ControlError) -> [UInt8]? {
        guard let config, !config.isNull else { return nil }
        guard config.kind == .object else {
            throw ControlError("must be an object, not \(config.kindName)", path: path)
        }
        guard let topic = config["topic"], !topic.isNull else { return nil }
        guard let text = topic.stringBytes else {
            throw ControlError("must be a text, not \(topic.kindName)", path: "\(path).topic")
        }
        return text
    }

    private func deliver(_ sending: PlatformSending, _ world: inout World) {
        guard !sending.notification.isOver(world.clock.now) else { return }
        if let topic = sending.topic { _ = send(sending.notification, to: topic, &world) }
        for token in sending.tokens {
            // The platform tells of success though FCM knows no such token.
            guard let device = devices[ByteKey(token)] else { continue }
            _ = dispatch(
                FCMMessage(.token(token), sending.notification.json, isOneText: isOneText), to: [device],
                id: nextMessageID(&world), sender: "sunbird",
                deadline: sending.notification.ends, &world)
        }
    }

    /// As all services of the platform answer.
    func envelope(_ call: Call, _ world: inout World, status: Int, code: String, message: String?) -> Response {
        let id = world.draws.uuid("sunbird message", [], index: call.number)
        let isGood = status < 400
        let params: JSON = [
            "resmsgid": .text(id), "msgid": .text(id), "status": isGood ? "successful" : "failed",
            "err": isGood ? .null : .string(code), "errmsg": message.map { .string($0) } ?? .null,
        ]
        // As the platform writes it: milliseconds, and the offset without a colon.
        let millisecond = world.clock.now.floorDivided(by: 1_000_000) * 1_000_000
        let time = TimeText.rfc3339(millisecond)
        let fraction = time.utf8.contains(46) ? time.dropLast(1) : "\(time.dropLast(1)).000"
        return Self.json(
            [
                "id": "api.notification.send", "ver": "v1", "ts": .string("\(fraction)+0000"), "params": params,
                "responseCode": .string(code), "result": isGood ? ["response": "success"] : .object([]),
            ], status: status)
    }
}
