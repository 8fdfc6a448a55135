import PushSimJSONText
import PushSimSimulation
import PushSimWire

extension FluxerState {
    func control(
        _ name: String, _ method: String, _ body: JSONValue?, _ world: inout World
    ) throws(ControlError) -> ControlAnswer? {
        switch (method, name) {
        case ("POST", "sessions"): return try mintSession(body, &world)
        case ("POST", "notifications"): return try notify(body, &world)
        case ("POST", "clears"): return try clear(body, &world)
        case ("POST", "rings"): return try ring(body, &world)
        case ("DELETE", _) where name.hasPrefix("calls/"):
            let channel = Array(name.dropFirst(6).utf8)
            guard isLive(channel, world) else {
                throw ControlError("There is no live call in the channel \(channel.text).", code: "notFound")
            }
            calls[ByteKey(channel)] = nil
            return ControlAnswer(204)
        default: return nil
        }
    }

    private func mintSession(_ body: JSONValue?, _ world: inout World) throws(ControlError) -> ControlAnswer {
        var reader = try MemberReader(body)
        let wanted = try reader.string("account")
        try reader.finish()
        let number = sessionsMinted + 1
        let key = [Array(String(number).utf8)]
        let id: [UInt8]
        if let wanted {
            guard let known = self.find(wanted)?.id ?? (Self.isID(wanted) ? Array(wanted.utf8) : nil) else {
                throw ControlError("\"\(wanted)\" is no account: an id is a decimal number", path: "$.account")
            }
            id = known
        } else {
            id = Self.accountID("fluxer minted account", key, world)
        }
        sessionsMinted = number
        let token = Self.token(key, world)
        add(token, account(id: id))
        return ControlAnswer(201, ["session": .text(token), "account": .text(id)])
    }

    /// `flx_` and 36 letters and digits.
    private static func token(_ key: [[UInt8]], _ world: World) -> [UInt8] {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
        let octets = world.draws.octets("fluxer session", key) + world.draws.octets("fluxer session", key, index: 1)
        return Array("flx_".utf8) + octets.prefix(36).map { alphabet[Int($0) % alphabet.count] }
    }

    static func isID(_ text: String) -> Bool {
        (1...20).contains(text.utf8.count) && text.utf8.allSatisfy { $0 >= 48 && $0 <= 57 }
    }

    /// By id or session token.
    private func find(_ text: String) -> Account? {
        let key = ByteKey(Array(text.utf8))
        return accounts[key] ?? sessions[key]
    }

    private func account(_ reader: inout MemberReader) throws(ControlError) -> Account? {
        guard let text = try reader.string("account") else { return nil }
        guard let account = find(text) else {
            throw ControlError("\"\(text)\" is neither an account nor a session token", path: "$.account")
        }
        return account
    }

    private func id(_ name: String, _ reader: inout MemberReader) throws(ControlError) -> String? {
        guard let value = reader.value(name) else { return nil }
        guard let text = value.string ?? value.int.map(String.init), Self.isID(text) else {
            throw ControlError(
                "must be a decimal id of up to 20 digits; large ones are written as text", path: "$.\(name)")
        }
        return text
    }

    private func channel(_ reader: inout MemberReader) throws(ControlError) -> String {
        guard let channel = try id("channel_id", &reader) else {
            throw ControlError("is missing", path: "$.channel_id")
        }
        return channel
    }

    private func message(_ channel: String, _ given: String?, _ world: World) -> String {
        if let given { return given }
        let count = sendings[ByteKey(Array("drawn \(channel)".utf8)), default: 0]
        sendings[ByteKey(Array("drawn \(channel)".utf8))] = count + 1
        return Self.accountID("fluxer message", [Array(channel.utf8), Array(String(count).utf8)], world).text
    }

    private func sent(_ deliveries: [Delivery]) -> ControlAnswer {
        var answer = ControlAnswer(202)
        answer.deliveries = deliveries
        return answer
    }

    private func notify(_ body: JSONValue?, _ world: inout World) throws(ControlError) -> ControlAnswer {
        var reader = try MemberReader(body)
        let account = try account(&reader)
        let channel = try channel(&reader)
        let messageID = try id("message_id", &reader)
        let guildID = try id("guild_id", &reader)
        let title = try reader.required("title")
        let text = try reader.required("body")
        let icon = try reader.string("icon") ?? Message.icon
        let image = try reader.string("image_url")
        let isThread = try reader.bool("thread") ?? false
        try reader.finish()
        let message = Message(
            channelID: channel, messageID: message(channel, messageID, world),
            content: .notification(
                .init(title: title, body: text, icon: icon, imageURL: image, guildID: guildID)))
        return sent(push(message, to: account, isThread: isThread, &world))
    }

    private func clear(_ body: JSONValue?, _ world: inout World) throws(ControlError) -> ControlAnswer {
        var reader = try MemberReader(body)
        let account = try account(&reader)
        let channel = try channel(&reader)
        let messageID = try id("message_id", &reader)
        let badge = try reader.int("badge_count") ?? 0
        try reader.finish()
        guard (0...1 << 31).contains(badge) else {
            throw ControlError("must be from 0 to 2147483648", path: "$.badge_count")
        }
        let message = Message(
            channelID: channel, messageID: message(channel, messageID, world), content: .clear(badgeCount: badge))
        return sent(push(message, to: account, &world))
    }

    private func ring(_ body: JSONValue?, _ world: inout World) throws(ControlError) -> ControlAnswer {
        var reader = try MemberReader(body)
        let account = try account(&reader)
        let channel = try channel(&reader)
        let given = try id("message_id", &reader)
        let callerID = try id("caller_id", &reader)
        let callerName = try reader.string("caller_name")
        let avatar = try reader.string("caller_avatar_url")
        let started = try reader.int("started_at_ms")
        try reader.finish()
        guard let messageID = given else { throw ControlError("is missing", path: "$.message_id") }
        guard (callerID == nil) == (callerName == nil) else {
            throw ControlError("caller_id and caller_name go together or not at all", path: "$.caller_id")
        }
        guard (0...1 << 50).contains(started ?? 0) else {
            throw ControlError("must be milliseconds since 1970, up to 2^50", path: "$.started_at_ms")
        }
        let now = world.clock.now.floorDivided(by: 1_000_000)
        let startedAt = started.map(Int64.init) ?? now
        calls[ByteKey(Array(channel.utf8))] = LiveCall(
            messageID: messageID, expires: (startedAt + Message.ringTime) * 1_000_000)
        let message = Message(
            channelID: channel, messageID: messageID,
            content: .ring(
                .init(callerID: callerID, callerName: callerName, avatarURL: avatar, startedAt: startedAt)))
        return sent(push(message, to: account, &world))
    }
}
