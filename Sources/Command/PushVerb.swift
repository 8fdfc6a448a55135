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
        default: throw UsageError(message: "Say which backend sends it: push ntm, or push fluxer.", verb: "push")
        }
    }

    private func required(_ name: String) throws(UsageError) -> JSON {
        guard let text = arguments.last(name) else {
            throw UsageError(message: "--\(name) is missing.", verb: "push")
        }
        return .string(text)
    }

    private func ntm() throws {
        var body: JSON = ["topic": try required("topic"), "type": .string(arguments.last("type") ?? "notify")]
        if let userdata = arguments.last("userdata") { body.set("userdata", .string(userdata)) }
        try send("/__pushsim/ntm/notifications", body)
    }

    private func fluxer() throws {
        var body: JSON = ["channel_id": try required("channel")]
        var names = [("account", "account"), ("message", "message_id")]
        let path: String
        switch arguments.last("type") ?? "notification" {
        case "notification":
            path = "notifications"
            body.set("title", try required("title"))
            body.set("body", try required("body"))
            names += [("guild", "guild_id"), ("icon", "icon"), ("image", "image_url")]
        case "clear": path = "clears"
        case "ring":
            path = "rings"
            names += [("caller", "caller_id"), ("caller-name", "caller_name")]
        case let other:
            throw UsageError(
                message: "--type takes notification, clear or ring, not \"\(other)\".", verb: "push")
        }
        for (flag, member) in names {
            if let value = arguments.last(flag) { body.set(member, .string(value)) }
        }
        try send("/__pushsim/fluxer/\(path)", body)
    }

    private func send(_ path: String, _ body: JSON) throws {
        let response = try remote.post(path, body)
        let answer = (try? JSONDocument(response.body)).map { JSON($0.root) } ?? .null
        guard response.status == 202 else {
            throw Finding(message: answer["error"]?["message"]?.string ?? "the server answered \(response.status)")
        }
        let deliveries = answer["deliveries"]?.elements ?? []
        try writeFiles(deliveries)
        if arguments.has("json") { return Files.out(response.body.text) }
        let lines = deliveries.map { delivery in
            let words = ["id", "transport", "subscriber", "device_id", "outcome"].compactMap { delivery[$0]?.string }
            return "  " + words.joined(separator: "  ") + "\n"
        }
        Files.out("\(counted(deliveries.count, "delivery", "deliveries"))\n" + lines.joined())
    }

    /// The first delivery with an APNs dictionary, as `simctl push` wants it and as PushKit's delegate gets it.
    private func writeFiles(_ deliveries: [JSON]) throws {
        let paths = (apns: arguments.last("apns-out"), pushKit: arguments.last("pushkit-out"))
        guard paths.apns != nil || paths.pushKit != nil else { return }
        guard let dictionary = try deliveries.lazy.compactMap({ try dictionary(of: $0) }).first else {
            throw Finding(message: "nothing was delivered that has an APNs dictionary")
        }
        if let path = paths.pushKit { try Files.write(JSONWriter.pretty(dictionary), to: path) }
        if let path = paths.apns {
            var file: JSON = ["Simulator Target Bundle": .string(arguments.last("bundle") ?? "com.example.app")]
            for member in dictionary.members ?? [] { file.set(member.name, member.value) }
            try Files.write(JSONWriter.pretty(file), to: path)
        }
    }

    private func dictionary(of delivery: JSON) throws -> JSON? {
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
        let entry = inbox?["deliveries"]?.elements?.last { $0["id"]?.string == id }
        if let relayed = entry?["relay"]?["apns"] { return relayed }
        let dictionary = entry?["dictionary"]
        return dictionary?["aps"] == nil ? nil : dictionary
    }
}
