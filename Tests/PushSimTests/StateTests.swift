import Foundation
import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Testing

@Suite("State, journal and verification at their edges (control-api.md)", .pushSim(clock: .frozen))
struct StateTests {
    private let bearer = [("Authorization", "Bearer alice")]

    private func control(_ method: String, _ path: String, _ body: String = "") async throws -> Response {
        try await call(port: PushSim.current.url.port ?? 0, method, "/__pushsim/\(path)", body: body)
    }

    private func register(_ token: String) async throws -> String {
        let answer = try await call(
            port: PushSim.current.url.port ?? 0, "POST", "/v1/subscriber", fields: bearer,
            body: #"{"proto":"apns","token":"\#(token)","app_domain":"a.b"}"#)
        return try #require(answer.json["id"]?.string)
    }

    @Test(
        "A state of the wrong shape names the member and changes nothing",
        arguments: [
            (#"{"ntm":{"subscribers":"x"}}"#, "$.ntm.subscribers"),
            (#"{"ntm":{"subscribers":{}}}"#, "$.ntm.subscribers"),
            (#"{"ntm":{"subscribers":null}}"#, "$.ntm.subscribers"), (#"{"ntm":{"rooms":5}}"#, "$.ntm.rooms"),
            (#"{"ntm":{"notifications":-1}}"#, "$.ntm.notifications"), (#"{"ntm":null}"#, "$.ntm"),
            (#"{"fluxer":{"accounts":"x"}}"#, "$.fluxer.accounts"), (#"{"fluxer":{"limits":{}}}"#, "$.fluxer.limits"),
            (#"{"fluxer":{"accounts":[{"id":"1","sessions":["two words"]}]}}"#, "$.fluxer.accounts[0].sessions[0]"),
            (#"{"fluxer":{"accounts":[{"id":"1","sessions":["flx_bad"]}]}}"#, "$.fluxer.accounts[0].sessions[0]"),
            (
                #"{"fluxer":{"accounts":[{"id":"1","registrations":[{"platform":"ios_apns_voip","token":"x"}]}]}}"#,
                "$.fluxer.accounts[0].registrations[0].encryption_key"
            ),
            (#"{"push":{"a":1}}"#, "$.push.a"), ("[]", "$"),
        ])
    func wrongState(_ body: String, _ path: String) async throws {
        _ = try await register("one")
        let before = try await control("GET", "state").body
        let answer = try await control("PUT", "state", body)
        #expect(answer.status == 400 && answer.json["error"]?["path"]?.string == path, "\(answer.body.text)")
        #expect(try await control("GET", "state").body == before)
    }

    @Test("A subscription stands once, under its subscriber; the order of a topic's subscribers is kept all the same")
    func subscriptions() async throws {
        let sim = PushSim.current
        let (one, two) = (try await register("one"), try await register("two"))
        for id in [two, one] {
            _ = try await call(
                port: sim.url.port ?? 0, "POST", "/v1/subscription/subscriber/\(id)/topic/a.b/chat/x", fields: bearer)
        }
        let state = try await control("GET", "state").body
        #expect(state.text.components(separatedBy: "a.b/chat/x").count == 3)
        sim.reset()
        #expect(try await control("PUT", "state", state.text).status == 204)
        #expect(try await control("GET", "state").body == state)
        let sent = try await control("POST", "ntm/notifications", #"{"topic":"a.b/chat/x","type":"chat"}"#)
        #expect(sent.json["deliveries"]?.elements?.compactMap { $0["subscriber"]?.string } == [two, one])
    }

    @Test("What has left the journal may have been more: an upper bound is then inconclusive, and so it is in Swift")
    func evicted() async throws {
        let sim = PushSim.current
        try sim.setOption("journal.bytes", to: "2KiB")
        for number in 0..<10 { _ = try await register("t\(number)") }
        for (count, status) in [(#"{"atMost":3}"#, 422), (#"{"exactly":1}"#, 422), (#"{"atLeast":1}"#, 200)] {
            let answer = try await control(
                "POST", "verify", #"{"request":{"path":"/v1/subscriber"},"count":\#(count)}"#)
            #expect(answer.status == status, "\(count)")
            if status == 422 { #expect(answer.json["inconclusive"] == true) }
        }
        #expect(sim.unsatisfied(.post("/v1/subscriber"), .atMost(3))?.contains("Inconclusive") == true)
        #expect(sim.unsatisfied(.post("/v1/subscriber"), .atLeast(1)) == nil)
        try sim.setOption("journal.bytes", to: "0")
        #expect(try await control("POST", "verify", #"{"request":{},"count":{"exactly":0}}"#).status == 400)
        #expect(sim.unsatisfied(.post("/v1/subscriber"), .exactly(0))?.contains("journal.bytes") == true)
    }

    @Test(
        "Questions that cannot be answered are mistakes",
        arguments: [
            ("POST", "verify", #"{"request":{"side":"delivery"}}"#), ("POST", "verify", #"{"inOrder":[]}"#),
            ("GET", "journal?backend=foo", ""), ("GET", "journal?route=zzz", ""), ("GET", "state?x=1", ""),
            ("GET", "health?x", ""), ("POST", "reset", #"{"all":true}"#),
            ("PUT", "profile", #"{"rules":[{"then":{"connection":"refuse"}}]}"#),
        ])
    func mistakes(_ method: String, _ path: String, _ body: String) async throws {
        #expect(try await control(method, path, body).status == 400)
    }

    @Test("Nothing under the control API's name is journalled, its bare name neither")
    func bareName() async throws {
        let sim = PushSim.current
        let answer = try await call(port: sim.url.port ?? 0, "GET", "/__pushsim")
        #expect(answer.status == 404 && answer.json["error"]?["code"] == "notFound")
        #expect(sim.journal.isEmpty)
    }

    @Test(
        "A body that cannot help is not asked for",
        arguments: ["/v1/subscriber", "/v1/users/@me/mobile-devices", "/push/x"])
    func unread(_ path: String) async throws {
        let client = try RawClient(port: PushSim.current.url.port ?? 0)
        try await client.send("POST \(path) HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
        let status = try await client.receive().status
        #expect(status == (path == "/push/x" ? 400 : 401))
    }
}
