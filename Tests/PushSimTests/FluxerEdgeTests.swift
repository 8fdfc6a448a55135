import Foundation
import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Testing

@Suite("Fluxer at its edges (fluxer.md)", .pushSim(clock: .frozen))
struct FluxerEdgeTests {
    @Test(
        "What is empty is no id, and what is unknown is NOT_FOUND with /v1 and without",
        arguments: [
            ("DELETE", "/v1/users/@me/mobile-devices/"), ("DELETE", "/v1/users/@me/push/subscriptions/"),
            ("POST", "/v1/channels//call/stop-ringing"), ("GET", "/users/@me/none"), ("GET", "/channels/1"),
            ("POST", "/auth/none"), ("GET", "/v1/none"),
        ])
    func notFound(_ method: String, _ target: String) async throws {
        let answer = try await PushSim.current.fluxer(method, target)
        #expect(answer.status == 404 && answer.fluxerCode == "NOT_FOUND")
    }

    @Test("HEAD is GET without its body", arguments: ["/.well-known/fluxer", "/v1/users/@me/mobile-devices"])
    func head(_ target: String) async throws {
        let sim = PushSim.current
        let client = try RawClient(port: sim.url.port ?? 0)
        try await client.send("HEAD \(target) HTTP/1.1\r\nHost: a\r\nAuthorization: alice\r\nConnection: close\r\n\r\n")
        let answer = try await client.receive()
        let whole = try await sim.fluxer("GET", target)
        #expect(answer.text.hasPrefix("HTTP/1.1 200 ") && answer.text.hasSuffix("\r\n\r\n"))
        #expect(answer.text.contains("Content-Length: \(whole.body.count)\r\n"))
    }

    @Test("A scheme with nothing behind it is no session", arguments: ["Bearer", "bearer ", "Bot", "Admin"])
    func schemeAlone(_ value: String) async throws {
        #expect(try await PushSim.current.fluxer("GET", "/v1/users/@me/mobile-devices", as: value).status == 401)
    }

