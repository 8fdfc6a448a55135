import Foundation
import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Testing

@Suite("Faults on deliveries (faults.md, \"then, on a delivery\")", .pushSim(clock: .frozen))
struct DeliveryFaultTests {
    private func device(_ rules: String) async throws -> (PushSim, SimDevice) {
        let sim = PushSim.current
        let device = try sim.device(.androidUnifiedPush)
        try await device.register()
        try sim.setProfile(.json5("{ rules: [ \(rules) ] }"))
        return (sim, device)
    }

    private func titles(_ device: SimDevice) throws -> [String] {
        try device.inbox.deliveries.map { try device.decrypt($0)["title"]?.string ?? "" }
    }

    @Test("drop: lost, with its outcome in the answer")
    func drop() async throws {
        let (sim, device) = try await device("{ on: { side: 'delivery' }, when: { calls: '2' }, then: { drop: true } }")
        let outcomes = try await [
            sim.fluxer.notify(channel: "1", title: "a", body: ""),
            sim.fluxer.notify(channel: "1", title: "b", body: ""),
        ]
        #expect(outcomes.flatMap { $0 }.map(\.outcome) == ["accepted", "dropped"])
        #expect(try titles(device) == ["a"])
    }

    @Test("duplicate: the same bytes, or with fresh newly encrypted", arguments: [false, true])
    func duplicate(_ isFresh: Bool) async throws {
        let (sim, device) = try await device(
            "{ on: { side: 'delivery' }, then: { duplicate: 3, fresh: \(isFresh) } }")
        try await sim.fluxer.notify(channel: "1", title: "a", body: "")
        let pushes = device.inbox.deliveries
        #expect(pushes.count == 3)
        #expect(Set(pushes.map(\.body)).count == (isFresh ? 3 : 1))
        #expect(try titles(device) == ["a", "a", "a"])
    }

    @Test("hold: kept back on the scope's clock, and gone with a reset")
    func hold() async throws {
        let (sim, device) = try await device("{ on: { side: 'delivery' }, then: { hold: '5s' } }")
        #expect(try await sim.fluxer.notify(channel: "1", title: "a", body: "").map(\.outcome) == ["pending"])
        await sim.advance(by: .milliseconds(4999))
        #expect(device.inbox.deliveries.isEmpty)
        await sim.advance(by: .milliseconds(1))
        #expect(try titles(device) == ["a"])
        _ = try await sim.fluxer.notify(channel: "1", title: "b", body: "")
        sim.reset()
        await sim.advance(by: .seconds(60))
        #expect(device.inbox.deliveries.isEmpty)
    }

    @Test("late: sent so long after its time to live has run out")
    func late() async throws {
        let sim = PushSim.current
        let device = try sim.device(.iosAPNsVoIP)
        try await device.register()
        try sim.setProfile(.json5("{ rules: [ { on: { kind: 'ring', side: 'delivery' }, then: { late: '40s' } } ] }"))
        _ = try await sim.fluxer.ring(channel: "1", message: "2")
        await sim.advance(by: .seconds(39))
        #expect(device.inbox.deliveries.isEmpty)
        await sim.advance(by: .seconds(1))
        #expect(device.inbox.deliveries.count == 1)
    }

    @Test("reorder: the two change places; of more none keeps all in order")
    func reorder() async throws {
        let (sim, device) = try await device("{ on: { side: 'delivery' }, then: { reorder: 2 } }")
        for title in ["a", "b", "c", "d"] { _ = try await sim.fluxer.notify(channel: "1", title: title, body: "") }
        #expect(try titles(device) == ["b", "a", "d", "c"])
    }

    @Test("headers: changed or left out; the bytes stay")
    func headers() async throws {
        let (sim, device) = try await device(
            "{ on: { side: 'delivery' }, then: { headers: { TTL: null, Urgency: 'low', 'X-More': 1 } } }")
        try await sim.fluxer.notify(channel: "1", title: "a", body: "")
        let push = try await device.inbox.next()
        #expect(push.headers.map(\.name) == ["Content-Type", "Content-Encoding", "Authorization", "Urgency", "X-More"])
        #expect(push.headers.suffix(2).map(\.value) == ["low", "1"])
        #expect(try titles(device) == ["a"])
    }

