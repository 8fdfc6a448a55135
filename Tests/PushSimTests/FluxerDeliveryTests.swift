import Foundation
import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Testing

let endpoint = "https://push.example.org/device/1"

extension PushSim {
    /// `time outcome status` of each attempt to deliver, by the journal.
    func attempts() async throws -> [String] {
        let journal = try await fluxer("GET", "/__pushsim/journal?backend=fluxer").json["entries"]?.elements ?? []
        return journal.filter { $0["side"] == "delivery" }.map { row in
            let time = row["time"]?.string?.dropFirst(11).dropLast() ?? ""
            let status = row["status"]?.int.map(String.init) ?? row["failure"]?.string ?? ""
            return "\(time) \(row["outcome"]?.string ?? "") \(status)"
        }
    }
}

@Suite("Fluxer's deliveries (fluxer.md, \"What is pushed\")", .pushSim(clock: .frozen))
struct FluxerDeliveryTests {
    @Test("A whole life: register, ring, 410, gone, register again with new keys; the old record does not open")
    func life() async throws {
        let sim = PushSim.current
        let device = try sim.device(.iosAPNsVoIP)
        let id = try await device.register()
        let rung = try await sim.fluxer.ring(
            channel: "42", message: "7", callerID: "9", callerName: "Ada", callerAvatarURL: "https://a.example/a.png")
        #expect(rung.map(\.outcome) == ["accepted"])
        let ring = try await device.inbox.next()
        let payload = try device.decrypt(ring)
        #expect(payload["web_push"] == 8030 && payload["type"] == "call_ring" && payload["notification"] == nil)
        let data = try #require(payload["data"])
        #expect(data["type"] == "call_ring" && data["channel_id"] == "42" && data["message_id"] == "7")
        #expect(data["started_at_ms"]?.int == 1_767_225_600_000 && data["expires_at_ms"]?.int == 1_767_225_630_000)
        #expect(data["caller_name"] == "Ada")
        #expect(ring.headers.first { $0.name == "TTL" }?.value == "0")
        #expect(ring.headers.first { $0.name == "Urgency" }?.value == "high")
        try sim.setProfile(.json5("{ rules: [ { on: { side: 'delivery' }, then: { answer: { status: 410 } } } ] }"))
        #expect(try await sim.fluxer.ring(channel: "42", message: "8").map(\.outcome) == ["removed"])
        try sim.setProfile(nil)
        #expect(try await sim.fluxer.ring(channel: "42", message: "9").isEmpty)
        #expect(try await device.reregister() == id)
        #expect(throws: PushSimError.self) { try device.decrypt(ring) }
        #expect(try device.decryptWithPreviousKeys(ring) == payload)
        _ = try await sim.fluxer.ring(channel: "42", message: "10")
        let next = try await device.inbox.next(after: ring)
        #expect(try device.decrypt(next)["data"]?["message_id"] == "10")
    }

