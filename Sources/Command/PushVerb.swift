import PushSimJSONText
import PushSimWire

/// `pushsim push`: a push through a running server.
struct PushVerb {
    private let arguments: Arguments
    private let remote: Remote

    static func run(_ arguments: Arguments) throws {
        let verb = PushVerb(arguments: arguments, remote: try Remote(arguments, verb: "push"))
        switch arguments.rest {
        case ["ntm"]: try verb.ntm()
        case ["fluxer"]: try verb.fluxer()
        case ["sunbird"]: try verb.sunbird()
        case let words where words.count > 1:
            throw UsageError(message: "push takes one backend, and no \"\(words[1])\".", verb: "push")
        default:
            throw UsageError(message: "Say which backend sends it: ntm, fluxer or sunbird.", verb: "push")
        }
    }

    private func required(_ name: String) throws(UsageError) -> JSON {
        guard let text = arguments.last(name) else {
            throw UsageError(message: "--\(name) is missing.", verb: "push")
        }
        return .string(text)
    }

    private func ntm() throws {
        try refuse("push ntm", besides: ["topic", "type", "userdata"])
        var body: JSON = ["topic": try required("topic"), "type": .string(arguments.last("type") ?? "notify")]
        if let userdata = arguments.last("userdata") { body.set("userdata", .string(userdata)) }
        try send("/__pushsim/ntm/notifications", body, [:])
    }

    /// A flag that says nothing about this push is a mistake.
    private func refuse(_ what: String, besides known: [String]) throws(UsageError) {
        let always = ["url", "control-token", "apns-out", "pushkit-out", "bundle", "json"]
        if let stray = arguments.names.first(where: { !known.contains($0) && !always.contains($0) }) {
            throw UsageError(message: "\(what) has no --\(stray).", verb: "push")
        }
    }

    private func sunbird() throws {
        let flags = ["topic": "topic", "payload": "payload", "repeat": "repeat", "timeZone": "time-zone"]
        try refuse("push sunbird", besides: Array(flags.values))
        let text = try required("payload").string ?? ""
        let payload: JSONDocument
        do throws(JSONError) {
            payload = try JSONDocument(text)
        } catch {
            throw UsageError(message: "--payload is not JSON: \(error.description)", verb: "push")
        }
        var body: JSON = ["payload": JSON(payload.root)]
        for member in ["topic", "repeat", "timeZone"] {
            if let value = arguments.last(flags[member] ?? member) { body.set(member, .string(value)) }
        }
        try send("/__pushsim/sunbird/broadcasts", body, flags)
    }

    private enum Value {
        case text, number, flag
    }

    private func fluxer() throws {
        var members: [(flag: String, member: String, value: Value)] = [
            ("channel", "channel_id", .text), ("account", "account", .text), ("message", "message_id", .text),
        ]
        let (path, needed): (String, [String])
        let type = arguments.last("type") ?? "notification"
        switch type {
        case "notification":
            (path, needed) = ("notifications", ["channel", "title", "body"])
            members += [
                ("title", "title", .text), ("body", "body", .text), ("guild", "guild_id", .text),
                ("icon", "icon", .text), ("image", "image_url", .text), ("thread", "thread", .flag),
            ]
        case "clear":
            (path, needed) = ("clears", ["channel"])
            members.append(("badge-count", "badge_count", .number))
        case "ring":
            (path, needed) = ("rings", ["channel", "message"])
            members += [
                ("caller", "caller_id", .text), ("caller-name", "caller_name", .text),
                ("caller-avatar", "caller_avatar_url", .text), ("started-at", "started_at_ms", .number),
            ]
        default:
            throw UsageError(message: "--type takes notification, clear or ring, not \"\(type)\".", verb: "push")
        }
        try refuse("push fluxer --type \(type)", besides: ["type"] + members.map(\.flag))
        for flag in needed { _ = try required(flag) }
        var body: JSON = .object([])
        for (flag, member, value) in members {
            guard let text = arguments.last(flag) else { continue }
            switch value {
            case .text: body.set(member, .string(text))
            case .flag: body.set(member, true)
            case .number:
                guard let number = decimalDigits(text.utf8) else {
                    throw UsageError(message: "--\(flag) takes a whole number, not \"\(text)\".", verb: "push")
                }
                body.set(member, .int(number))
            }
        }
        let flags = members.map { ($0.member, $0.flag) }
        try send("/__pushsim/fluxer/\(path)", body, Dictionary(flags) { first, _ in first })
    }

