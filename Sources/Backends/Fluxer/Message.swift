import PushSimJSONText
import PushSimWire

/// What is to be pushed, before it is written for an account.
struct Message: Sendable {
    enum Content: Sendable {
        case notification(Notice)
        case clear(badgeCount: Int)
        case ring(Ring)
    }

    struct Notice: Sendable {
        let title: String
        let body: String
        let icon: String
        let imageURL: String?
        let guildID: String?
    }

    struct Ring: Sendable {
        let callerID: String?
        let callerName: String?
        let avatarURL: String?
        /// Milliseconds since 1970.
        let startedAt: Int64
    }

    /// How long a ring rings.
    static let ringTime: Int64 = 30_000

    let channelID: String
    let messageID: String
    let content: Content

    var kind: String {
        switch content {
        case .notification: "notification"
        case .clear: "clear"
        case .ring: "ring"
        }
    }

    /// The largest plaintext, in octets of compact JSON (contract webpush.md, 1.3).
    static let limit = 2713

    /// The plaintext for one account, shrunk until it fits.
    func payload(account: String, badgeCount: Int) -> JSON {
        switch content {
        case .notification(let notice):
            return Shrinking.notification(self.notification(notice, account, badgeCount))
        case .clear(let count): return Shrinking.notification(clear(account, count))
        case .ring(let ring): return Shrinking.ring(self.ring(ring, account))
        }
    }

    /// The channel's tag, by which a clear finds its notifications.
    private var channelTag: String { "channel:\(channelID)" }

    private func url(_ guildID: String?) -> String { "/channels/\(guildID ?? "@me")/\(channelID)/\(messageID)" }

    private static let badge = "https://cdn.pushsim.example/badge.png"
    static let icon = "https://cdn.pushsim.example/icon.png"

    private func notification(_ notice: Notice, _ account: String, _ badgeCount: Int) -> JSON {
        let tag = "channel:\(channelID):\(messageID)"
        var data: JSON = [
            "channel_id": .string(channelID), "message_id": .string(messageID),
            "guild_id": notice.guildID.map { .string($0) } ?? .null, "target_user_id": .string(account),
            "url": .string(url(notice.guildID)), "notification_tag": .string(channelTag),
            "badge_count": .int(badgeCount), "has_media": .bool(notice.imageURL != nil),
            "author_avatar_url": .string(notice.icon),
        ]
        Self.setImage(notice, &data)
        var shown: JSON = [
            "title": .string(notice.title), "body": .string(notice.body), "icon": .string(notice.icon),
            "badge": .string(Self.badge), "tag": .string(tag), "navigate": .string(url(notice.guildID)),
            "app_badge": .string(String(badgeCount)), "data": data,
        ]
        Self.setImage(notice, &shown)
        var payload: JSON = [
            "web_push": 8030, "title": .string(notice.title), "body": .string(notice.body),
            "icon": .string(notice.icon), "badge": .string(Self.badge), "tag": .string(tag), "data": data,
            "notification": shown,
        ]
        Self.setImage(notice, &payload)
        return payload
    }

    private static func setImage(_ notice: Notice, _ json: inout JSON) {
        guard let image = notice.imageURL else { return }
        json.set("image_url", .string(image))
        json.set("image", .string(image))
    }

    private func clear(_ account: String, _ badgeCount: Int) -> JSON {
        let data: JSON = [
            "type": "notification_clear", "action": "clear_channel", "channel_id": .string(channelID),
            "message_id": .string(messageID), "target_user_id": .string(account),
            "notification_tag": .string(channelTag), "tag": .string(channelTag), "badge_count": .int(badgeCount),
        ]
        return [
            "web_push": 8030, "type": "notification_clear", "action": "clear_channel", "silent": true,
            "tag": .string(channelTag), "notification_tag": .string(channelTag), "badge_count": .int(badgeCount),
            "data": data,
            "notification": ["tag": .string(channelTag), "data": data, "silent": true, "close": true],
        ]
    }

    private func ring(_ ring: Ring, _ account: String) -> JSON {
        var data: JSON = [
            "type": "call_ring", "channel_id": .string(channelID), "message_id": .string(messageID),
            "target_user_id": .string(account), "started_at_ms": .int(ring.startedAt),
            "expires_at_ms": .int(ring.startedAt + Self.ringTime),
        ]
        if let id = ring.callerID, let name = ring.callerName {
            data.set("caller_id", .string(id))
            data.set("caller_name", .string(Shrinking.cut(name, 128)))
        }
        if let avatar = ring.avatarURL { data.set("caller_avatar_url", .string(avatar)) }
        return ["web_push": 8030, "type": "call_ring", "data": data]
    }
}

/// Makes a payload fit, step by step (contract fluxer.md, "Size").
enum Shrinking {
    private static let places = [[], ["data"], ["notification"], ["notification", "data"]]

    static func notification(_ whole: JSON) -> JSON {
        var payload = whole
        if fits(payload) { return payload }
        remove(["image_url", "image"], from: &payload)
        if fits(payload) { return payload }
        remove(["icon", "badge", "author_avatar_url"], from: &payload)
        if fits(payload) { return payload }
        for place in places {
            let path = steps(place + ["body"])
            if let body = text(at: path, in: payload) { payload.set(path, .string(cut(body, 40))) }
        }
        if fits(payload) { return payload }
        return minimal(payload)
    }

    static func ring(_ whole: JSON) -> JSON {
        var payload = whole
        if fits(payload) { return payload }
        payload.remove(steps(["data", "caller_avatar_url"]))
        if fits(payload) { return payload }
        payload.remove(steps(["data", "caller_id"]))
        payload.remove(steps(["data", "caller_name"]))
        return payload
    }

    private static func fits(_ payload: JSON) -> Bool { payload.bytes.count <= Message.limit }

    private static func remove(_ names: [String], from payload: inout JSON) {
        for place in places {
            for name in names { payload.remove(steps(place + [name])) }
        }
    }

    private static func steps(_ names: [String]) -> ArraySlice<JSONPath.Step> {
        names.map { JSONPath.Step.member($0) }[...]
    }

    private static func text(at path: ArraySlice<JSONPath.Step>, in payload: JSON) -> String? {
        var current: JSON? = payload
        for case .member(let name) in path { current = current?[name] }
        return current?.string
    }

    private static let dataOfMinimal = [
        "type", "action", "channel_id", "message_id", "guild_id", "target_user_id", "notification_tag", "url",
        "badge_count",
    ]

    private static func minimal(_ payload: JSON) -> JSON {
        func picked(_ names: [String], of json: JSON?) -> JSON {
            .object(names.compactMap { name in json?[name].map { JSON.Member(name, $0) } })
        }
        let data = picked(dataOfMinimal, of: payload["data"])
        var small = picked(["web_push", "type", "action", "title", "tag"], of: payload)
        if let title = payload["title"]?.string { small.set("title", .string(cut(title, 120))) }
        small.set("data", data)
        var shown = picked(["title", "tag", "navigate"], of: payload["notification"])
        if let title = shown["title"]?.string { shown.set("title", .string(cut(title, 120))) }
        shown.set("data", data)
        small.set("notification", shown)
        return small
    }

    /// The text up to so many octets of UTF-8, whole characters only.
    static func cut(_ text: String, _ most: Int) -> String {
        guard text.utf8.count > most else { return text }
        var bytes = Array(text.utf8.prefix(most + 1))
        // Back from the first octet that is too much to where a character begins.
        while let last = bytes.last, last & 0xC0 == 0x80 { bytes.removeLast() }
        bytes.removeLast()
        return String(decoding: bytes, as: UTF8.self)
    }
}
