import Foundation
import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Testing

@Suite("Deliveries that are kept back or tried again (faults.md, ntm.md)", .pushSim(clock: .frozen))
struct KeptBackTests {
    private func load(_ rule: String) throws {
        try PushSim.current.setProfile(.json5("{ rules: [ { on: { side: 'delivery' }, \(rule) } ] }"))
    }

    @Test(
        "Nothing reaches an NTM subscriber after it has deregistered, held back or tried again",
        arguments: ["then: { hold: '5s' }", "when: { calls: '1' }, then: { answer: { status: 503 } }"])
    func deregistered(_ rule: String) async throws {
        let sim = PushSim.current
        let port = sim.url.port ?? 0
        let alice = [("Authorization", "Bearer alice")]
        let made = try await call(
            port: port, "POST", "/v1/subscriber", fields: alice,
            body: #"{"proto":"apns","token":"t","app_domain":"example.com"}"#)
        let id = try #require(made.json["id"]?.string)
        let topic = "/v1/subscription/subscriber/\(id)/topic/example.com%2Fvideo%2Falice%40example.com"
        #expect(try await call(port: port, "POST", topic, fields: alice).status < 300)
        try load(rule)
        let sent = try await sim.ntm.notify(topic: "example.com/video/alice@example.com")
        #expect(sent.count == 1)
        #expect(try await call(port: port, "DELETE", "/v1/subscriber/\(id)", fields: alice).status == 200)
        await sim.advance(by: .seconds(100))
        #expect(sim.inbox(of: "t").deliveries.isEmpty)
        let rows = try await sim.fluxer("GET", "/__pushsim/journal?backend=ntm").json["entries"]?.elements ?? []
        let last = rows.last { $0["side"] == "delivery" }
        #expect(last?["outcome"] == "dropped" && last?["failure"]?.string?.contains("has ended") == true)
    }

    @Test("A delivery that stalls is given up after as long as on a socket, on the simulation clock")
    func stalled() async throws {
        let sim = PushSim.current
        let device = try sim.device(.androidUnifiedPush)
        try await device.register()
        try load("when: { calls: '1' }, then: { connection: 'stall' }")
        try await sim.fluxer.notify(channel: "1", title: "t", body: "")
        await sim.advance(by: .milliseconds(10_199))
        #expect(device.inbox.deliveries.isEmpty)
        await sim.advance(by: .milliseconds(1))
        #expect(device.inbox.deliveries.map(\.attempts) == [2])
    }

    @Test("A false length asked as a header stays with the delivery: each attempt has it")
    func falseLength() async throws {
        let sim = PushSim.current
        let device = try sim.device(.androidUnifiedPush)
        try await device.register()
        try load("when: { calls: '1' }, then: { headers: 'H08.low' }")
        let sent = try await sim.fluxer.notify(channel: "1", title: "t", body: "")
        #expect(sent.map(\.outcome) == ["rejected"])
        try load("when: { calls: '1' }, then: { headers: 'H08.high' }")
        let waiting = try await sim.fluxer.notify(channel: "1", title: "t", body: "")
        #expect(waiting.map(\.outcome) == ["retrying"])
        await sim.advance(by: .seconds(100))
        #expect(device.inbox.deliveries.isEmpty)
        let journal = try await sim.fluxer("GET", "/__pushsim/journal").json["entries"]?.elements ?? []
        let outcomes = journal.compactMap { $0["outcome"]?.string }
        #expect(outcomes.last == "gave_up" && outcomes.filter { $0 == "retrying" }.count > 5)
    }

    @Test(
        "A false length holds beside what wire says of other things, and gives way where wire says the length",
        arguments: [
            ("extraHeaders: 2", "rejected"), ("headerBytes: 50", "rejected"), ("bandwidth: '900kB/s'", "rejected"),
            ("contentLength: '+9'", "retrying"),
        ])
    func combined(_ wire: String, _ outcome: String) async throws {
        let sim = PushSim.current
        try await sim.device(.androidUnifiedPush).register()
        try load("when: { calls: '1' }, then: { headers: 'H08.low', wire: { \(wire) } }")
        #expect(try await sim.fluxer.notify(channel: "1", title: "t", body: "").map(\.outcome) == [outcome])
    }

    @Test(
        "The inbox names what was put in, on the attempt that arrives too, and nothing where nothing was",
        arguments: [
            ("then: { ring: 'dead' }", nil), ("then: { id: 1 }", nil),
            ("when: { calls: '1' }, then: { payload: { set: { title: 'Q' } }, answer: { status: 503 } }", "rule-1"),
            ("when: { calls: '1' }, then: { headers: { TTL: null }, answer: { status: 503 } }", "rule-1"),
            ("when: { calls: '1' }, then: { record: 'K01', answer: { status: 503 } }", "K01"),
        ] as [(String, String?)])
    func faultNames(_ rule: String, _ fault: String?) async throws {
        let sim = PushSim.current
        let device = try sim.device(.androidUnifiedPush)
        try await device.register()
        if rule.contains("id: 1") { try sim.setProfile(nil) } else { try load(rule) }
        try await sim.fluxer.notify(channel: "1", title: "t", body: "")
        await sim.advance(by: .seconds(1))
        #expect(device.inbox.deliveries.map(\.fault) == [fault])
    }
}

@Suite("What the ledger says of pushes (fluxer.md, obligations)", .pushSim(clock: .frozen))
struct PushObligationTests {
    private func state(_ id: String) async throws -> String? {
        let rows = try await PushSim.current.fluxer("GET", "/__pushsim/obligations").json["obligations"]?.elements ?? []
        return rows.first { $0["id"]?.string == "fluxer.\(id)" }?["state"]?.string
    }

