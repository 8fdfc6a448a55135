import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Testing

@Suite("Sunbird's state, given and taken back (control-api.md, PUT `/state`)", .pushSim(clock: sunbirdStart))
struct SunbirdStateTests {
    let sim = PushSim.current

    @Test("A run that comes late, as after a state of before, leaves the others where they were")
    func grid() async throws {
        let long = greeting.replacing("\"expiry\":60", with: "\"expiry\":10000")
        _ = try await sim.broadcast(long, #","repeat":"15m""#)
        await sim.advance(by: .seconds(600))
        let state = try await sim.fcm("GET", "/__pushsim/state").body.text
            .replacing("2026-01-01T00:15:00Z", with: "2025-12-31T23:40:00Z")
        #expect(try await sim.fcm("PUT", "/__pushsim/state", state).status == 204)
        await sim.advance(by: .seconds(1))
        let listed = try await sim.fcm("GET", "/__pushsim/sunbird/broadcasts").json["broadcasts"]?[0]
        #expect(listed?["runs"]?.int == 2 && listed?["next"]?.string == "2026-01-01T00:25:00Z")
    }

    @Test("Names that were taken once are taken back, whatever is taken now")
    func oldNames() async throws {
        try sim.setOption("sunbird.topicNames", to: "lenient")
        _ = try await sim.add("a b", "a")
        _ = try await sim.add("/topics//topics/y", "a")
        #expect(try await sim.fcm("POST", "/iid/v1/a/rel/topics/%FF").status == 400)
        try sim.setOption("sunbird.topicNames", to: "strict")
        let state = try await sim.fcm("GET", "/__pushsim/state").body
        #expect(try await sim.fcm("PUT", "/__pushsim/state", state.text).status == 204)
        #expect(try await sim.fcm("GET", "/__pushsim/state").body == state)
    }

    @Test(
        "A state with numbers that cannot be counted on is refused, of any backend, and changes nothing",
        arguments: [
            #"{"sunbird":{"next_broadcast":N}}"#, #"{"sunbird":{"messages":N}}"#,
            #"{"sunbird":{"broadcasts":[{"id":"bN","topic":"t","payload":{},"runs":0}]}}"#,
            #"{"sunbird":{"broadcasts":[{"id":"b1","topic":"t","payload":{},"runs":N}]}}"#,
            #"{"ntm":{"notifications":N}}"#, #"{"ntm":{"tokens":N}}"#,
            #"{"ntm":{"registrations":[{"proto":"apns","token":"t","app_domain":"a.b","count":N}]}}"#,
            #"{"fluxer":{"sessions_minted":N}}"#, #"{"sunbird":{"tokens":[{"token":"a","since":"N"}]}}"#,
            #"{"sunbird":{"lost_tokens":["N N"]}}"#,
        ])
    func hugeStates(_ state: String) async throws {
        _ = try await sim.add("tn", "a")
        let before = try await sim.fcm("GET", "/__pushsim/state").body
        for number in ["9223372036854775807", "9007199254740992", "-1"] {
            let body = state.replacing("N", with: number)
            if number == "-1", body.contains("b-1") { continue }
            #expect(try await sim.fcm("PUT", "/__pushsim/state", body).status == 400, "\(body)")
        }
        #expect(try await sim.fcm("GET", "/__pushsim/state").body == before)
    }

    @Test("A state whose notifications outlast the clock, or were over before it began, is taken back")
    func farEnds() async throws {
        for change in [("\"expiry\":60", "\"expiry\":100000000"), ("2026-01-01T05", "1970-01-01T00")] {
            _ = try await sim.broadcast(greeting.replacing(change.0, with: change.1), #","repeat":"0 0 1 1 *""#)
        }
        let state = try await sim.fcm("GET", "/__pushsim/state").body
        #expect(try await sim.fcm("PUT", "/__pushsim/state", state.text).status == 204)
        #expect(try await sim.fcm("GET", "/__pushsim/state").body == state)
    }

    @Test("The whole state is given and taken back: tokens, topics, their order, and runs to come")
    func snapshots() async throws {
        _ = try await sim.add("tn", "a", "b")
        _ = try await sim.add("x", "b")
        _ = try await sim.add("x", "a")
        _ = try await sim.broadcast(greeting, #","topic":"x","repeat":"20m""#)
        let state = try await sim.fcm("GET", "/__pushsim/state").body
        sim.reset()
        #expect(try await sim.fcm("GET", "/iid/info/a").status == 404)
        #expect(try await sim.fcm("PUT", "/__pushsim/state", state.text).status == 204)
        #expect(try await sim.fcm("GET", "/__pushsim/state").body == state)
        await sim.advance(by: .seconds(1200))
        #expect(sim.got("a").count == 1 && sim.got("b").count == 1)
        #expect(sim.inbox(of: "b").deliveries[0].id < sim.inbox(of: "a").deliveries[0].id)
        for bad in [#"{"tokens":[{"token":"a b"}]}"#, #"{"tokens":[{"token":"a"},{"token":"a"}]}"#, #"{"toks":[]}"#] {
            #expect(try await sim.fcm("PUT", "/__pushsim/state", #"{"sunbird":\#(bad)}"#).status == 400)
        }
    }
}