    @Test("payload: set and dropped after shrinking, before encryption")
    func payload() async throws {
        let (sim, device) = try await device(
            "{ on: { side: 'delivery' }, then: { payload: { set: { 'data.channel_id': '0', 'new.deep': [1] }, drop: ['title', 'data.url'] } } }"
        )
        try await sim.fluxer.notify(channel: "1", title: "a", body: "")
        let json = try device.decrypt(try await device.inbox.next())
        #expect(json["data"]?["channel_id"] == "0" && json["new"] == ["deep": [1]])
        #expect(json["title"] == nil && json["data"]?["url"] == nil)
    }

    @Test("A retry is the same call for the payload, and a new one for the answer")
    func retries() async throws {
        let (sim, device) = try await device(
            """
            { id: 'busy', on: { side: 'delivery' }, when: { calls: '1-2' }, then: { answer: { status: 503 } }, continue: true },
            { id: 'changed', on: { side: 'delivery' }, when: { calls: '1' }, then: { payload: { set: { title: 'x' } } } }
            """)
        try await sim.fluxer.notify(channel: "1", title: "a", body: "")
        await sim.advance(by: .seconds(5))
        try await sim.fluxer.notify(channel: "1", title: "b", body: "")
        #expect(try titles(device) == ["x", "b"])
    }

    @Test("NTM: userdata that is no JSON, a cancel before its notify")
    func ntm() async throws {
        let sim = PushSim.current
        let bearer = ("Authorization", "Bearer alice")
        let port = sim.url.port ?? 0
        let id = String(
            try await PushSimTestSupport.call(
                port: port, "POST", "/v1/subscriber", fields: [bearer],
                body: #"{"proto":"apns","token":"abc","app_domain":"example.com"}"#
            ).body.text.dropFirst(7).prefix(30))
        _ = try await PushSimTestSupport.call(
            port: port, "POST", "/v1/subscription/subscriber/\(id)/topic/example.com/video/alice", fields: [bearer])
        try sim.setProfile(
            .json5(
                "{ rules: [ { on: { side: 'delivery', backend: 'ntm' }, then: { payload: { userdata: 'notJSON' }, reorder: 2 } } ] }"
            ))
        try await sim.ntm.notify(topic: "example.com/video/alice")
        #expect(sim.inbox(of: "abc").deliveries.isEmpty)
        try await sim.ntm.notify(topic: "example.com/video/alice", type: "cancel")
        let pushes = sim.inbox(of: "abc").deliveries
        #expect(pushes.map(\.kind) == ["cancel", "notify"])
        let userdata = try #require(pushes[0].dictionary?["userdata"]?.string)
        #expect(throws: (any Error).self) { try JSONDocument(userdata) }
    }

    @Test(
        "Mistakes in a rule about deliveries are named",
        arguments: [
            ("on: { side: 'delivery', path: '/x' }, then: { drop: true }", "\"path\" belongs to calls"),
            ("on: { side: 'delivery' }, then: { duplicate: 1 }", "\"duplicate\" must be a whole number from 2"),
            ("on: { side: 'delivery' }, then: { fresh: true }", "give \"duplicate\""),
            ("on: { side: 'delivery' }, then: { answer: {} }", "\"answer\" needs a \"status\""),
            ("on: { side: 'delivery' }, then: { status: 410 }", "unknown key \"status\""),
            ("on: { side: 'delivery' }, then: { payload: { set: { '': 1 } } }", "is no path"),
            ("on: { side: 'delivery' }, then: { headers: { 'a b': 'c' } }", "no header that HTTP allows"),
            ("on: { side: 'delivery' }, then: {}", "says nothing"),
        ])
    func mistakes(_ rule: String, _ message: String) throws {
        let error = #expect(throws: PushSimError.self) {
            try PushSim.current.setProfile(.json5("{ rules: [ { \(rule) } ] }"))
        }
        #expect(error?.description.contains(message) == true)
    }
}