    @Test("An endpoint that is too long is no URL, for devices and browsers alike; a lone surrogate is one unit")
    func lengths() async throws {
        let sim = PushSim.current
        let long = "https://a.example/" + String(repeating: "x", count: 2048)
        let device = try await sim.register("android_unified_push", long, keys)
        #expect(device.json["errors"]?[0]?["code"] == "INVALID_FORMAT")
        let browser = try await sim.fluxer(
            "POST", "/v1/users/@me/push/subscribe", #"{"endpoint":"\#(long)","keys":{"p256dh":"a","auth":"b"}}"#)
        #expect(
            browser.json["errors"]?[0]?["code"] == "INVALID_FORMAT" && browser.json["errors"]?[0]?["path"] == "endpoint"
        )
        let surrogates = String(repeating: #"\ud83c"#, count: 128)
        #expect(try await sim.register("ios_apns", "t", #""app_id":"\#(surrogates)""#).status == 200)
        #expect(try await sim.register("ios_apns", "t", #""app_id":"\#(surrogates)x""#).status == 400)
    }

    @Test(
        "The audience of VAPID is the endpoint's origin, an odd spelling of an address made plain",
        arguments: [
            ("https://134744072/a", "https://8.8.8.8"), ("https://0x8.8.010.8:444/a", "https://8.8.8.8:444"),
            ("https://Push.Example.ORG:443/a", "https://push.example.org"),
        ])
    func audience(_ endpoint: String, _ audience: String) async throws {
        let sim = PushSim.current
        #expect(try await sim.register("android_unified_push", endpoint, keys).status == 200)
        try await sim.fluxer.notify(channel: "1", title: "t", body: "")
        let value = try #require(try await sim.inbox(of: endpoint).next().header("Authorization"))
        let claims = try #require(value.split(separator: ".").dropFirst().first)
        let padded =
            claims.replacing("-", with: "+").replacing("_", with: "/")
            + String(repeating: "=", count: (4 - claims.count % 4) % 4)
        let text = String(decoding: try #require(Data(base64Encoded: String(padded))), as: UTF8.self)
        #expect(text.contains("\"aud\":\"\(audience)\""), "\(text)")
    }

    @Test("The global bucket counts although the route buckets are off")
    func globalAlone() async throws {
        let sim = PushSim.current
        try sim.setOption("fluxer.rateLimits", to: "off")
        try sim.setOption("fluxer.globalBucket", to: "on")
        var statuses: [Int] = []
        for _ in 0..<51 { statuses.append(try await sim.fluxer("GET", "/v1/users/@me/mobile-devices").status) }
        #expect(statuses == Array(repeating: 200, count: 50) + [429])
    }

    @Test("One plaintext, one salt: after a reset another text under the same keys is under another")
    func salts() async throws {
        let sim = PushSim.current
        var heads: [[UInt8]] = []
        for text in ["one", "two", "one"] {
            #expect(
                try await sim.register("android_unified_push", "https://push.pushsim.example/push/a", keys).status
                    == 200)
            try await sim.fluxer.notify(channel: "1", message: "1", title: "t", body: text)
            heads.append(Array(try await sim.inbox(of: "https://push.pushsim.example/push/a").next().body.prefix(86)))
            sim.reset()
        }
        #expect(heads[0] != heads[1] && heads[0] == heads[2])
    }

    @Test("R10, and only R10, uses one salt and sender key for all records of a device")
    func repeatedNonce() async throws {
        let sim = PushSim.current
        try sim.setProfile(.json5("{ rules: [ { on: { side: 'delivery' }, then: { record: 'R10' } } ] }"))
        let device = try sim.device(.androidUnifiedPush)
        try await device.register()
        try await sim.fluxer.notify(channel: "1", message: "1", title: "t", body: "one")
        try await sim.fluxer.notify(channel: "1", message: "2", title: "t", body: "two")
        let pushes = device.inbox.deliveries
        #expect(pushes.count == 2 && pushes[0].body.prefix(86) == pushes[1].body.prefix(86))
        #expect(try pushes.map { try device.decrypt($0)["body"] } == ["one", "two"])
    }

    @Test("K03 takes the keys from before, also where the client unregistered in between")
    func previousKeys() async throws {
        let sim = PushSim.current
        let device = try sim.device(.androidUnifiedPush)
        try await device.register()
        try await device.unregister()
        try await device.reregister()
        try sim.setProfile(.json5("{ rules: [ { on: { side: 'delivery' }, then: { record: 'K03' } } ] }"))
        try await sim.fluxer.notify(channel: "1", title: "t", body: "old keys")
        let push = try await device.inbox.next()
        #expect(throws: PushSimError.self) { try device.decrypt(push) }
        #expect(try device.decryptWithPreviousKeys(push)["body"] == "old keys")
    }

    @Test("Content faults of long payloads still fail by their content", arguments: ["C10", "C17"])
    func longContent(_ id: String) async throws {
        let sim = PushSim.current
        try sim.setProfile(.json5("{ rules: [ { on: { side: 'delivery' }, then: { record: '\(id)' } } ] }"))
        let device = try sim.device(.androidUnifiedPush)
        try await device.register()
        try await sim.fluxer.notify(
            channel: "1", title: String(repeating: "\"", count: 600), body: String(repeating: "\"", count: 600))
        let push = try await device.inbox.next()
        #expect(push.body.count <= 4096 && push.fault == id)
        // The record opens: what is wrong is in the text.
        let error = #expect(throws: PushSimError.self) { try device.decrypt(push) }
        #expect(error?.description.hasSuffix("it fails at content.") == true)
    }

    @Test(
        "The duty to an undecryptable record is met by discarding, unregistering and registering again, in this order")
    func undecryptable() async throws {
        let sim = PushSim.current
        func state() async throws -> String? {
            let rows = try await sim.fluxer("GET", "/__pushsim/obligations").json["obligations"]?.elements ?? []
            return rows.first { $0["id"] == "fluxer.undecryptable" }?["state"]?.string
        }
        let device = try sim.device(.androidUnifiedPush)
        try await device.register()
        try sim.setProfile(
            .json5("{ rules: [ { on: { side: 'delivery' }, when: { calls: '1' }, then: { record: 'K01' } } ] }"))
        try await sim.fluxer.notify(channel: "1", title: "t", body: "")
        try sim.report(try await device.inbox.next(), .discarded)
        #expect(try await state() == "not exercised")
        try await device.unregister()
        #expect(try await state() == "not exercised")
        try await device.reregister()
        #expect(try await state() == "met")
        // A record that opens is to be shown.
        try sim.setProfile(.json5("{ rules: [ { on: { side: 'delivery' }, then: { record: 'V06' } } ] }"))
        try await sim.fluxer.notify(channel: "1", title: "t", body: "")
        try sim.report(try #require(device.inbox.deliveries.last), .shown)
        #expect(try await state() == "met")
    }
}

@Suite("What becomes of deliveries (faults.md, \"then, on a delivery\")", .pushSim(clock: .frozen))
struct DeliveryOutcomeTests {
    @Test(
        "A connection or wire fault hits a captured delivery as it would hit one on the wire",
        arguments: [
            ("connection: 'reset'", "retrying reset"), ("connection: 'close'", "retrying reset"),
            ("connection: 'resetMidBody'", "retrying reset"),
            ("wire: { truncateBody: 3 }", "retrying reset"), ("wire: { garbage: 40 }", "retrying reset"),
            ("wire: { bothLengths: true }", "rejected"), ("wire: { contentLength: '-1' }", "rejected"),
            ("wire: { contentLength: '+9' }", "retrying reset"), ("headers: 'H09.chunked'", "accepted"),
            ("wire: { bandwidth: '8kB/s' }", "accepted"), ("wire: { extraHeaders: 5 }", "accepted"),
        ])
    func captured(_ then: String, _ expected: String) async throws {
        let sim = PushSim.current
        let device = try sim.device(.androidUnifiedPush)
        try await device.register()
        try sim.setProfile(
            .json5("{ rules: [ { on: { side: 'delivery' }, when: { calls: '1' }, then: { \(then) } } ] }"))
        let sent = try await sim.fluxer.notify(channel: "1", title: "t", body: "")
        #expect(sent.map(\.outcome) == [expected.split(separator: " ")[0].description])
        let journal = try await sim.fluxer("GET", "/__pushsim/journal?backend=fluxer").json["entries"]?.elements ?? []
        let failure = journal.last { $0["side"] == "delivery" }?["failure"]?.string
        if expected.hasPrefix("retrying") {
            #expect(failure == expected.split(separator: " ").last.map(String.init))
            await sim.advance(by: .milliseconds(200))
        }
        #expect(device.inbox.deliveries.count == (expected == "rejected" ? 0 : 1))
    }

    @Test("What waits to be shuffled with too few others goes after a minute")
    func shuffledAlone() async throws {
        let sim = PushSim.current
        let device = try sim.device(.androidUnifiedPush)
        try await device.register()
        try sim.setProfile(.json5("{ rules: [ { on: { side: 'delivery' }, then: { reorder: 3 } } ] }"))
        for message in ["1", "2"] { try await sim.fluxer.notify(channel: "1", message: message, title: "t", body: "") }
        await sim.advance(by: .seconds(59))
        #expect(device.inbox.deliveries.isEmpty)
        await sim.advance(by: .seconds(1))
        #expect(device.inbox.deliveries.count == 2)
    }

    @Test("A rule names the account of a delivery by its id or by a session token")
    func accounts() async throws {
        let sim = PushSim.current
        let session = try sim.fluxer.session()
        for account in [session.account, session.token] {
            let device = try sim.device(.androidUnifiedPush, name: account, session: session.token)
            try await device.register()
            try sim.setProfile(
                .json5("{ rules: [ { on: { side: 'delivery', account: '\(account)' }, then: { drop: true } } ] }"))
            let sent = try await sim.fluxer.notify(account: account, channel: "1", title: "t", body: "")
            #expect(!sent.isEmpty && sent.allSatisfy { $0.outcome == "dropped" })
        }
    }

    @Test("Retry-After may be a date, and the path of an endpoint is sent percent-encoded")
    func dates() async throws {
        let sim = PushSim.current
        let upstream = try await Upstream.start([
            .status(429, [HeaderField("Retry-After", "Thu, 01 Jan 2026 00:00:20 GMT")]), .status(201, []),
        ])
        try sim.setOption("fluxer.retryAfter", to: "honoured")
        try sim.route("push.example.org", to: try #require(URL(string: "http://127.0.0.1:\(upstream.port)")))
        #expect(try await sim.register("android_unified_push", "https://push.example.org/a/é?b=ü", keys).status == 200)
        #expect(try await sim.fluxer.notify(channel: "1", title: "t", body: "").map(\.outcome) == ["retrying"])
        await sim.advance(by: .milliseconds(19_999))
        #expect(upstream.received.count == 1)
        await sim.advance(by: .milliseconds(1))
        #expect(upstream.received.count == 2)
        #expect(upstream.received.map { $0.head.text($0.head.target) } == ["/a/%C3%A9?b=%C3%BC", "/a/%C3%A9?b=%C3%BC"])
        await upstream.stop()
    }

    @Test(
        "Routes that could never be taken are refused",
        arguments: ["push.example.org:80", "https://a.example", "*.org", "push.pushsim.example", ""])
    func routes(_ host: String) throws {
        let url = try #require(URL(string: "http://127.0.0.1:9"))
        #expect(throws: PushSimError.self) { try PushSim.current.route(host, to: url) }
        let path = try #require(URL(string: "http://127.0.0.1:9/base"))
        #expect(throws: PushSimError.self) { try PushSim.current.route("push.example.org", to: path) }
    }

    @Test("NTM too: 404 and 410 remove the subscriber, 429 and 5xx make it try again", arguments: [404, 410, 429, 503])
    func ntm(_ status: Int) async throws {
        let sim = PushSim.current
        let port = sim.url.port ?? 0
        let bearer = [("Authorization", "Bearer alice")]
        let made = try await call(
            port: port, "POST", "/v1/subscriber", fields: bearer,
            body: #"{"proto":"apns","token":"t","app_domain":"a.b"}"#)
        let id = try #require(made.json["id"]?.string)
        _ = try await call(port: port, "POST", "/v1/subscription/subscriber/\(id)/topic/a.b/chat/x", fields: bearer)
        try sim.setProfile(
            .json5(
                "{ rules: [ { on: { side: 'delivery' }, when: { calls: '1' }, then: { answer: { status: \(status) } } } ] }"
            ))
        try await sim.ntm.notify(topic: "a.b/chat/x", type: "chat")
        await sim.advance(by: .milliseconds(200))
        let isGone = status == 404 || status == 410
        #expect(sim.inbox(of: "t").deliveries.count == (isGone ? 0 : 1))
        #expect(try await sim.ntm.notify(topic: "a.b/chat/x", type: "chat").count == (isGone ? 0 : 1))
    }

    @Test("What a call makes is lost after it: the client has an id or a 200, and the server has forgotten")
    func lost() async throws {
        let sim = PushSim.current
        let port = sim.url.port ?? 0
        let bearer = [("Authorization", "Bearer alice")]
        let body = #"{"proto":"apns","token":"t","app_domain":"a.b"}"#
        try sim.setProfile(
            .json5(
                """
                { rules: [ { on: { route: 'subscribe' }, then: { lose: 'subscription' } },
                  { on: { route: 'registerSubscriber' }, when: { calls: '2' }, then: { lose: 'subscriber' } },
                  { on: { route: 'registerDevice' }, then: { lose: 'registration' } } ] }
                """))
        let id = try #require(
            try await call(port: port, "POST", "/v1/subscriber", fields: bearer, body: body).json["id"]?.string)
        let topic = "/v1/subscription/subscriber/\(id)/topic/a.b/chat/x"
        #expect(try await call(port: port, "POST", topic, fields: bearer).status == 200)
        #expect(try await sim.ntm.notify(topic: "a.b/chat/x", type: "chat").count == 0)
        let again = try await call(port: port, "POST", "/v1/subscriber", fields: bearer, body: body)
        #expect(again.status == 200 && again.json["id"]?.string == id)
        #expect(try await call(port: port, "POST", topic, fields: bearer).status == 452)
        #expect(try await sim.register("ios_apns", "vendor").status == 200)
        #expect(try await sim.fluxer("GET", "/v1/users/@me/mobile-devices").json["devices"]?.elements?.isEmpty == true)
    }
}
