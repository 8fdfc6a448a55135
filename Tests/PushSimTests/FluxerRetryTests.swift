import Foundation
import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Testing

@Suite("How Fluxer's deliveries end (fluxer.md, \"Outcomes\")", .pushSim(clock: .frozen))
struct FluxerRetryTests {
    @Test("429, 503, a reset and silence are retried with the documented waits and the same bytes, then accepted")
    func retries() async throws {
        let sim = PushSim.current
        let upstream = try await Upstream.start([
            .status(429, [HeaderField("Retry-After", "60")]), .status(503, []), .reset, .hang, .status(201, []),
        ])
        try sim.route("push.example.org", to: try #require(URL(string: "http://127.0.0.1:\(upstream.port)")))
        _ = try await sim.register("android_unified_push", endpoint, keys)
        #expect(try await sim.fluxer.notify(channel: "1", title: "a", body: "b").map(\.outcome) == ["retrying"])
        await sim.advance(by: .milliseconds(600))
        // Only the attempt that gets no answer is timed: a busy machine may be late with the others.
        sim.setDeliveryLimits(connect: .seconds(1), whole: .seconds(1))
        await sim.advance(by: .seconds(1))
        sim.setDeliveryLimits(connect: .seconds(10), whole: .seconds(10))
        await sim.advance(by: .seconds(9))
        #expect(
            try await sim.attempts() == [
                "00:00:00 retrying 429", "00:00:00.200 retrying 503", "00:00:00.600 retrying reset",
                "00:00:01.600 retrying timeout", "00:00:03.600 accepted 201",
            ])
        #expect(upstream.received.count == 5)
        #expect(Set(upstream.received.map(\.body)).count == 1)
        let head = try #require(upstream.received.first?.head)
        #expect(head.methodText == "POST" && head.text(head.path) == "/device/1")
        #expect(head.values("host") == [Array("push.example.org".utf8)])
        #expect(head.values("content-encoding") == [Array("aes128gcm".utf8)])
        #expect(sim.inbox(of: endpoint).deliveries.count == 1)
        await upstream.stop()
    }

