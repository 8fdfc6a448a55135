import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Testing

@Suite("Conditions on topics (sunbird.md, FCM v1 rules)", .pushSim(clock: sunbirdStart))
struct SunbirdConditionTests {
    let sim = PushSim.current

    private func send(_ condition: String, _ more: String = "") async throws -> Response {
        try await sim.fcm(
            "POST", "/v1/projects/p/messages:send",
            #"{"message":{"condition":"\#(condition)","data":{"k":"\#(condition)"}}\#(more)}"#)
    }

    /// Device `ab` is on the topics a and b, and so on; `n` is on none but the default one.
    private func addDevices() async throws {
        _ = try await sim.add("General", "n")
        _ = try await sim.add("a", "a", "ab", "abc")
        _ = try await sim.add("b", "b", "ab", "abc")
        _ = try await sim.add("c", "c", "abc")
    }

    @Test(
        "Who meets the condition gets the message: parentheses first, then from left to right",
        arguments: [
            ("'a' in topics", "a ab abc"), ("'a' in topics && 'b' in topics", "ab abc"),
            ("'a' in topics || 'c' in topics", "a ab abc c"), ("!('a' in topics)", "n b c"),
            ("'a' in topics && !('b' in topics)", "a"), ("!'a' in topics", "n b c"),
            ("'a' in topics || 'b' in topics && 'c' in topics", "abc"),
            ("'a' in topics || ('b' in topics && 'c' in topics)", "a ab abc"),
            ("'General' in topics && 'c' in topics", "abc c"), ("('/topics/c' in topics)", "abc c"),
            ("'none' in topics", ""), (" ( ( 'c'  in  topics ) ) ", "abc c"), (#"'c'\tin\ntopics"#, "abc c"),
        ])
    func meets(_ condition: String, _ wanted: String) async throws {
        try await addDevices()
        let answer = try await send(condition)
        #expect(answer.status == 200 && answer.json["name"]?.string?.hasPrefix("projects/p/messages/") == true)
        let got = ["n", "a", "ab", "abc", "b", "c"].filter { !sim.inbox(of: $0).deliveries.isEmpty }
        #expect(got.joined(separator: " ") == wanted)
        // Sent by no topic, it comes from the sender.
        for token in got { #expect(sim.inbox(of: token).deliveries.first?.dictionary?["from"]?.string == "p") }
    }

    @Test(
        "A rule for a topic is asked about conditions that name it, at the call and at each delivery, and in the journal"
    )
    func rules() async throws {
        try await addDevices()
        let profile = """
            { rules: [ { id: "b", on: { side: "delivery", topic: "b" }, then: { drop: true } },
                       { id: "c", on: { route: "sendMessage", topic: "c" }, then: { status: 503 } } ] }
            """
        try sim.setProfile(.json5(profile))
        #expect(try await send("'a' in topics && 'b' in topics").status == 200)
        #expect(sim.inbox(of: "ab").deliveries.isEmpty)
        #expect(try await send("'a' in topics && !('c' in topics)").status == 503)
        #expect(try await send("'a' in topics").status == 200 && sim.inbox(of: "ab").deliveries.count == 1)
        let rows = try await sim.fcm("GET", "/__pushsim/journal?backend=sunbird").json["entries"]?.elements ?? []
        #expect(rows.contains { $0["condition_topics"]?.elements?.count == 2 })
    }

    @Test("A tenant's topic that a condition names is one that a user who has left gets nothing by")
    func leftTenant() async throws {
        _ = try await sim.add("alpha", "a")
        try sim.sunbird.setTenant("alpha", of: "a")
        try sim.sunbird.setTenant("beta", of: "a")
        _ = try await send("'alpha' in topics || 'z' in topics")
        #expect(try await sim.state(of: "sunbird.tenants") == "broken")
    }

    @Test(
        "The legacy sending goes to one kind of target",
        arguments: [
            #""to":"/topics/b","condition":"'a' in topics""#, #""registration_ids":["b"],"condition":"'a' in topics""#,
            #""to":"a","registration_ids":["b"]"#,
        ])
    func oneTarget(_ targets: String) async throws {
        try await addDevices()
        let answer = try await sim.fcm("POST", "/fcm/send", #"{\#(targets),"data":{"k":"v"}}"#)
        #expect(answer.status == 400 && answer.body.text.hasPrefix("Must use only one of"))
        #expect(sim.inbox(of: "a").deliveries.isEmpty && sim.inbox(of: "b").deliveries.isEmpty)
    }

    @Test("A condition that is only tried out is sent to nobody; the legacy sending takes one too")
    func otherRoutes() async throws {
        try await addDevices()
        #expect(try await send("'a' in topics", #","validate_only":true"#).status == 200)
        #expect(sim.inbox(of: "a").deliveries.isEmpty)
        let answer = try await sim.fcm("POST", "/fcm/send", #"{"condition":"'c' in topics","data":{"k":"v"}}"#)
        #expect(answer.status == 200 && answer.json["message_id"] != nil)
        #expect(sim.inbox(of: "c").deliveries.count == 1 && sim.inbox(of: "a").deliveries.isEmpty)
        #expect(try await sim.fcm("POST", "/fcm/send", #"{"condition":"c","data":{}}"#).status == 400)
    }

    @Test(
        "What is no condition, or names more than five topics, is refused with what is wrong, and sent to nobody",
        arguments: [
            ("", "a topic in single quotes is missing"), ("'a' in", "in topics"), ("'a' intopics", "in topics"),
            ("'a in topics", "in topics"), ("'a' in topics &&", "a topic in single quotes is missing"),
            ("'a' in topics & 'b' in topics", "something follows"), ("('a' in topics", "is not closed"),
            ("'a' in topics)", "something follows"), ("'a,b' in topics", "a,b"), ("'a b' in topics", "a b"),
            ("'' in topics", "is no name"), ("'a' in topics 'b' in topics", "something follows"),
            ((1...6).map { "'t\($0)' in topics" }.joined(separator: " || "), "more than 5 topics"),
            (String(repeating: "(", count: 40) + "'a' in topics", "nested too deeply"),
            (String(repeating: "!", count: 40) + "'a' in topics", "nested too deeply"),
        ])
    func isNone(_ condition: String, _ why: String) async throws {
        try await addDevices()
        let answer = try await send(condition)
        #expect(answer.status == 400 && answer.errorStatus == "INVALID_ARGUMENT")
        #expect(answer.json["error"]?["message"]?.string?.contains(why) == true)
        let violations = answer.json["error"]?["details"]?.elements?.compactMap { $0["fieldViolations"]?.elements }
        #expect(violations?.first?.first?["field"]?.string == "message.condition")
        #expect(sim.inbox(of: "a").deliveries.isEmpty)
    }

    @Test("A condition of any length is refused, and the server goes on", arguments: ["&&", "||", "&& !", "&& ("])
    func endless(_ sign: String) async throws {
        try await addDevices()
        let condition = String(repeating: "'a' in topics \(sign) ", count: 200_000)
        #expect(try await send(condition + "'a' in topics").status == 400)
        let legacy = #"{"condition":"\#(condition)","data":{}}"#
        #expect(try await sim.fcm("POST", "/fcm/send", legacy).status == 400)
        #expect(try await send("'a' in topics").status == 200)
    }
}
