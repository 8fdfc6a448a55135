import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Testing

@Suite("Rotated tokens and tenants that are left (sunbird.md, obligations 1, 4 and 5)", .pushSim(clock: sunbirdStart))
struct SunbirdTokenTests {
    let sim = PushSim.current

    private func send(to token: String) async throws -> Response {
        try await sim.fcm(
            "POST", "/v1/projects/p/messages:send", #"{"message":{"token":"\#(token)","data":{"k":"v"}}}"#)
    }

    private func legacy(_ tokens: String) async throws -> JSON {
        try await sim.fcm("POST", "/fcm/send", #"{"registration_ids":[\#(tokens)],"data":{"k":"v"}}"#).json
    }

    @Test("The old token is gone, the new one is known and on no topic; the legacy sending still reaches the device")
    func rotation() async throws {
        _ = try await sim.add("tn", "a", "b")
        let new = try sim.sunbird.rotate("a")
        #expect(new != "a" && new.contains(":APA91b"))
        #expect(try await send(to: "a").status == 404)
        #expect(try await send(to: new).status == 200)
        #expect(try await sim.add("tn", "a").json["results"]?[0]?["error"]?.string == "NOT_FOUND")
        #expect(try await sim.fcm("GET", "/iid/info/\(new)?details=true").json["rel"]?["topics"]?["tn"] == nil)
        _ = try await sim.broadcast(greeting, #","topic":"tn""#)
        #expect(sim.got(new).count == 1 && sim.got("b").count == 1 && sim.got("a").isEmpty)
        let answer = try await legacy(#""a","b""#)
        #expect(answer["success"]?.int == 2 && answer["canonical_ids"]?.int == 1)
        #expect(answer["results"]?[0]?["registration_id"]?.string == new)
        #expect(answer["results"]?[1]?["registration_id"] == nil && sim.got(new).count == 2)
        #expect(throws: PushSimError.self) { try sim.sunbird.rotate("nobody") }
    }

    @Test("Who uses the new token has met the obligation; who uses the old one has broken it")
    func rotationObligation() async throws {
        _ = try await sim.add("tn", "a", "b")
        #expect(try await sim.state(of: "sunbird.rotated") == "not exercised")
        let new = try sim.sunbird.rotate("a")
        _ = try await sim.add("tn", "b")
        #expect(try await sim.state(of: "sunbird.rotated") == "not exercised")
        _ = try await sim.add("tn", new)
        #expect(try await sim.state(of: "sunbird.rotated") == "met")
        _ = try await sim.fcm("POST", "/iid/v1/a/rel/topics/tn")
        #expect(try await sim.state(of: "sunbird.rotated") == "broken")
        #expect(sim.brokenObligations(of: .sunbird).contains { $0.contains("\"a\" was replaced") })
    }

    @Test("A profile rotates the token of a device that registers, which is told the new one from then on")
    func rotatedByProfile() async throws {
        let form = "device=1&app=x&sender=2"
        let old = try await sim.fcm("POST", "/iid/register", form).body.text.dropFirst("token=".count)
        _ = try await sim.add("tn", String(old))
        try sim.setProfile(
            .json5(
                #"{ rules: [ { on: { backend: "sunbird", route: "registerToken" }, when: { times: 1 }, then: { token: "rotate" } } ] }"#
            ))
        let new = try await sim.fcm("POST", "/iid/register", form).body.text.dropFirst("token=".count)
        #expect(new != old && !new.isEmpty)
        #expect(try await sim.fcm("POST", "/iid/register", form).body.text == "token=\(new)")
        #expect(try await send(to: String(old)).status == 404)
        #expect(try await send(to: String(new)).status == 200)
        // What the profile did is nobody's fault.
        #expect(try await sim.state(of: "sunbird.rotated") == "not exercised")
    }

    @Test("A profile rotates a token in the midst of a call that names it")
    func rotatedInCall() async throws {
        _ = try await sim.add("tn", "a", "b")
        try sim.setProfile(
            .json5(
                #"{ rules: [ { on: { backend: "sunbird", route: "batchAdd" }, when: { times: 1 }, then: { token: "rotate" } } ] }"#
            ))
        let answer = try await sim.add("t2", "a", "b", "new")
        let results = answer.json["results"]?.elements?.map { $0["error"]?.string }
        #expect(results == ["NOT_FOUND", "NOT_FOUND", nil])
        #expect(try await sim.state(of: "sunbird.rotated") == "not exercised")
    }

    @Test(
        "A rule for a token is asked about every call that names it, first or last, alone or among many",
        arguments: [
            ("/iid/v1:batchAdd", #"{"to":"tn","registration_tokens":["a","b"]}"#),
            ("/iid/v1:batchRemove", #"{"to":"tn","registration_tokens":["b","a"]}"#),
            ("/fcm/send", #"{"registration_ids":["a","b"],"data":{}}"#), ("/fcm/send", #"{"to":"b","data":{}}"#),
            (
                "/v1/notification/send",
                #"{"request":{"notifications":[{"mode":"device","ids":["a"],"rawData":{}},{"mode":"device","ids":["c","b"],"rawData":{}}]}}"#
            ),
        ])
    func ruleForToken(_ target: String, _ body: String) async throws {
        try sim.setProfile(.json5(#"{ rules: [ { on: { backend: "sunbird", token: "b" }, then: { status: 503 } } ] }"#))
        #expect(try await sim.fcm("POST", target, body).status == 503)
        #expect(try await sim.fcm("POST", target, body.replacing("b\"", with: "d\"")).status != 503)
        sim.verify(try .matching(#"{ token: "b" }"#), .once)
    }

    @Test("A device of a tenant is to be on its topic, and to leave those of the tenant that its user has left")
    func tenants() async throws {
        _ = try await sim.add("alpha", "a")
        _ = try await sim.add("alpha-class.7", "a", "b")
        try sim.sunbird.setTenant("alpha", of: "a")
        _ = try await sim.broadcast(greeting, #","topic":"alpha""#)
        #expect(try await sim.state(of: "sunbird.topics") == "met")
        try sim.sunbird.setTenant("beta", of: "a")
        #expect(try await sim.state(of: "sunbird.tenants") == "not exercised")
        _ = try await sim.fcm(
            "POST", "/iid/v1:batchRemove", #"{"to":"alpha","registration_tokens":["a"]}"#)
        #expect(try await sim.state(of: "sunbird.tenants") == "met")
        // It has left one of two.
        _ = try await sim.broadcast(greeting, #","topic":"alpha-class.7""#)
        #expect(try await sim.state(of: "sunbird.tenants") == "broken")
        #expect(
            sim.brokenObligations(of: .sunbird).contains {
                $0.contains("\"a\" has left alpha, and is on the topic alpha-class.7 still")
            })
        _ = try await sim.broadcast(greeting, #","topic":"beta""#)
        #expect(try await sim.state(of: "sunbird.topics") == "broken")
    }

    @Test("The topics of the tenant that a user has now are its own, though their names begin with another's")
    func namesThatBeginAlike() async throws {
        _ = try await sim.add("org", "a")
        try sim.sunbird.setTenant("org", of: "a")
        try sim.sunbird.setTenant("org-2", of: "a")
        _ = try await sim.add("org-2", "a")
        _ = try await sim.add("org-2-class", "a")
        _ = try await sim.fcm("POST", "/iid/v1:batchRemove", #"{"to":"org-2-class","registration_tokens":["a"]}"#)
        #expect(try await sim.state(of: "sunbird.tenants") == "not exercised")
        _ = try await sim.fcm("POST", "/iid/v1:batchRemove", #"{"to":"org","registration_tokens":["a"]}"#)
        #expect(try await sim.state(of: "sunbird.tenants") == "met")
        _ = try await sim.add("org-2-class", "a")
        _ = try await sim.broadcast(greeting, #","topic":"org-2""#)
        _ = try await sim.broadcast(greeting, #","topic":"org-2-class""#)
        #expect(try await sim.state(of: "sunbird.tenants") == "met")
    }

    @Test(
        "A device meets the obligation once it is on its tenant's topic; an app is not blamed for a token it does not know"
    )
    func tenantsTopic() async throws {
        _ = try await sim.fcm("POST", "/iid/register", "device=1&app=x&sender=2")
        let state = try await sim.fcm("GET", "/__pushsim/state").json
        let token = state["sunbird"]?["tokens"]?[0]?["token"]?.string ?? ""
        try sim.sunbird.setTenant("alpha", of: token)
        _ = try await sim.add("other", token)
        #expect(try await sim.state(of: "sunbird.topics") == "not exercised")
        _ = try await sim.add("alpha", token)
        #expect(try await sim.state(of: "sunbird.topics") == "met")
        let new = try sim.sunbird.rotate(token)
        _ = try await sim.broadcast(greeting, #","topic":"alpha""#)
        #expect(try await sim.add("alpha", token).json["results"]?[0]?["error"]?.string == "NOT_FOUND")
        #expect(try await sim.state(of: "sunbird.topics") == "met")
        _ = try await sim.add("other", new)
        _ = try await sim.broadcast(greeting, #","topic":"alpha""#)
        #expect(try await sim.state(of: "sunbird.topics") == "broken")
    }

    @Test("A tenant that is joined again is no longer left; of none, a device owes nothing")
    func backAgain() async throws {
        _ = try await sim.add("alpha", "a")
        try sim.sunbird.setTenant("alpha", of: "a")
        try sim.sunbird.setTenant(nil, of: "a")
        try sim.sunbird.setTenant("alpha", of: "a")
        // Another's name that begins alike is another's.
        _ = try await sim.add("alphabet", "a")
        try sim.sunbird.setTenant("alphabet", of: "a")
        try sim.sunbird.setTenant("alpha", of: "a")
        _ = try await sim.broadcast(greeting, #","topic":"alpha""#)
        #expect(try await sim.state(of: "sunbird.tenants") == "not exercised")
        #expect(try await sim.state(of: "sunbird.topics") == "met")
        #expect(throws: PushSimError.self) { try sim.sunbird.setTenant("a b", of: "a") }
        #expect(throws: PushSimError.self) { try sim.sunbird.setTenant("alpha", of: "nobody") }
        let answer = try await sim.fcm("POST", "/__pushsim/sunbird/tenants", #"{"token":"a"}"#)
        #expect(answer.status == 400 && answer.json["error"]?["path"]?.string == "$.tenant")
    }

    @Test("Rotated tokens, tenants and those that are left are part of the state")
    func snapshot() async throws {
        _ = try await sim.add("alpha", "a", "b")
        try sim.sunbird.setTenant("alpha", of: "a")
        try sim.sunbird.setTenant("beta", of: "a")
        let new = try sim.sunbird.rotate("b")
        let state = try await sim.fcm("GET", "/__pushsim/state").json
        #expect(state["sunbird"]?["tokens"]?[0]?["left"]?[0]?.string == "alpha")
        #expect(state["sunbird"]?["rotated_tokens"]?[0]?["new"]?.string == new)
        #expect(try await sim.fcm("POST", "/__pushsim/reset").status == 204)
        #expect(try await sim.fcm("PUT", "/__pushsim/state", state.description).status == 204)
        #expect(try await sim.fcm("GET", "/__pushsim/state").json == state)
        _ = try await sim.broadcast(greeting, #","topic":"alpha""#)
        #expect(try await sim.state(of: "sunbird.tenants") == "broken")
    }

    @Test(
        "A state in which tokens go round in a circle, or a tenant has no name, is refused and changes nothing",
        arguments: [
            (#"{"rotated_tokens":[{"token":"x","new":"y"},{"token":"y","new":"x"}]}"#, "rotated_tokens[1]"),
            (#"{"rotated_tokens":[{"token":"x","new":"x"}]}"#, "rotated_tokens[0]"),
            (#"{"rotated_tokens":[{"token":"x","new":"y"},{"token":"x","new":"z"}]}"#, "rotated_tokens[1]"),
            (#"{"rotated_tokens":[{"token":"x","new":"a b"}]}"#, "rotated_tokens[0]"),
            (#"{"tokens":[{"token":"a","tenant":""}]}"#, "tokens[0]"),
            (#"{"tokens":[{"token":"a","left":[""]}]}"#, "tokens[0]"),
            (#"{"broadcasts":[{"id":"b1","topic":"t","payload":{},"repeat":"x"}]}"#, "broadcasts[0].repeat"),
            (#"{"broadcasts":[{"id":"b1","topic":"t","payload":{},"timeZone":"UTC"}]}"#, "broadcasts[0].timeZone"),
            (
                #"{"broadcasts":[{"id":"b1","topic":"t","payload":{},"repeat":"* * * * *","timeZone":"x"}]}"#,
                "broadcasts[0].timeZone"
            ),
        ])
    func noState(_ state: String, _ path: String) async throws {
        _ = try await sim.add("tn", "a")
        let before = try await sim.fcm("GET", "/__pushsim/state").body
        let answer = try await sim.fcm("PUT", "/__pushsim/state", #"{"sunbird":\#(state)}"#)
        #expect(answer.status == 400 && answer.json["error"]?["path"]?.string == "$.sunbird.\(path)")
        #expect(try await sim.fcm("GET", "/__pushsim/state").body == before)
    }
}
