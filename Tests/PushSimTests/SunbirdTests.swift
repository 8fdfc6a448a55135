import Foundation
import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Testing

private let credential = [("Authorization", "key=server")]
private let greeting = #"""
    {"id":7,"type":2,"epoch":"2026-01-01T05:30:00+0530","expiry":60,
     "actiondata":{"translations":{"en":{"title":"Hi","msg":"there"}}},"unknown":{"kept":1.50}}
    """#
private let start: SimClock = .frozen(at: "2026-01-01T00:00:00Z")

extension PushSim {
    fileprivate func fcm(
        _ method: String, _ target: String, _ body: String = "", fields: [(String, String)] = credential
    ) async throws -> Response {
        try await PushSimTestSupport.call(port: url.port ?? 0, method, target, fields: fields, body: body)
    }

    fileprivate func add(_ topic: String, _ tokens: String...) async throws -> Response {
        let list = tokens.map { "\"\($0)\"" }.joined(separator: ",")
        return try await fcm("POST", "/iid/v1:batchAdd", #"{"to":"\#(topic)","registration_tokens":[\#(list)]}"#)
    }

    fileprivate func broadcast(_ payload: String, _ more: String = "") async throws -> Response {
        try await fcm("POST", "/__pushsim/sunbird/broadcasts", #"{"payload":\#(payload)\#(more)}"#)
    }

    fileprivate func got(_ token: String) -> [String] {
        inbox(of: token).deliveries.map { $0.plaintext?.text ?? "" }
    }

    fileprivate func state(of obligation: String) async throws -> String? {
        let rows = try await fcm("GET", "/__pushsim/obligations").json["obligations"]?.elements ?? []
        return rows.first { $0["id"]?.string == obligation }?["state"]?.string
    }
}

extension Response {
    fileprivate var errorStatus: String? { json["error"]?["status"]?.string }
}

@Suite("Topics of the fake FCM (sunbird.md, topics and routes)", .pushSim(clock: start))
struct SunbirdTopicTests {
    let sim = PushSim.current

    @Test("batchAdd answers each token in order: known from now on, malformed, or lost")
    func batches() async throws {
        let first = try await sim.add("/topics/tn", "a", "b", "bad token", "")
        #expect(first.body.text == #"{"results":[{},{},{"error":"INVALID_ARGUMENT"},{"error":"INVALID_ARGUMENT"}]}"#)
        let remove = #"{"to":"tn","registration_tokens":["a","never-seen"]}"#
        #expect(try await sim.fcm("POST", "/iid/v1:batchRemove", remove).body.text == #"{"results":[{},{}]}"#)
        let info = try await sim.fcm("GET", "/iid/info/b?details=true")
        #expect(info.body.text == #"{"platform":"ANDROID","rel":{"topics":{"tn":{"addDate":"2026-01-01"}}}}"#)
        #expect(try await sim.fcm("GET", "/iid/info/a?details=true").json["rel"]?["topics"]?.members?.isEmpty == true)
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

    @Test("A device that registers has the same token each time, and may come back after deleting it")
    func registers() async throws {
        let form = "device=1&app=org.sunbird.app&sender=42"
        let token = try await sim.fcm("POST", "/iid/register", form).body.text
        #expect(token.hasPrefix("token=") && token.contains(":APA91b"))
        #expect(try await sim.fcm("POST", "/iid/register", form).body.text == token)
        let own = String(token.dropFirst(6))
        _ = try await sim.fcm("POST", "/iid/register", form + "&delete=true")
        #expect(try await sim.add("tn", own).body.text == #"{"results":[{"error":"NOT_FOUND"}]}"#)
        #expect(try await sim.fcm("POST", "/iid/register", form).body.text == token)
        #expect(try await sim.add("tn", own).body.text == #"{"results":[{}]}"#)
        let bad = try await sim.fcm("POST", "/iid/register")
        #expect(bad.status == 400 && bad.body.text == "Error=INVALID_PARAMETERS")
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

@Suite("Sending through the fake FCM (sunbird.md, routes)", .pushSim(clock: start))
struct SunbirdSendingTests {
    let sim = PushSim.current

    private func send(_ message: String, _ more: String = "") async throws -> Response {
        try await sim.fcm("POST", "/v1/projects/p/messages:send", #"{"message":\#(message)\#(more)}"#)
    }

    @Test("A message to a topic reaches who is on it, in order; one to a token that token; validate_only nobody")
    func sends() async throws {
        _ = try await sim.add("tn", "b", "a")
        let answer = try await send(#"{"topic":"tn","data":{"k":"v"},"notification":{"title":"T"}}"#)
        let name = answer.json["name"]?.string ?? ""
        #expect(name.hasPrefix("projects/p/messages/") && name.utf8.count == 20 + 19)
        let push = try await sim.inbox(of: "a").next()
        #expect(push.transport == "fcm" && push.topic == "tn")
        #expect(
            push.dictionary?.description
                == #"{"from":"/topics/tn","message_id":"\#(name.suffix(19))","data":{"k":"v"},"notification":{"title":"T"}}"#
        )
        _ = try await send(#"{"token":"b","data":{}}"#)
        _ = try await send(#"{"topic":"tn","data":{"k":"w"}}"#, #","validate_only":true"#)
        #expect(sim.inbox(of: "a").deliveries.count == 1 && sim.inbox(of: "b").deliveries.count == 2)
    }

    @Test(
        "What FCM refuses names the field",
        arguments: [
            (#"{"topic":"tn","data":{"a":"1","n":1}}"#, 400, "message.data[1].value"),
            (#"{"topic":"tn","data":{"from":"x"}}"#, 400, "message.data"),
            (#"{"topic":"tn","data":{"gcm.x":"x"}}"#, 400, "message.data"),
            (#"{"topic":"tn","data":{"google":"x"}}"#, 400, "message.data"),
            (#"{"topic":"tn","token":"a"}"#, 400, "message"), ("{}", 400, "message"),
            (#"{"condition":"'a' in topics"}"#, 400, "message.condition"),
            (#"{"topic":"tn","priority":"high"}"#, 400, "message"),
            (#"{"token":"not a token"}"#, 400, "message.token"), (#"{"token":"unknown"}"#, 404, nil),
            (#"{"topic":"a b"}"#, 400, "message.topic"), ("7", 400, "message"),
        ])
    func refusals(_ message: String, _ status: Int, _ field: String?) async throws {
        let response = try await send(message)
        #expect(response.status == status)
        let details = response.json["error"]?["details"]?.elements ?? []
        #expect(details.last?["fieldViolations"]?[0]?["field"]?.string == field)
        #expect(details.first?["errorCode"]?.string == (status == 404 ? "UNREGISTERED" : "INVALID_ARGUMENT"))
    }

    @Test("A message has at most 4,096 octets, one to a topic 2,048", arguments: [0, 1])
    func sizes(_ over: Int) async throws {
        _ = try await sim.add("tn", "a")
        for (target, limit) in [(#""token":"a""#, 4096), (#""topic":"tn""#, 2048)] {
            let value = String(repeating: "x", count: limit - 1 + over)
            #expect(try await send(#"{\#(target),"data":{"k":"\#(value)"}}"#).status == (over == 0 ? 200 : 400))
        }
    }

    @Test("The legacy sending answers token by token, or says that it is over")
    func legacy() async throws {
        _ = try await sim.add("tn", "a")
        let answer = try await sim.fcm(
            "POST", "/fcm/send", #"{"registration_ids":["a","gone","b b"],"data":{"k":"v"}}"#)
        #expect(answer.json["success"]?.int == 1 && answer.json["failure"]?.int == 2)
        let results = answer.json["results"]?.elements ?? []
        #expect(results.map { $0["error"]?.string } == [nil, "NotRegistered", "InvalidRegistration"])
        let topic = try await sim.fcm("POST", "/fcm/send", #"{"to":"/topics/tn","data":{"k":"v"}}"#)
        #expect(topic.json["message_id"]?.int.map { String($0).utf8.count } == 19)
        #expect(sim.inbox(of: "a").deliveries.count == 2)
        try sim.setOption("sunbird.legacyFCM", to: "deprecated")
        #expect(try await sim.fcm("POST", "/fcm/send", #"{"to":"a"}"#).body.text == "DeprecatedApi")
    }

    @Test("The platform delivers to devices only, and answers in its envelope", arguments: ["", "/sync"])
    func platform(_ path: String) async throws {
        _ = try await sim.add("tn", "a", "b")
        func request(_ entries: String) -> String { #"{"request":{"notifications":[\#(entries)]}}"# }
        let good = try await sim.fcm(
            "POST", "/v1/notification/send" + path,
            request(
                #"{"mode":"device","deliveryType":"message","config":{"topic":"tn"},"ids":[],"rawData":\#(greeting)},"#
                    + #"{"mode":"device","ids":["a","unknown"],"rawData":\#(greeting)},{"mode":"email","ids":["e"]}"#),
            fields: [])
        #expect(good.status == 200 && good.json["result"]?.description == #"{"response":"success"}"#)
        #expect(good.json["responseCode"]?.string == "OK")
        #expect(good.json["ts"]?.string == "2026-01-01T00:00:00.000+0000")
        #expect(sim.got("a").count == 2 && sim.got("b").count == 1)
        let bad = try await sim.fcm(
            "POST", "/v1/notification/send" + path,
            request(#"{"mode":"device","ids":["a"],"rawData":\#(greeting)},{"mode":"device","ids":["a"],"rawData":{}}"#)
        )
        #expect(bad.status == 400 && bad.json["params"]?["err"]?.string == "CLIENT_ERROR")
        #expect(bad.json["params"]?["errmsg"]?.string == "$.request.notifications[1].rawData.id: is missing")
        #expect(sim.got("a").count == 2)
    }
}

@Suite("Broadcasts (sunbird.md, payload profiles and topics)", .pushSim(clock: start))
struct SunbirdBroadcastTests {
    let sim = PushSim.current

    @Test("A broadcast goes to all known tokens, in the data key payload, as it was given")
    func defaultTopic() async throws {
        _ = try await sim.add("tn", "a")
        _ = try await sim.fcm("POST", "/iid/register", "device=1&app=x&sender=2")
        let answer = try await sim.broadcast(greeting)
        #expect(answer.status == 202 && answer.json["deliveries"]?.elements?.count == 2)
        let push = try await sim.inbox(of: "a").next()
        let plain = try JSONDocument(greeting).root
        let wanted = JSON(plain).description
        #expect(push.plaintext?.text == wanted && push.topic == "General")
        #expect(push.dictionary?["data"]?["payload"]?.string == wanted && wanted.contains("1.50"))
        try sim.setOption("sunbird.encoding", to: "values")
        _ = try await sim.broadcast(greeting, #","topic":"tn""#)
        let second = try #require(sim.inbox(of: "a").deliveries.last)
        #expect(second.dictionary?["data"]?["id"]?.string == "7" && second.plaintext?.text == wanted)
        try sim.setOption("sunbird.defaultTopic", to: "")
        #expect(try await sim.broadcast(greeting).status == 400)
    }

    @Test("Who comes later gets the next run; runs end with the expiry, at that very moment")
    func repeats() async throws {
        _ = try await sim.add("tn", "a")
        let made = try await sim.broadcast(greeting, #","topic":"tn","repeat":"20m""#)
        #expect(made.json["expires"]?.string == "2026-01-01T01:00:00Z")
        await sim.advance(by: .seconds(1199))
        _ = try await sim.add("tn", "b")
        #expect(sim.got("a").count == 1 && sim.got("b").isEmpty)
        await sim.advance(by: .seconds(1))
        #expect(sim.got("a").count == 2 && sim.got("b").count == 1)
        await sim.advance(by: .seconds(7200))
        #expect(sim.got("a").count == 3 && sim.got("b").count == 2)
        #expect(try await sim.broadcast(greeting, #","topic":"tn""#).json["deliveries"]?.elements?.isEmpty == true)
        #expect(sim.got("a").count == 3)
    }

    @Test("Five fields begin at the next time that they name, in the zone that is given; a stopped one is over")
    func cron() async throws {
        _ = try await sim.add("tn", "a")
        let long = greeting.replacing("\"expiry\":60", with: "\"expiry\":100000")
        let made = try await sim.broadcast(long, #","repeat":"0 8 * * 1-5","timeZone":"+05:30""#)
        #expect(made.json["next"]?.string == "2026-01-01T02:30:00Z" && sim.got("a").isEmpty)
        await sim.advance(by: .seconds(3 * 86_400))
        // Thursday and Friday; then comes the weekend.
        #expect(sim.got("a").count == 2)
        await sim.advance(by: .seconds(2 * 86_400))
        #expect(sim.got("a").count == 3)
        #expect(try await sim.fcm("DELETE", "/__pushsim/sunbird/broadcasts/b1").status == 204)
        await sim.advance(by: .seconds(7 * 86_400))
        #expect(sim.got("a").count == 3)
        #expect(try await sim.fcm("DELETE", "/__pushsim/sunbird/broadcasts/b9").status == 404)
    }

    @Test(
        "When a broadcast repeats is minutes or five fields, and nothing else",
        arguments: [
            "15", "0m", "90s", "* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8",
            "*/0 * * * *",
            "5-1 * * * *", "a * * * *", "1,,2 * * * *", "",
        ])
    func notRepeating(_ text: String) async throws {
        let answer = try await sim.broadcast(greeting, #","repeat":"\#(text)""#)
        #expect(answer.status == 400 && answer.json["error"]?["path"]?.string == "$.repeat")
        #expect(try await sim.broadcast(greeting, #","timeZone":"UTC""#).status == 400)
        #expect(try await sim.broadcast(greeting, #","repeat":"* * * * *","timeZone":"Asia/Kolkata""#).status == 400)
    }

    @Test(
        "Messages that are not of their form are refused with the member that is wrong, unless nobody asks",
        arguments: [
            ("design", #""id":7"#, #""id":"7""#, "id"), ("design", #""id":7"#, #""id":7.5"#, "id"),
            ("design", #""type":2"#, #""type":5"#, "type"), ("design", #""type":2"#, #""kind":2"#, "type"),
            ("design", "+0530", "+05:30", "epoch"), ("design", #""expiry":60"#, #""expiry":0"#, "expiry"),
            ("design", #""expiry":60"#, #""expiry":60,"relativetime":1"#, "relativetime"),
            ("design", #""en""#, #""hi""#, "actiondata.translations.en"),
            ("design", #""msg""#, #""text""#, "actiondata.translations.en"),
            ("design", #""translations""#, #""texts""#, "actiondata.translations"),
            ("draft", #""type":2"#, #""type":3"#, "type"),
            ("draft", #""expiry":60"#, #""expiry":60,"relative":1"#, "relative"),
            ("control", "", "", "actiontype"), ("shipped", "", "", "id"),
        ])
    func forms(_ form: String, _ old: String, _ new: String, _ member: String) async throws {
        try sim.setOption("sunbird.payload", to: form)
        let broken = old.isEmpty ? greeting : greeting.replacing(old, with: new)
        let answer = try await sim.broadcast(broken)
        #expect(answer.status == 400)
        #expect(answer.json["error"]?["path"]?.string == "$.payload.\(member)")
        try sim.setOption("sunbird.validation", to: "off")
        #expect(try await sim.broadcast(broken).status == 202)
    }

    @Test(
        "Good messages of the other three forms are sent, the shipped one as FCM's data itself",
        arguments: [
            (
                "control",
                #"{"actiontype":"display","notificationtype":"general","notificationid":"n1","expiry":"34646millis","data":"x"}"#
            ),
            (
                "draft",
                #"{"id":1,"type":1,"epoch":"2026-01-01T00:00:00+0000","expiry":1,"translations":{"en":{"title":"a","msg":"b"}}}"#
            ),
            (
                "shipped",
                #"{"id":"1","type":"1","displayTime":"1767225600","expiry":"1767229200000","actionData":"{\"actionType\":\"search\"}"}"#
            ),
        ])
    func otherForms(_ form: String, _ payload: String) async throws {
        _ = try await sim.add("tn", "a")
        try sim.setOption("sunbird.payload", to: form)
        #expect(try await sim.broadcast(payload).status == 202)
        let push = try await sim.inbox(of: "a").next()
        #expect(push.plaintext?.text == JSON(try JSONDocument(payload).root).description)
        #expect((push.dictionary?["data"]?["id"]?.string == "1") == (form == "shipped"))
        // Each is over within the hour, the first after 34.646 s.
        await sim.advance(by: .milliseconds(form == "control" ? 34_646 : 3_600_000))
        #expect(sim.got("a").count == 1)
    }

    @Test("What is shown twice, too early or too late is reported, and broken")
    func reports() async throws {
        _ = try await sim.add("tn", "a")
        let later = greeting.replacing("05:30:00", with: "05:31:00")
        _ = try await sim.broadcast(later, #","repeat":"1m""#)
        let first = try await sim.inbox(of: "a").next()
        try sim.report(first, .shown)
        #expect(try await sim.state(of: "sunbird.once") == "met")
        #expect(try await sim.state(of: "sunbird.inTime") == "broken")
        await sim.advance(by: .seconds(60))
        try sim.report(try #require(sim.inbox(of: "a").deliveries.last), .shown)
        #expect(try await sim.state(of: "sunbird.once") == "broken")
        #expect(sim.brokenObligations(of: .sunbird).contains { $0.contains("id 7 was shown before") })
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

    @Test("Profiles lose tokens, change payloads and answer in FCM's words")
    func faults() async throws {
        try sim.setProfile(
            .json5(
                """
                { rules: [
                  { on: { route: "batchAdd", key: "lost" }, then: { lose: "token" } },
                  { on: { side: "delivery", backend: "sunbird", token: "a" }, then: { payload: { set: { "actiondata.translations.en.title": "" }, drop: ["expiry"] } } },
                  { on: { route: "sendMessage" }, then: { status: 429, retryAfter: "2s" } },
                  { on: { route: "sendNotification" }, then: { status: 503 } },
                ] }
                """.replacing("key:", with: "token:")))
        _ = try await sim.add("tn", "lost")
        _ = try await sim.add("tn", "a", "b")
        #expect(try await sim.add("tn", "lost").body.text == #"{"results":[{"error":"NOT_FOUND"}]}"#)
        _ = try await sim.broadcast(greeting, #","topic":"tn""#)
        #expect(sim.got("a")[0].contains(#""title":"""#) && !sim.got("a")[0].contains("expiry"))
        #expect(sim.got("b")[0].contains("expiry"))
        let busy = try await send(#"{"topic":"tn"}"#)
        #expect(busy.status == 429 && busy.errorStatus == "RESOURCE_EXHAUSTED")
        #expect(busy.json["error"]?["details"]?[0]?["errorCode"]?.string == "QUOTA_EXCEEDED")
        #expect(busy.fields.first("Retry-After")?.text == "2")
        let down = try await sim.fcm("POST", "/v1/notification/send", "{}")
        #expect(down.status == 503 && down.json["responseCode"]?.string == "SERVER_ERROR")
    }

    private func send(_ message: String) async throws -> Response {
        try await sim.fcm("POST", "/v1/projects/p/messages:send", #"{"message":\#(message)}"#)
    }

    @Test("From Swift: a broadcast, and its end")
    func swift() async throws {
        _ = try await sim.add("tn", "a")
        let payload: JSON = [
            "id": 1, "type": 4, "epoch": "2026-01-01T00:00:00+0000", "expiry": 60, "actiondata": ["any": true],
        ]
        let broadcast = try await sim.sunbird.broadcast(topic: "tn", payload: payload, repeats: "10m")
        #expect(broadcast.id == "b1" && broadcast.deliveries.map(\.outcome) == ["accepted"])
        try sim.sunbird.stop(broadcast)
        await sim.advance(by: .seconds(3600))
        #expect(sim.got("a") == [payload.description])
        await #expect(throws: PushSimError.self) { try await sim.sunbird.broadcast(payload: ["id": "x"]) }
    }
}
