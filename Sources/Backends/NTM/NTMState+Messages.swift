import PushSimJSONText
import PushSimSimulation
import PushSimWire

/// A notification to the subscribers of a topic, as `POST /__pushsim/ntm/notifications` and `/v1/publish` take it.
struct Notification: Sendable {
    let topic: Topic
    let type: String
    let action: String
    let room: Room
    let roomToken: [UInt8]
    /// Seconds since 1970.
    let roomTokenExpiry: Int64
    let rtcServer: [UInt8]
    /// JSON text.
    var userdata: [UInt8]
    let callerName: String
}

extension NTMState {
    func publish(_ call: Call, _ world: inout World) throws(NTMError) -> Response {
        guard let object = try readFields(call).object else { throw .unreadable("The body is no JSON object.") }
        do throws(ControlError) {
            let deliveries = try notify(object, &world)
            return success([
                "deliveries": .array(
                    deliveries.map {
                        [
                            "id": .string($0.name), "subscriber": .text($0.subscriber ?? []),
                            "transport": .string($0.transport),
                        ]
                    })
            ])
        } catch {
            throw .invalid(error.description)
        }
    }

    /// Sends to all subscribers of the topic, in the order of their subscribing.
    func notify(_ body: JSONValue?, _ world: inout World) throws(ControlError) -> [Delivery] {
        let notification = try read(body, &world)
        notifications += 1
        if notification.type != "cancel" { rooms[notification.topic.name] = notification.room }
        var parcels: [Parcel] = []
        for id in topics[notification.topic.name] ?? [] {
            guard let subscriber = subscribers[ByteKey(id)] else { continue }
            parcels.append(parcel(notification, subscriber, &world))
        }
        world.dispatch(parcels)
        return parcels.map(\.delivery)
    }

    private func read(_ body: JSONValue?, _ world: inout World) throws(ControlError) -> Notification {
        var reader = try MemberReader(body)
        let topicText = try reader.required("topic")
        let type = try reader.string("type") ?? "notify"
        let action = try reader.string("action")
        let roomID = try reader.string("room_id")
        let traceID = try reader.string("trace_id")
        let roomToken = try reader.string("room_token")
        let expiry = try reader.int("room_token_expiry_time")
        let server = try reader.string("rtc_server") ?? "rtc.pushsim.example"
        let caller = try reader.string("cid")
        let name = try reader.string("cname")
        let videoOnly = try reader.bool("isVideoOnly") ?? false
        let userdata = reader.value("userdata")
        try reader.finish()
        guard ["notify", "cancel", "chat"].contains(type) else {
            throw ControlError("must be notify, cancel or chat, not \"\(type)\"", path: "$.type")
        }
        guard let text = Topic.decode(Array(topicText.utf8)[...]),
            let topic = Topic(text, strictPSTN: options.strictPSTN)
        else { throw ControlError("\"\(topicText)\" is no topic", path: "$.topic") }
        let last = type == "cancel" ? rooms[topic.name] : nil
        let number = notifications + 1
        let room = Room(
            roomID: roomID.map { Array($0.utf8) } ?? last?.roomID
                ?? world.draws.uuid("ntm room", [topic.name], index: number),
            traceID: traceID.map { Array($0.utf8) } ?? last?.traceID
                ?? world.draws.uuid("ntm room trace", [topic.name], index: number))
        let callerName = name ?? caller ?? topic.routingID.text
        return Notification(
            topic: topic, type: type, action: action ?? topic.kind, room: room,
            roomToken: roomToken.map { Array($0.utf8) } ?? world.draws.hex("ntm room token", [room.roomID], count: 32),
            roomTokenExpiry: expiry.map(Int64.init) ?? world.clock.now.floorDivided(by: 1_000_000_000) + 3600,
            rtcServer: Array(server.utf8),
            userdata: try Self.userdata(userdata, topic, caller ?? topic.routingID.text, callerName, videoOnly),
            callerName: callerName)
    }

    /// JSON text: what was given, or the shape that the documentation shows.
    private static func userdata(
        _ given: JSONValue?, _ topic: Topic, _ caller: String, _ name: String, _ videoOnly: Bool
    ) throws(ControlError) -> [UInt8] {
        if let given {
            if let text = given.stringBytes { return text }
            guard given.kind == .object else { throw ControlError("must be an object or a text", path: "$.userdata") }
            return JSON(given).bytes
        }
        let data: JSON = ["cid": .string(caller), "cname": .string(name), "isVideoOnly": .bool(videoOnly)]
        let about: JSON = ["topic": .text(topic.parent), "type": .string(topic.kind)]
        return JSON.object([.init("data", data), .init("notification", about)]).bytes
    }

    /// Nothing is sent to a deregistered subscriber or a revoked topic.
    func mayReach(_ delivery: Delivery) -> Bool {
        guard let id = delivery.subscriber, let subscriber = subscribers[ByteKey(id)] else { return false }
        return subscriber.subscriptions.contains { $0.topic.name == delivery.topic }
    }

    private func parcel(_ notification: Notification, _ subscriber: Subscriber, _ world: inout World) -> Parcel {
        let subscription = subscriber.subscriptions.first { $0.topic.name == notification.topic.name }
        let proto = subscriber.key.proto
        let transport = proto == Array("xmpp") ? "xmpp" : proto == Array("apns") ? "apns" : "fcm"
        let delivery = Delivery(
            id: world.reserveDelivery(), backend: "ntm", kind: notification.type, transport: transport,
            token: subscriber.key.token)
        delivery.subscriber = subscriber.id
        delivery.account = subscriber.account
        delivery.topic = notification.topic.name
        let (apnTopic, template) = (subscription?.apnTopic, world.templates["ntm.apns"])
        return Parcel(delivery, retries: .usual) { delivery, shaping in
            Self.make(delivery, notification, apnTopic, template, shaping.actions.payload)
            return true
        }
    }