    private func send(_ path: String, _ body: JSON, _ flags: [String: String]) throws {
        let response = try remote.post(path, body)
        guard response.status == 202 else { throw Finding(message: response.problem(flags: flags)) }
        let answer = (try? JSONDocument(response.body)).map { JSON($0.root) } ?? .null
        let deliveries = answer["deliveries"]?.elements ?? []
        try writeFiles(deliveries)
        if arguments.has("json") { return Files.out(response.body.text) }
        let lines = deliveries.map { delivery in
            let words = ["id", "transport", "subscriber", "device_id", "token", "outcome"].compactMap {
                delivery[$0]?.string
            }
            return "  " + words.joined(separator: "  ") + "\n"
        }
        Files.out("\(counted(deliveries.count, "delivery", "deliveries"))\n" + lines.joined())
    }

    /// The first alert as `simctl push` wants it, and the first VoIP push as PushKit's delegate gets it.
    private func writeFiles(_ deliveries: [JSON]) throws {
        let paths = (apns: arguments.last("apns-out"), pushKit: arguments.last("pushkit-out"))
        guard paths.apns != nil || paths.pushKit != nil else { return }
        let found = try deliveries.compactMap { try message(of: $0) }
        let alert = found.first { !$0.isVoIP }
        if let path = paths.pushKit {
            guard let message = found.first(where: \.isVoIP) ?? alert else {
                throw Finding(message: "--pushkit-out: nothing went to an iOS device")
            }
            try Files.write(JSONWriter.pretty(message.dictionary), to: path)
        }
        if let path = paths.apns {
            guard let alert else {
                throw Finding(
                    message: found.isEmpty
                        ? "--apns-out: nothing went to an iOS device"
                        : "--apns-out: simctl takes no VoIP push; --pushkit-out writes what PushKit hands over")
            }
            var file: JSON = ["Simulator Target Bundle": .string(arguments.last("bundle") ?? "com.example.app")]
            for member in alert.dictionary.members ?? [] { file.set(member.name, member.value) }
            try Files.write(JSONWriter.pretty(file), to: path)
        }
    }

    private struct Message {
        let dictionary: JSON
        let isVoIP: Bool
    }

    /// What an iOS device was handed; nil for other devices.
    private func message(of delivery: JSON) throws -> Message? {
        guard let id = delivery["id"]?.string else { return nil }
        let query: String
        if let device = delivery["device_id"]?.string {
            query = "device_id=\(device)"
        } else if let subscriber = delivery["subscriber"]?.string {
            query = "subscriber=\(subscriber)"
        } else {
            return nil
        }
        let response = try remote.get("/__pushsim/inbox?\(query)")
        let inbox = (try? JSONDocument(response.body)).map { JSON($0.root) }
        guard let entry = inbox?["deliveries"]?.elements?.last(where: { $0["id"]?.string == id }) else { return nil }
        if entry["transport"]?.string == "apns", let dictionary = entry["dictionary"] {
            let type = entry["headers"]?.elements?.first { $0[0]?.string == "apns-push-type" }
            return Message(dictionary: dictionary, isVoIP: type?[1]?.string == "voip")
        }
        guard let platform = entry["platform"]?.string, platform.hasPrefix("ios_"),
            let relayed = entry["relay"]?["apns"]
        else { return nil }
        return Message(dictionary: relayed, isVoIP: platform == "ios_apns_voip")
    }
}
