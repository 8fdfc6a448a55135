import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Testing

@Suite("Sending through the fake FCM (sunbird.md, routes)", .pushSim(clock: sunbirdStart))
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
            (#"{"condition":"a in topics"}"#, 400, "message.condition"),
            (#"{"condition":"'a' in topics","topic":"a"}"#, 400, "message"),
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

    @Test(
        "What is no message at all is refused without FCM's own code, and nothing is sent",
        arguments: [
            #"{"message":{"topic":"tn","priority":"high"}}"#, #"{"message":{"topic":"tn"},"validate_only":"true"}"#,
            #"{"message":{"topic":"tn"},"validate_only":1}"#, #"{"message":{"topic":"tn"},"extra":1}"#,
            #"{"message":{"topic":5}}"#, #"{"message":{"topic":"tn","notification":5}}"#, "[]", "{", "",
        ])
    func malformed(_ body: String) async throws {
        _ = try await sim.add("tn", "a")
        let response = try await sim.fcm("POST", "/v1/projects/p/messages:send", body)
        #expect(response.status == 400 && response.errorStatus == "INVALID_ARGUMENT")
        #expect(response.json["error"]?["details"]?.elements?.contains { $0["errorCode"] != nil } == false)
        #expect(sim.inbox(of: "a").deliveries.isEmpty)
        // To protobuf null is absent.
        #expect(try await send(#"{"topic":"tn","token":null,"condition":null,"data":null}"#).status == 200)
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
        let long = String(repeating: "x", count: 2048)
        let large = try await sim.fcm("POST", "/fcm/send", #"{"to":"/topics/tn","data":{"k":"\#(long)"}}"#)
        #expect(large.body.text == #"{"error":"MessageTooBig"}"#)
        let trial = try await sim.fcm("POST", "/fcm/send", #"{"to":"a","dry_run":true}"#)
        #expect(trial.json["success"]?.int == 1)
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
        // Where both are given, one of them counts.
        let both = #"{"mode":"device","config":{"topic":"tn"},"ids":["a"],"rawData":\#(greeting)}"#
        #expect(
            try await sim.fcm("POST", "/v1/notification/send" + path, request(both), fields: []).status == 200)
        #expect(sim.got("a").count == 3 && sim.got("b").count == (path.isEmpty ? 2 : 1))
    }
}

extension SunbirdSendingTests {
    @Test(
        "What the platform cannot read goes to nobody",
        arguments: [
            (#""ids":"a""#, "ids"), (#""ids":5"#, "ids"), (#""ids":[5]"#, "ids"), (#""config":5"#, "config"),
            (#""config":{"topic":5}"#, "config.topic"),
            (#""rawData":{"id":1,"type":4,"relativetime":3}"#, "rawData"),
            (#""config":{"topic":"a b"}"#, "config.topic"),
        ])
    func unreadable(_ member: String, _ place: String) async throws {
        _ = try await sim.add("tn", "a")
        let data = member.contains("rawData") ? "" : #","rawData":\#(greeting)"#
        let body = #"{"request":{"notifications":[{"mode":"device",\#(member)\#(data)}]}}"#
        let response = try await sim.fcm("POST", "/v1/notification/send", body)
        #expect(response.status == 400)
        #expect(
            response.json["params"]?["errmsg"]?.string?.hasPrefix("$.request.notifications[0].\(place): ") == true)
        #expect(sim.inbox(of: "a").deliveries.isEmpty)
    }

    @Test("A notification that comes through FCM itself is known as one, in each encoding, and its data stays whole")
    func decoded() async throws {
        _ = try await sim.add("tn", "a")
        let text = JSON.string(JSON(try JSONDocument(greeting).root).description).description
        try sim.setProfile(.json5("{ rules: [ { on: { side: 'delivery' }, then: { payload: { set: { id: 9 } } } } ] }"))
        _ = try await send(#"{"topic":"tn","data":{"payload":\#(text),"extra":"keep"}}"#)
        let one = try await sim.inbox(of: "a").next()
        #expect(one.dictionary?["data"]?["extra"] == "keep" && one.plaintext?.text.hasPrefix(#"{"id":9,"#) == true)
        _ = try await send(#"{"topic":"tn","data":{"id":"1","x":"y"}}"#)
        let plain = try await sim.inbox(of: "a").next(after: one)
        #expect(plain.dictionary?["data"]?.description == #"{"id":"9","x":"y"}"# && plain.plaintext == nil)
        try sim.setOption("sunbird.encoding", to: "values")
        try sim.setProfile(nil)
        _ = try await send(
            #"{"topic":"tn","data":{"id":"7","epoch":"2026-01-01T06:00:00+0530","expiry":"60","x":"1"}}"#)
        let values = try await sim.inbox(of: "a").next(after: plain)
        #expect(values.plaintext?.text == #"{"id":7,"epoch":"2026-01-01T06:00:00+0530","expiry":60,"x":"1"}"#)
        try sim.setProfile(.json5("{ rules: [ { on: { side: 'delivery' }, then: { payload: { set: { id: 5 } } } } ] }"))
        _ = try await send(#"{"topic":"tn","data":{"id":"1","actiondata":"{\"a\": 1.0}","z":" 5"}}"#)
        let changed = try await sim.inbox(of: "a").next(after: values)
        let data = #"{"id":"5","actiondata":"{\"a\": 1.0}","z":" 5"}"#
        #expect(changed.dictionary?["data"]?.description == data)
        try sim.report(values, .shown)
        #expect(try await sim.state(of: "sunbird.inTime") == "broken")
        // The sender's calls are none of the client's.
        sim.reset()
        _ = try await send(#"{"topic":"a b"}"#)
        #expect(try await sim.state(of: "sunbird.topics") == "not exercised")
    }
}