    @Test("A notification's plaintext and request are as documented")
    func notification() async throws {
        let sim = PushSim.current
        let device = try sim.device(.androidUnifiedPush)
        try await device.register()
        try await sim.fluxer.notify(
            channel: "42", message: "7", guild: "5", title: "Hi", body: "there", icon: "https://a.example/i.png",
            imageURL: "https://a.example/p.png")
        let push = try await device.inbox.next()
        #expect(push.body.count == 2816)
        let json = try device.decrypt(push)
        #expect(
            json.members?.map(\.name) == [
                "web_push", "title", "body", "icon", "badge", "tag", "data", "notification", "image_url", "image",
            ])
        #expect(json["tag"] == "channel:42:7" && json["type"] == nil)
        let data = try #require(json["data"])
        #expect(
            data.members?.map(\.name) == [
                "channel_id", "message_id", "guild_id", "target_user_id", "url", "notification_tag", "badge_count",
                "has_media", "author_avatar_url", "image_url", "image",
            ])
        #expect(data["url"] == "/channels/5/42/7" && data["notification_tag"] == "channel:42")
        #expect(data["badge_count"] == 1 && data["has_media"] == true)
        let shown = try #require(json["notification"])
        #expect(shown["navigate"] == "/channels/5/42/7" && shown["app_badge"] == "1" && shown["data"] == data)
        #expect(push.headers.map(\.name) == ["TTL", "Urgency", "Content-Type", "Content-Encoding", "Authorization"])
        #expect(push.headers.dropLast().map(\.value) == ["86400", "high", "application/octet-stream", "aes128gcm"])
        let field = try #require(push.headers.last?.value)
        let discovery = try await sim.fluxer("GET", "/.well-known/fluxer").json
        let key = try #require(discovery["push"]?["public_vapid_key"]?.string)
        #expect(field.hasPrefix("vapid t=") && field.hasSuffix(", k=\(key)"))
        try await sim.fluxer.notify(channel: "42", title: "Hi", body: "again")
        let second = try device.decrypt(try await device.inbox.next(after: push))
        #expect(second["data"]?["guild_id"] == JSON.null && second["data"]?["badge_count"] == 2)
        #expect(second["data"]?["url"]?.string?.hasPrefix("/channels/@me/42/") == true)
    }

    @Test("A clear's plaintext and request are as documented")
    func clear() async throws {
        let sim = PushSim.current
        let device = try sim.device(.iosAPNs)
        try await device.register()
        try await sim.fluxer.clear(channel: "42", badgeCount: 3)
        let push = try await device.inbox.next()
        #expect(push.kind == "clear")
        let json = try device.decrypt(push)
        #expect(json["type"] == "notification_clear" && json["action"] == "clear_channel" && json["silent"] == true)
        #expect(json["tag"] == "channel:42" && json["notification_tag"] == "channel:42" && json["badge_count"] == 3)
        #expect(
            json["data"]?.members?.map(\.name) == [
                "type", "action", "channel_id", "message_id", "target_user_id", "notification_tag", "tag",
                "badge_count",
            ])
        #expect(json["notification"]?.members?.map(\.name) == ["tag", "data", "silent", "close"])
        #expect(push.headers.prefix(2).map(\.value) == ["86400", "low"])
    }

    @Test("Who gets what: notifications and clears all but VoIP, rings only VoIP and FCM in Web Push form")
    func audience() async throws {
        let sim = PushSim.current
        _ = try await sim.register("ios_apns", "raw-apns")
        _ = try await sim.register("android_fcm", "raw:fcm")
        _ = try await sim.register("android_fcm", "https://a.example/fcm", keys)
        _ = try await sim.register("android_unified_push", "https://a.example/up", keys)
        _ = try await sim.register("ios_apns_voip", "https://a.example/voip", keys)
        let notified = try await sim.fluxer.notify(channel: "1", title: "a", body: "b")
        #expect(notified.map(\.transport) == ["apns", "fcm", "webpush", "webpush"])
        #expect(try await sim.fluxer.clear(channel: "1").count == 4)
        let rung = try await sim.fluxer.ring(channel: "1", message: "2")
        #expect(rung.map(\.transport) == ["webpush", "webpush"])
        #expect(sim.inbox(of: "https://a.example/voip").deliveries.map(\.kind) == ["ring"])
        #expect(sim.inbox(of: "https://a.example/fcm").deliveries.map(\.kind) == ["notification", "clear", "ring"])
    }

    @Test("Threads reach only clients that say channel_threads; an account can be named by id or session")
    func threadsAndAccounts() async throws {
        let sim = PushSim.current
        _ = try await sim.fluxer(
            "POST", "/v1/users/@me/mobile-devices", #"{"platform":"ios_apns","token":"with"}"#,
            fields: [("X-Fluxer-Features", "other, Channel_Threads ,bad-name")])
        _ = try await sim.register("ios_apns", "without", as: "bob")
        #expect(try await sim.fluxer.notify(channel: "1", title: "a", body: "b", isThread: true).count == 1)
        #expect(try await sim.fluxer.notify(channel: "1", title: "a", body: "b").count == 2)
        #expect(try await sim.fluxer.notify(account: "bob", channel: "1", title: "a", body: "b").count == 1)
        await #expect(throws: PushSimError.self) {
            try await sim.fluxer.notify(account: "nobody", channel: "1", title: "a", body: "b")
        }
    }

    @Test("Raw registrations get unencrypted messages")
    func raw() async throws {
        let sim = PushSim.current
        _ = try await sim.register("ios_apns", "raw-apns", #""app_id":"beta""#)
        _ = try await sim.register("android_fcm", "raw:fcm")
        try await sim.fluxer.notify(channel: "42", message: "7", title: "Hi", body: "there")
        let apns = try await sim.inbox(of: "raw-apns").next()
        #expect(
            apns.headers.map { "\($0.name): \($0.value)" } == [
                "apns-push-type: alert", "apns-priority: 10", "apns-expiration: 1767312000",
                "apns-collapse-id: channel:42:7", "apns-topic: chat.fluxer.beta",
            ])
        let aps = try #require(apns.dictionary?["aps"])
        #expect(aps["alert"] == ["title": "Hi", "body": "there"] && aps["sound"] == "default" && aps["badge"] == 1)
        #expect(
            aps["category"] == "FLUXER_MESSAGE" && aps["thread-id"] == "channel:42" && aps["mutable-content"] == nil)
        #expect(apns.dictionary?["title"] == "Hi" && apns.dictionary?["channel_id"] == "42")
        let fcm = try await sim.inbox(of: "raw:fcm").next()
        let message = try #require(fcm.dictionary?["message"])
        #expect(message["token"] == "raw:fcm" && message["notification"] == ["title": "Hi", "body": "there"])
        #expect(message["data"]?["badge_count"] == "1" && message["data"]?["guild_id"] == "null")
        #expect(message["android"] == ["priority": "HIGH", "ttl": "86400s"])
        try await sim.fluxer.clear(channel: "42")
        let cleared = try await sim.inbox(of: "raw-apns").next(after: apns)
        #expect(cleared.dictionary?["aps"] == ["content-available": 1])
        #expect(cleared.headers.prefix(3).map(\.value) == ["background", "5", "1767229200"])
        let clearedFCM = try #require(try await sim.inbox(of: "raw:fcm").next(after: fcm).dictionary?["message"])
        #expect(clearedFCM["notification"] == nil)
        #expect(
            clearedFCM["android"] == ["priority": "NORMAL", "ttl": "3600s", "collapse_key": "clear:channel:42"])
    }

    @Test(
        "A relay's endpoint gets the record in the form of its transport too",
        arguments: [
            ("ios_apns", "apns/app/production/abc", "notification"), ("ios_apns", "apns/app/production/abc", "clear"),
            ("ios_apns_voip", "apns-voip/app/production/abc", "ring"), ("android_fcm", "fcm/app/abc", "notification"),
        ])
    func relay(_ platform: String, _ path: String, _ kind: String) async throws {
        let sim = PushSim.current
        let token = "https://push.fluxer.com/relay/v1/\(path)"
        _ = try await sim.register(platform, token, keys)
        switch kind {
        case "ring": _ = try await sim.fluxer.ring(channel: "1", message: "2")
        case "clear": _ = try await sim.fluxer.clear(channel: "1")
        default: _ = try await sim.fluxer.notify(channel: "1", title: "a", body: "b")
        }
        let push = try await sim.inbox(of: token).next()
        let record = Data(push.body).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
        let dictionary = try #require(push.dictionary)
        if platform == "android_fcm" {
            #expect(dictionary == ["data": ["v": "1", "p": .string(record)]])
        } else {
            #expect(dictionary["p"]?.string == record && dictionary["v"] == 1)
            let aps: JSON =
                kind == "ring"
                ? .object([])
                : kind == "clear"
                    ? ["content-available": 1]
                    : ["alert": ["loc-key": "FLUXER_NEW_MESSAGE"], "mutable-content": 1]
            #expect(dictionary["aps"] == aps)
        }
    }

    @Test("Shrinking: 2712 and 2713 octets stay whole, 2714 loses its images; each further step in its turn")
    func shrinking() async throws {
        let sim = PushSim.current
        let device = try sim.device(.androidUnifiedPush)
        try await device.register()
        var last: Push?
        func send(_ body: String, image: String?, title: String = "t") async throws -> (JSON, Int) {
            try await sim.fluxer.notify(channel: "1", message: "2", title: title, body: body, imageURL: image)
            let push = try await device.inbox.next(after: last)
            last = push
            return (try device.decrypt(push), push.plaintext?.count ?? 0)
        }
        let image = "https://a.example/" + String(repeating: "i", count: 60)
        let empty = try await send("", image: image).1
        // The body stands twice; é is two octets.
        let room = 2713 - empty
        #expect(room > 100)
        func body(_ octets: Int) -> String {
            String(repeating: "é", count: octets / 2) + (octets % 2 == 1 ? "e" : "")
        }
        let whole = try await send(body(room / 2), image: image)
        #expect(whole.1 == empty + room / 2 * 2 && whole.0["image"] != nil)
        let more = try await send(body(room / 2 + 1), image: image)
        #expect(more.0["image"] == nil && more.0["icon"] != nil && more.0["data"]?["image_url"] == nil)
        #expect(more.0["notification"]?["image"] == nil && more.0["notification"]?["data"]?["image"] == nil)
        let bare = try await send("", image: nil).1
        let withoutIcons = try await send(body((2713 - bare) / 2 + 8), image: nil)
        #expect(withoutIcons.0["icon"] == nil && withoutIcons.0["data"]?["author_avatar_url"] == nil)
        #expect(withoutIcons.0["notification"]?["badge"] == nil && withoutIcons.0["body"]?.string?.utf8.count ?? 0 > 40)
        let cut = try await send("aé" + String(repeating: "€", count: 2000), image: nil)
        #expect(cut.0["body"]?.string == "aé" + String(repeating: "€", count: 12))
        #expect(cut.0["notification"]?["body"] == cut.0["body"])
        let minimal = try await send("b", image: nil, title: String(repeating: "😀", count: 700))
        #expect(minimal.0.members?.map(\.name) == ["web_push", "title", "tag", "data", "notification"])
        #expect(minimal.0["title"]?.string == String(repeating: "😀", count: 30))
        #expect(minimal.0["notification"]?.members?.map(\.name) == ["title", "tag", "navigate", "data"])
        #expect(minimal.1 <= 2713)
    }

    @Test("Exactly 2713 octets stay whole, with multi-byte text; one more does not", arguments: [2712, 2713, 2714])
    func limit(_ octets: Int) async throws {
        let sim = PushSim.current
        let device = try sim.device(.androidUnifiedPush)
        try await device.register()
        var last: Push?
        func send(_ title: String = "t", _ image: String = "") async throws -> Int {
            try await sim.fluxer.notify(channel: "1", message: "2", title: title, body: "é", icon: "i", imageURL: image)
            let push = try await device.inbox.next(after: last)
            last = push
            return try #require(push.plaintext?.count)
        }
        var base = try await send()
        // What can be lengthened stands an even number of times; only the badge's second digit stands once.
        if (octets - base) % 2 == 1 {
            for _ in 0..<10 { base = try await send() }
        }
        let (images, rest) = ((octets - base) / 8, (octets - base) % 8)
        try #require(rest % 2 == 0)
        let count = try await send("t" + String(repeating: "u", count: rest / 2), String(repeating: "x", count: images))
        let push = try #require(last)
        #expect(try (device.decrypt(push)["image"] != nil) == (octets <= 2713))
        #expect(octets > 2713 ? count < 2713 : count == octets)
    }

    @Test("A ring drops its avatar first, then caller_id and caller_name together; a name has at most 128 octets")
    func ringShrinking() async throws {
        let sim = PushSim.current
        let device = try sim.device(.iosAPNsVoIP)
        try await device.register()
        try await sim.fluxer.ring(
            channel: "1", message: "2", callerID: "3", callerName: String(repeating: "€", count: 100),
            callerAvatarURL: "https://a.example/" + String(repeating: "x", count: 3000))
        let data = try device.decrypt(try await device.inbox.next())["data"]
        #expect(data?["caller_avatar_url"] == nil && data?["caller_id"] == "3")
        #expect(data?["caller_name"]?.string == String(repeating: "€", count: 42))
    }

    @Test("A ring starts the call; it ends by hand, or 30 s unanswered")
    func calls() async throws {
        let sim = PushSim.current
        let path = "/v1/channels/42/call/stop-ringing"
        #expect(try await sim.fluxer("POST", path).fluxerCode == "NO_ACTIVE_CALL")
        _ = try await sim.fluxer.ring(channel: "42", message: "7")
        #expect(try await sim.fluxer("POST", path).status == 204)
        try sim.fluxer.endCall(channel: "42")
        #expect(try await sim.fluxer("POST", path).status == 404)
        #expect(throws: PushSimError.self) { try sim.fluxer.endCall(channel: "42") }
        _ = try await sim.fluxer.ring(channel: "42", message: "8")
        await sim.advance(by: .milliseconds(29_999))
        #expect(try await sim.fluxer("POST", path).status == 204)
        await sim.advance(by: .milliseconds(1))
        #expect(try await sim.fluxer("POST", path).status == 404)
    }

    @Test("One seed gives the same records byte for byte, but for the signature")
    func determinism() async throws {
        func run() async throws -> [[UInt8]] {
            let sim = try await PushSim.start(seed: 7, clock: .frozen)
            _ = try await sim.register("android_unified_push", endpoint, keys)
            for _ in 0..<3 { _ = try await sim.fluxer.notify(channel: "1", message: "2", title: "a", body: "b") }
            _ = try await sim.fluxer.ring(channel: "1", message: "2")
            let bodies = sim.inbox(of: endpoint).deliveries.map(\.body)
            await sim.stop()
            return bodies
        }
        let first = try await run()
        #expect(first.count == 3 && Set(first).count == 3)
        #expect(try await run() == first)
    }
}
