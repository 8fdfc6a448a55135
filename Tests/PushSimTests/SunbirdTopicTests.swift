import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Testing

@Suite("Topics of the fake FCM (sunbird.md, topics and routes)", .pushSim(clock: sunbirdStart))
struct SunbirdTopicTests {
    let sim = PushSim.current

    @Test("batchAdd answers each token in order: known from now on, malformed, or lost")
    func batches() async throws {
        let first = try await sim.add("/topics/tn", "a", "b", "bad token", "")
        #expect(first.body.text == #"{"results":[{},{},{"error":"INVALID_ARGUMENT"},{"error":"INVALID_ARGUMENT"}]}"#)
        let remove = #"{"to":"tn","registration_tokens":["a","never-seen"]}"#
        #expect(try await sim.fcm("POST", "/iid/v1:batchRemove", remove).body.text == #"{"results":[{},{}]}"#)
        let info = try await sim.fcm("GET", "/iid/info/b?details=true")
        let topics = #"{"General":{"addDate":"2026-01-01"},"tn":{"addDate":"2026-01-01"}}"#
        #expect(info.body.text == #"{"platform":"ANDROID","rel":{"topics":\#(topics)}}"#)
        let left = try await sim.fcm("GET", "/iid/info/a?details=true").json["rel"]?["topics"]
        #expect(left?.members?.map(\.name) == ["General"])
        #expect(try await sim.fcm("GET", "/iid/info/b").json["rel"] == nil)
        #expect(try await sim.fcm("GET", "/iid/info/never-seen").status == 404)
        let many = (0..<1001).map { "\"t\($0)\"" }.joined(separator: ",")
        #expect(
            try await sim.fcm("POST", "/iid/v1:batchAdd", #"{"to":"tn","registration_tokens":[\#(many)]}"#).status
                == 400)
    }

    @Test(
        "The other ways to a topic and off it",
        arguments: [
            ("/iid/v1/tok/rel/topics/tn", "", "{}"),
            ("/v1/projects/p/registrations/tok/topicSubscriptions/tn:subscribe", "", "{}"),
            ("/iid/register", "X-gcm.topic=%2Ftopics%2Ftn&sender=tok", "token=tok"),
        ])
    func ways(_ target: String, _ body: String, _ answer: String) async throws {
        let response = try await sim.fcm("POST", target, body)
        #expect(response.status == 200 && response.body.text == answer)
        let info = try await sim.fcm("GET", "/iid/info/tok?details=true")
        #expect(info.json["rel"]?["topics"]?["tn"] != nil)
        let off = try await sim.fcm("POST", "/iid/register", "X-gcm.topic=/topics/tn&sender=tok&delete=true")
        #expect(off.body.text == "token=tok")
        let unsubscribe = "/v1/projects/p/registrations/tok/topicSubscriptions/tn:unsubscribe"
        #expect(try await sim.fcm("POST", unsubscribe).body.text == "{}")
        #expect(try await sim.fcm("GET", "/iid/info/tok?details=true").json["rel"]?["topics"]?["tn"] == nil)
    }

    @Test("A device that registers has the same token each time, and another one after deleting it")
    func registers() async throws {
        let form = "device=1&app=org.sunbird.app&sender=42"
        let token = try await sim.fcm("POST", "/iid/register", form).body.text
        #expect(token.hasPrefix("token=") && token.contains(":APA91b"))
        #expect(try await sim.fcm("POST", "/iid/register", form).body.text == token)
        let own = String(token.dropFirst(6))
        _ = try await sim.fcm("POST", "/iid/register", form + "&delete=true")
        #expect(try await sim.add("tn", own).body.text == #"{"results":[{"error":"NOT_FOUND"}]}"#)
        let another = try await sim.fcm("POST", "/iid/register", form).body.text
        #expect(another.hasPrefix("token=") && another != token)
        #expect(try await sim.fcm("POST", "/iid/register", form).body.text == another)
        #expect(try await sim.add("tn", String(another.dropFirst(6))).body.text == #"{"results":[{}]}"#)
        // A dead token stays dead.
        #expect(try await sim.add("tn", own).body.text == #"{"results":[{"error":"NOT_FOUND"}]}"#)
        for body in ["", #"{"bad":1}"#, String(repeating: "[", count: 1000), "delete=true", "device=&app=&sender="] {
            let bad = try await sim.fcm("POST", "/iid/register", body)
            #expect(bad.status == 400 && bad.body.text == "Error=INVALID_PARAMETERS", "\(body)")
        }
    }

    @Test(
        "Names that FCM does not take are refused with the exact name, and noted",
        arguments: ["a,b", "with space", "", "\u{e9}", String(repeating: "n", count: 901)])
    func names(_ name: String) async throws {
        let response = try await sim.add(name, "a")
        #expect(response.status == 400 && response.errorStatus == "INVALID_ARGUMENT")
        #expect(response.json["error"]?["message"]?.string?.contains("\"\(name)\"") == true)
        #expect(try await sim.state(of: "sunbird.topics") == "broken")
        try sim.setOption("sunbird.topicNames", to: "lenient")
        #expect(try await sim.add(name, "a").status == (name.isEmpty || name.utf8.count > 900 ? 400 : 200))
    }

    @Test("A token has at most 2,000 topics")
    func manyTopics() async throws {
        for number in 0..<2000 { _ = try await sim.add("t\(number)", "a") }
        #expect(try await sim.add("one-more", "a").body.text == #"{"results":[{"error":"TOO_MANY_TOPICS"}]}"#)
        #expect(try await sim.add("t1999", "a").body.text == #"{"results":[{}]}"#)
    }

    @Test("A credential is wanted on FCM's and the topic service's routes; any will do")
    func credentials() async throws {
        for target in ["/iid/v1:batchAdd", "/v1/projects/p/messages:send", "/fcm/send", "/iid/v1/t/rel/topics/x"] {
            let response = try await sim.fcm("POST", target, "{}", fields: [])
            #expect(response.status == 401)
        }
        let app = [("x-goog-firebase-installations-auth", "e")]
        let target = "/v1/projects/p/registrations/f/topicSubscriptions/x:subscribe"
        #expect(try await sim.fcm("POST", target, fields: app).status == 200)
        #expect(try await sim.fcm("POST", "/v1/notification/send", "{}", fields: []).status == 400)
    }

    @Test("Wrong methods are 405 with Allow, paths that lead nowhere 404, and Fluxer keeps the rest of /v1")
    func elsewhere() async throws {
        let wrong = try await sim.fcm("GET", "/fcm/send")
        #expect(wrong.status == 405 && wrong.fields.first("Allow")?.text == "POST")
        #expect(try await sim.fcm("POST", "/iid/none").status == 404)
        let verb = "/v1/projects/p/registrations/f/topicSubscriptions/x:move"
        #expect(try await sim.fcm("POST", verb).status == 404)
        #expect(try await sim.fcm("GET", "/v1/users/@me/mobile-devices", fields: []).fluxerCode == "UNAUTHORIZED")
    }
}