    @Test("Retry-After in a far year is no time at which anything could be sent again")
    func farRetryAfter() async throws {
        let sim = PushSim.current
        let far = [HeaderField("Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT")]
        let upstream = try await Upstream.start([.status(201, far), .status(503, far)])
        try sim.route("push.example.org", to: try #require(URL(string: "http://127.0.0.1:\(upstream.port)")))
        try sim.setOption("fluxer.retryAfter", to: "honoured")
        _ = try await sim.register("android_unified_push", endpoint, keys)
        #expect(try await sim.fluxer.notify(channel: "1", title: "a", body: "b").map(\.outcome) == ["accepted"])
        #expect(try await sim.fluxer.notify(channel: "1", title: "a", body: "b").map(\.outcome) == ["gave_up"])
        await upstream.stop()
    }

    @Test("What is under way at a reset is not tried again in the new run")
    func resetForgets() async throws {
        let sim = PushSim.current
        let upstream = try await Upstream.start([.hang, .status(201, [])])
        try sim.route("push.example.org", to: try #require(URL(string: "http://127.0.0.1:\(upstream.port)")))
        sim.setDeliveryLimits(connect: .seconds(1), whole: .seconds(1))
        _ = try await sim.register("android_unified_push", endpoint, keys)
        async let sent = sim.fluxer.notify(channel: "1", title: "a", body: "b")
        try await eventually { upstream.received.count == 1 }
        sim.reset()
        _ = try await sent
        sim.setDeliveryLimits(connect: .seconds(10), whole: .seconds(10))
        // The hanging one has failed by then, and would come again after 200 ms of the clock.
        _ = try await sim.register("android_unified_push", "https://push.example.org/device/2", keys)
        #expect(try await sim.fluxer.notify(channel: "1", title: "c", body: "d").map(\.outcome) == ["accepted"])
        await sim.advance(by: .seconds(100))
        #expect(upstream.received.map { $0.head.text($0.head.path) } == ["/device/1", "/device/2"])
        await upstream.stop()
    }

    @Test("The time for retries begins with the first attempt, not while the push is held back")
    func heldThenRetried() async throws {
        let sim = PushSim.current
        try sim.setProfile(
            .json5(
                "{ rules: [ { on: { side: 'delivery' }, when: { calls: '1' }, then: { hold: '5m', answer: { status: 503 } } } ] }"
            ))
        _ = try await sim.register("android_unified_push", endpoint, keys)
        _ = try await sim.fluxer.notify(channel: "1", title: "a", body: "b")
        await sim.advance(by: .seconds(301))
        #expect(try await sim.attempts() == ["00:05:00 retrying 503", "00:05:00.200 accepted "])
    }

    @Test("next(after:) goes by what came later, whatever its number")
    func inOrderOfArrival() async throws {
        let sim = PushSim.current
        try sim.setProfile(
            .json5(
                "{ rules: [ { on: { side: 'delivery' }, when: { calls: '1' }, then: { hold: '5s' } } ] }"))
        let device = try sim.device(.androidUnifiedPush)
        try await device.register()
        for number in 1...2 { try await sim.fluxer.notify(channel: "1", title: "t", body: "\(number)") }
        let first = try await device.inbox.next()
        #expect(first.id == "d2")
        await sim.advance(by: .seconds(5))
        #expect(try await device.inbox.next(after: first).id == "d1")
    }

    @Test("A refused connection is retried like a busy one")
    func refused() async throws {
        let sim = PushSim.current
        // Nobody listens on the port of tcpmux, and no free port is given out there.
        try sim.route("push.example.org", to: try #require(URL(string: "http://127.0.0.1:1")))
        _ = try await sim.register("android_unified_push", endpoint, keys)
        _ = try await sim.fluxer.notify(channel: "1", title: "a", body: "b")
        await sim.advance(by: .milliseconds(700))
        #expect(
            try await sim.attempts() == [
                "00:00:00 retrying refused", "00:00:00.200 retrying refused", "00:00:00.600 retrying refused",
            ])
    }

    @Test(
        "Other answers are not retried and keep the registration; 404 and 410 remove it",
        arguments: [
            (301, "rejected", 1), (400, "rejected", 1), (413, "rejected", 1), (404, "removed", 0), (410, "removed", 0),
        ])
    func verdicts(_ status: Int, _ outcome: String, _ left: Int) async throws {
        let sim = PushSim.current
        let upstream = try await Upstream.start([.status(status, [HeaderField("Location", "/elsewhere")])])
        try sim.route("push.example.org", to: try #require(URL(string: "http://127.0.0.1:\(upstream.port)")))
        _ = try await sim.register("android_unified_push", endpoint, keys)
        _ = try await sim.fluxer.notify(channel: "1", title: "a", body: "b")
        await sim.advance(by: .seconds(100))
        #expect(try await sim.attempts() == ["00:00:00 \(outcome) \(status)"])
        #expect(upstream.received.count == 1)
        let devices = try await sim.fluxer("GET", "/v1/users/@me/mobile-devices").json["devices"]?.elements
        #expect(devices?.count == left)
        await upstream.stop()
    }

    @Test(
        "Retries end inside 90 s, a ring's inside 10 s",
        arguments: [("android_fcm", "notification", 9, "00:01:01.600"), ("ios_apns_voip", "ring", 6, "00:00:07.600")])
    func givingUp(_ platform: String, _ kind: String, _ count: Int, _ last: String) async throws {
        let sim = PushSim.current
        try sim.setProfile(.json5("{ rules: [ { on: { side: 'delivery' }, then: { answer: { status: 503 } } } ] }"))
        _ = try await sim.register(platform, endpoint, keys)
        if kind == "ring" {
            _ = try await sim.fluxer.ring(channel: "1", message: "2")
        } else {
            _ = try await sim.fluxer.notify(channel: "1", title: "a", body: "b")
        }
        await sim.advance(by: .seconds(200))
        let attempts = try await sim.attempts()
        #expect(attempts.count == count)
        #expect(attempts.last == "\(last) gave_up 503")
        #expect(attempts.dropLast().allSatisfy { $0.hasSuffix("retrying 503") })
    }

    @Test("fluxer.retryAfter: honoured waits as long as the push service asks")
    func honoured() async throws {
        let sim = PushSim.current
        try sim.setOption("fluxer.retryAfter", to: "honoured")
        try sim.setProfile(
            .json5(
                "{ rules: [ { on: { side: 'delivery' }, when: { calls: '1' }, then: { answer: { status: 429, retryAfter: '7s' } } } ] }"
            ))
        _ = try await sim.register("android_unified_push", endpoint, keys)
        _ = try await sim.fluxer.notify(channel: "1", title: "a", body: "b")
        await sim.advance(by: .seconds(10))
        #expect(try await sim.attempts() == ["00:00:00 retrying 429", "00:00:07 accepted "])
    }

    @Test("Bad keys show at delivery: invalid_keys, the registration kept")
    func invalidKeys() async throws {
        let sim = PushSim.current
        let bad = #""encryption_key":"AAAA","auth_secret":"\#(secret)""#
        _ = try await sim.register("android_unified_push", endpoint, bad)
        #expect(try await sim.fluxer.notify(channel: "1", title: "a", body: "b").map(\.outcome) == ["invalid_keys"])
        #expect(try await sim.fluxer.notify(channel: "1", title: "a", body: "b").count == 1)
    }

    @Test("fluxer.endpointPorts: strict never delivers to other ports than 443 and 80")
    func strictPorts() async throws {
        let sim = PushSim.current
        try sim.setOption("fluxer.endpointPorts", to: "strict")
        _ = try await sim.register("android_unified_push", "https://a.example:8443/x", keys)
        _ = try await sim.register("android_unified_push", "https://a.example:443/x", keys)
        let sent = try await sim.fluxer.notify(channel: "1", title: "a", body: "b")
        #expect(sent.map(\.outcome) == ["endpoint_rejected", "accepted"])
    }

    @Test(
        "fluxer.recordSize and fluxer.padding",
        arguments: [
            ("4096", "2816", 4096, 2816), ("exact", "2816", 2730, 2816), ("tight", "2816", 2731, 2816),
            ("3000", "4000", 3000, 4000), ("4096", "none", 4096, nil),
        ] as [(String, String, Int, Int?)])
    func recordOptions(_ size: String, _ padding: String, _ recordSize: Int, _ length: Int?) async throws {
        let sim = PushSim.current
        try sim.setOption("fluxer.recordSize", to: size)
        try sim.setOption("fluxer.padding", to: padding)
        let device = try sim.device(.androidUnifiedPush)
        try await device.register()
        try await sim.fluxer.notify(channel: "1", title: "a", body: "b")
        let push = try await device.inbox.next()
        #expect(Int(push.body[18]) << 8 | Int(push.body[19]) == recordSize)
        #expect(push.body.count == length ?? (push.plaintext?.count ?? 0) + 103)
    }

    @Test("A raw registration goes on what APNs and FCM say", arguments: ["BadDeviceToken", "DeviceTokenNotForTopic"])
    func rawReasons(_ reason: String) async throws {
        let sim = PushSim.current
        _ = try await sim.register("ios_apns", "abc")
        try sim.setProfile(
            .json5(
                "{ rules: [ { on: { side: 'delivery' }, then: { answer: { status: 400, reason: '\(reason)' } } } ] }"))
        #expect(try await sim.fluxer.notify(channel: "1", title: "a", body: "b").map(\.outcome) == ["removed"])
        #expect(try await sim.fluxer.notify(channel: "1", title: "a", body: "b").isEmpty)
    }
}
