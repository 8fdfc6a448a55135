import PushSimJSONText
import PushSimWebPush
import PushSimWire

/// What registrations without keys get (contract fluxer.md, "Raw registrations"). The published page does not show
/// these: the shape is our reading, and stands here alone.
enum RawMessage {
    /// - Parameter now: seconds since 1970.
    static func apns(_ payload: JSON, _ kind: String, appID: String, now: Int64) -> (headers: [HeaderField], body: JSON)
    {
        let data = payload["data"] ?? .object([])
        var body = data
        let isClear = kind == "clear"
        let tag = payload["tag"]?.string ?? ""
        if !isClear {
            for name in ["title", "body"] {
                if let value = payload[name] { body.set(name, value) }
            }
        }
        body.set("aps", isClear ? ["content-available": 1] : alert(payload, data))
        let headers = [
            HeaderField("apns-push-type", isClear ? "background" : "alert"),
            HeaderField("apns-priority", isClear ? "5" : "10"),
            HeaderField("apns-expiration", String(now + (isClear ? 3600 : 86_400))),
            HeaderField("apns-collapse-id", Shrinking.cut(tag, 64)),
            HeaderField("apns-topic", "chat.fluxer.\(appID)"),
        ]
        return (headers, body)
    }

    private static func alert(_ payload: JSON, _ data: JSON) -> JSON {
        var alert: JSON = .object([])
        for name in ["title", "body"] {
            if let value = payload[name] { alert.set(name, value) }
        }
        var aps: JSON = [
            "alert": alert, "sound": "default", "thread-id": data["notification_tag"] ?? .null,
            "category": "FLUXER_MESSAGE", "interruption-level": "active", "relevance-score": .number("0.5"),
            "badge": data["badge_count"] ?? 0,
        ]
        if data["image_url"] != nil { aps.set("mutable-content", 1) }
        return aps
    }

    static func fcm(_ payload: JSON, _ kind: String, token: String) -> JSON {
        let isClear = kind == "clear"
        var message: JSON = ["token": .string(token)]
        if !isClear {
            var shown: JSON = .object([])
            for name in ["title", "body"] {
                if let value = payload[name] { shown.set(name, value) }
            }
            if let image = payload["image_url"] { shown.set("image", image) }
            message.set("notification", shown)
        }
        let data = payload["data"]?.members ?? []
        message.set("data", .object(data.map { .init($0.name, .string(text($0.value))) }))
        var android: JSON = [
            "priority": isClear ? "NORMAL" : "HIGH", "ttl": isClear ? "3600s" : "86400s",
        ]
        if isClear { android.set("collapse_key", .string("clear:\(payload["tag"]?.string ?? "")")) }
        message.set("android", android)
        return ["message": message]
    }

    /// FCM's data has texts only.
    private static func text(_ value: JSON) -> String { value.string ?? value.description }
}

/// What a phone gets behind a relay: the record as base64url under `p`.
enum RelayMessage {
    enum Form {
        case apns, voip, fcm
    }

    /// The form that a relay's endpoint stands for; nil for other endpoints.
    static func form(_ endpoint: EndpointURL) -> Form? {
        let path = endpoint.target
        if path.starts(with: "/relay/v1/apns-voip/") { return .voip }
        if path.starts(with: "/relay/v1/apns/") { return .apns }
        return path.starts(with: "/relay/v1/fcm/") ? .fcm : nil
    }

    /// The record in the shape of either transport.
    static func shapes(_ record: [UInt8], _ kind: String, isVoIP: Bool) -> JSON {
        [
            "apns": dictionary(isVoIP ? .voip : .apns, kind, record: record),
            "fcm": dictionary(.fcm, kind, record: record),
        ]
    }

    static func dictionary(_ form: Form, _ kind: String, record: [UInt8]) -> JSON {
        let text = JSON.string(Base64.encode(record))
        if form == .fcm { return ["data": ["v": "1", "p": text]] }
        let aps: JSON
        switch (form, kind) {
        case (.voip, _): aps = .object([])
        case (_, "clear"): aps = ["content-available": 1]
        default: aps = ["alert": ["loc-key": "FLUXER_NEW_MESSAGE"], "mutable-content": 1]
        }
        return ["aps": aps, "v": 1, "p": text]
    }
}