    private static func make(
        _ delivery: Delivery, _ notification: Notification, _ apnTopic: [UInt8]?, _ template: [UInt8]?,
        _ payload: DeliveryActions.Payload?
    ) {
        var notification = notification
        if let userdata = payload?.userdata { notification.userdata = userdata }
        delivery.plaintext = notification.userdata
        if delivery.transport == "xmpp" {
            delivery.body = Stanza.text(notification, to: delivery.token)
            return
        }
        let isVoIP = apnTopic.map { $0.suffix(5) == Array(".voip")[...] } ?? false
        var dictionary = APNsMessage.dictionary(notification, isVoIP: isVoIP, template: template)
        payload?.apply(to: &dictionary)
        delivery.dictionary = dictionary
        delivery.body = dictionary.bytes
        if delivery.transport == "apns" {
            delivery.headers = APNsMessage.headers(notification, isVoIP: isVoIP, apnTopic)
        }
    }
}

/// The dictionary that an app is handed. No public example of it exists: this is our reading of the documentation, and
/// the template `ntm.apns` of the configuration can replace it.
enum APNsMessage {
    static func dictionary(_ notification: Notification, isVoIP: Bool, template: [UInt8]?) -> JSON {
        let aps: JSON =
            isVoIP
            ? .object([])
            : [
                "alert": ["title": .string(notification.callerName), "body": .string(notification.type)],
                "sound": "default",
            ]
        var values: JSON = ["aps": aps, "type": .string(notification.type)]
        values.set("trace_id", .text(notification.room.traceID))
        values.set("room_id", .text(notification.room.roomID))
        values.set("room_token", .text(notification.roomToken))
        values.set("room_token_expiry_time", .int(notification.roomTokenExpiry))
        values.set("to_routing_id", .text(notification.topic.routingID))
        values.set("rtc_server", .text(notification.rtcServer))
        values.set("userdata", .text(notification.userdata))
        guard let template, let document = try? JSONDocument(template) else { return values }
        return fill(JSON(document.root), values)
    }

    /// A text that is `{{name}}` alone becomes the value; within a longer text it becomes the value's text.
    private static func fill(_ template: JSON, _ values: JSON) -> JSON {
        switch template {
        case .array(let elements): return .array(elements.map { fill($0, values) })
        case .object(let members): return .object(members.map { .init($0.name, fill($0.value, values)) })
        case .string(let text):
            for member in values.members ?? [] where text.utf8.elementsEqual("{{\(member.name)}}".utf8) {
                return member.value
            }
            return .text(fill(Array(text.utf8), values))
        default: return template
        }
    }

    /// In one pass: what a value brings along is not filled in turn.
    private static func fill(_ text: [UInt8], _ values: JSON) -> [UInt8] {
        var out: [UInt8] = []
        var rest = text[...]
        while let first = rest.first {
            let found = values.members?.first { rest.starts(with: "{{\($0.name)}}".utf8) }
            if let found {
                out += (found.value.string ?? found.value.description).utf8
                rest = rest.dropFirst(found.name.utf8.count + 4)
            } else {
                out.append(first)
                rest = rest.dropFirst()
            }
        }
        return out
    }

    static func headers(_ notification: Notification, isVoIP: Bool, _ topic: [UInt8]?) -> [HeaderField] {
        var fields = [
            HeaderField(Array("apns-id"), notification.room.traceID),
            HeaderField("apns-push-type", isVoIP ? "voip" : "alert"), HeaderField("apns-priority", "10"),
            HeaderField("apns-expiration", "0"),
        ]
        if let topic { fields.append(HeaderField(Array("apns-topic"), topic)) }
        return fields
    }
}

/// The stanza that an XMPP subscriber gets.
enum Stanza {
    static func text(_ notification: Notification, to routingID: [UInt8]) -> [UInt8] {
        var out = Array<UInt8>("<iq type=\"set\" to=\"") + escape(routingID) + Array("\" id=\"")
        out += escape(notification.room.traceID)
        out += Array("\"><query xmlns=\"jabber:iq:private\"><data xmlns=\"urn:xmpp:comcast:info\"")
        let attributes: [(StaticString, [UInt8])] = [
            ("type", Array(notification.type.utf8)), ("action", Array(notification.action.utf8)),
            ("roomid", notification.room.roomID), ("routingid", notification.topic.routingID),
            ("rtcserver", notification.rtcServer), ("traceid", notification.room.traceID),
            ("roomtoken", notification.roomToken),
            ("roomtokenexpirytime", Array(String(notification.roomTokenExpiry).utf8)),
            ("userdata", notification.userdata),
        ]
        for (name, value) in attributes {
            out.append(32)
            out += Array<UInt8>(name)
            out += Array("=\"")
            out += escape(value)
            out.append(34)
        }
        return out + Array("/></query></iq>")
    }

    /// Also what an attribute would lose to normalisation (XML 1.0 section 3.3.3). Characters that XML cannot hold
    /// become U+FFFD.
    private static func escape(_ text: [UInt8]) -> [UInt8] {
        var out: [UInt8] = []
        for byte in text {
            switch byte {
            case 38: out += Array("&amp;")
            case 60: out += Array("&lt;")
            case 62: out += Array("&gt;")
            case 34: out += Array("&quot;")
            case 39: out += Array("&apos;")
            case 9: out += Array("&#9;")
            case 10: out += Array("&#10;")
            case 13: out += Array("&#13;")
            case 0..<32: out += Array("\u{FFFD}")
            default: out.append(byte)
            }
        }
        return out
    }
}