    private func load(_ rule: String) throws {
        try PushSim.current.setProfile(.json5("{ rules: [ { on: { side: 'delivery' }, \(rule) } ] }"))
    }

    @Test(
        "A device that rings for what is no ring for it now has broken its duty",
        arguments: [
            ("ring: 'expired'", "oneCall", "broken"), ("ring: 'foreign'", "oneCall", "broken"),
            ("ring: 'dead'", "oneCall", "broken"), ("record: 'K01'", "undecryptable", "broken"),
            ("payload: { set: { 'data.expires_at_ms': 1 } }", "oneCall", "broken"),
            ("headers: { 'X-A': 'b' }", "oneCall", "met"),
        ])
    func rings(_ then: String, _ id: String, _ wanted: String) async throws {
        let sim = PushSim.current
        let device = try sim.device(.iosAPNsVoIP)
        try await device.register()
        try load("then: { \(then) }")
        try await sim.fluxer.ring(channel: "1", message: "2")
        try sim.report(try await device.inbox.next(), .rang)
        #expect(try await state(id) == wanted)
    }

    @Test("Two devices that ring for one call ring once each; one that rings twice has broken its duty")
    func twoDevices() async throws {
        let sim = PushSim.current
        let devices = [try sim.device(.iosAPNsVoIP), try sim.device(.iosAPNsVoIP)]
        for device in devices { try await device.register() }
        try await sim.fluxer.ring(channel: "1", message: "2")
        for device in devices { try sim.report(try await device.inbox.next(), .rang) }
        #expect(try await state("oneCall") == "met")
        try sim.report(try #require(devices[0].inbox.deliveries.first), .rang)
        #expect(try await state("oneCall") == "broken")
    }

    @Test("What may be opened by the RFCs may be shown", arguments: ["F11", "F12", "F13", "F20", "K03"])
    func mayOpen(_ id: String) async throws {
        let sim = PushSim.current
        let device = try sim.device(.androidUnifiedPush)
        try await device.register()
        try await device.reregister()
        try load("then: { record: '\(id)' }")
        try await sim.fluxer.notify(channel: "1", title: "t", body: "")
        try sim.report(try await device.inbox.next(), .shown)
        #expect(try await state("undecryptable") != "broken")
    }

    @Test("A device that comes back with another endpoint has come back")
    func newEndpoint() async throws {
        let sim = PushSim.current
        let endpoint = "https://push.pushsim.example/push/"
        #expect(try await sim.register("android_unified_push", endpoint + "old", keys).status == 200)
        try load("when: { calls: '1' }, then: { answer: { status: 410 } }")
        try await sim.fluxer.notify(channel: "1", title: "t", body: "")
        #expect(try await state("registerAgain") == "not exercised")
        #expect(try await sim.register("android_unified_push", endpoint + "new", keys).status == 200)
        #expect(try await state("registerAgain") == "met")
    }

    @Test("Retry-After is obeyed by its whole seconds, not by the body's fraction")
    func wholeSeconds() async throws {
        let sim = PushSim.current
        func ask() async throws -> Int { try await sim.fluxer("GET", "/v1/users/@me/mobile-devices").status }
        try sim.setProfile(
            .json5(
                "{ rules: [ { on: { route: 'listDevices' }, when: { calls: '1' }, then: { status: 429, retryAfter: '2500ms' } } ] }"
            ))
        #expect(try await ask() == 429)
        await sim.advance(by: .milliseconds(2600))
        #expect(try await ask() == 200)
        #expect(try await state("rateLimits") == "broken")
    }

    @Test(
        "A scripted 429 has the form of Fluxer's own on every route, and never a Retry-After of 0",
        arguments: ["discovery", "listDevices", "stopRinging"])
    func scripted(_ route: String) async throws {
        let sim = PushSim.current
        try sim.setProfile(
            .json5("{ rules: [ { on: { route: '\(route)' }, then: { status: 429, retryAfter: '0s' } } ] }"))
        let calls = [
            "discovery": ("GET", "/.well-known/fluxer"), "listDevices": ("GET", "/v1/users/@me/mobile-devices"),
            "stopRinging": ("POST", "/v1/channels/42/call/stop-ringing"),
        ]
        let (method, target) = try #require(calls[route])
        let answer = try await sim.fluxer(method, target)
        #expect(answer.status == 429 && answer.fields.first("Retry-After")?.text == "1")
        #expect(answer.json["global"] == false && answer.json["retry_after"] != nil)
    }

    @Test(
        "A raw registration goes on its own vendor's words alone",
        arguments: [
            ("ios_apns", 201, "BadDeviceToken", "accepted"), ("ios_apns", 400, "BadDeviceToken", "removed"),
            ("ios_apns", 400, "INVALID_ARGUMENT", "rejected"), ("ios_apns", 500, "Unregistered", "retrying"),
            ("android_fcm", 400, "BadDeviceToken", "rejected"), ("android_fcm", 400, "INVALID_ARGUMENT", "removed"),
            ("android_fcm", 404, "UNREGISTERED", "removed"), ("android_fcm", 201, "UNREGISTERED", "accepted"),
        ])
    func vendors(_ platform: String, _ status: Int, _ reason: String, _ outcome: String) async throws {
        let sim = PushSim.current
        #expect(try await sim.register(platform, "t", "").status == 200)
        try load("then: { answer: { status: \(status), reason: '\(reason)' } }")
        let sent = try await sim.fluxer.notify(channel: "1", title: "t", body: "")
        #expect(sent.map(\.outcome) == [outcome])
    }
}
