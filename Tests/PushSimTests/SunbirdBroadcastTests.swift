import PushSimSimulation
import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Testing

@Suite("Broadcasts (sunbird.md, payload profiles and topics)", .pushSim(clock: sunbirdStart))
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
        "Five fields name the minutes that cron would run at",
        arguments: [
            ("0 0 29 2 *", "2028-02-29T00:00:00Z"), ("59 23 31 12 *", "2026-12-31T23:59:00Z"),
            ("*/20 1-3/2 * * *", "2026-01-01T01:00:00Z"), ("5/25 * * * *", "2026-01-01T00:05:00Z"),
            ("0 12 * * 7", "2026-01-04T12:00:00Z"), ("0 12 * * 0", "2026-01-04T12:00:00Z"),
            ("0 0 13 * 5", "2026-01-02T00:00:00Z"), ("0 0 1 * *", "2026-02-01T00:00:00Z"),
            ("1,3 0 * * *", "2026-01-01T00:01:00Z"), ("* * * * *", "2026-01-01T00:01:00Z"),
        ])
    func minutes(_ fields: String, _ next: String) async throws {
        let long = greeting.replacing("\"expiry\":60", with: "\"expiry\":50000000")
        let made = try await sim.broadcast(long, #","repeat":"\#(fields)""#)
        #expect(made.json["next"]?.string == next)
        let never = try await sim.broadcast(long, #","repeat":"0 0 31 2 *""#)
        #expect(never.status == 400 && never.json["error"]?["path"]?.string == "$.repeat")
    }

    @Test("Every minute of days goes by in one advance, and a real clock's lateness does not add up")
    func everyMinute() async throws {
        let long = greeting.replacing("\"expiry\":60", with: "\"expiry\":50000000")
        _ = try await sim.broadcast(long, #","repeat":"* * * * *""#)
        await sim.advance(by: .seconds(3 * 86_400))
        let listed = try await sim.fcm("GET", "/__pushsim/sunbird/broadcasts").json["broadcasts"]?[0]
        #expect(listed?["runs"]?.int == 3 * 1440 && listed?["next"]?.string == "2026-01-04T00:01:00Z")
    }

    @Test(
        "FCM says when to come back; by then it may be too late for the notification",
        arguments: [(1, ["retrying", "dropped"]), (2, ["retrying", "accepted"])])
    func expiring(_ minutes: Int, _ outcomes: [String]) async throws {
        _ = try await sim.add("tn", "a")
        try sim.setProfile(
            .json5(
                """
                { rules: [ { on: { side: 'delivery' }, when: { calls: '1' },
                  then: { answer: { status: 503, retryAfter: '70s' } } } ] }
                """))
        _ = try await sim.broadcast(greeting.replacing(#""expiry":60"#, with: #""expiry":\#(minutes)"#))
        await sim.advance(by: .milliseconds(69_999))
        #expect(sim.got("a").isEmpty)
        await sim.advance(by: .milliseconds(1))
        #expect(sim.got("a").count == minutes - 1)
        let rows = try await sim.fcm("GET", "/__pushsim/journal").json["entries"]?.elements ?? []
        #expect(rows.compactMap { $0["outcome"]?.string } == outcomes)
    }

    @Test("Where nobody asks what is sent, what has expired is sent too, and keys that are FCM's own")
    func unchecked() async throws {
        _ = try await sim.add("tn", "a")
        try sim.setOption("sunbird.encoding", to: "values")
        let own = greeting.replacing("\"unknown\"", with: "\"from\"")
        let refused = try await sim.broadcast(own)
        #expect(refused.status == 400 && refused.json["error"]?["path"]?.string == "$.payload.from")
        try sim.setOption("sunbird.validation", to: "off")
        for payload in [own, greeting.replacing("60", with: "-5"), greeting.replacing("2026-", with: "2016-")] {
            #expect(try await sim.broadcast(payload).json["deliveries"]?.elements?.count == 1)
        }
        #expect(sim.got("a").count == 3)
    }

    @Test("What a profile made of a notification is what the device is judged by")
    func judged() async throws {
        _ = try await sim.add("tn", "a")
        try sim.setProfile(
            .json5(
                "{ rules: [ { on: { side: 'delivery' }, then: { payload: { set: { epoch: '2016-08-29T02:40:33+0530' } } } } ] }"
            ))
        _ = try await sim.broadcast(greeting)
        try sim.report(try await sim.inbox(of: "a").next(), .shown)
        #expect(try await sim.state(of: "sunbird.inTime") == "broken")
    }

    @Test("The shipped apps are on the topic all")
    func shippedTopic() async throws {
        try sim.setOption("sunbird.payload", to: "shipped")
        try sim.setOption("sunbird.validation", to: "off")
        #expect(try await sim.broadcast(#"{"id":"1"}"#).json["topic"]?.string == "all")
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
    }

    @Test("The form control ends so long after its first sending, also where that is still to come")
    func controlByCron() async throws {
        try sim.setOption("sunbird.payload", to: "control")
        _ = try await sim.add("tn", "a")
        let payload =
            #"{"actiontype":"display","notificationtype":"general","notificationid":"n","expiry":"7200000millis"}"#
        let made = try await sim.broadcast(payload, #","repeat":"0 8,9,10 * * *""#)
        #expect(made.status == 202 && made.json["expires"] == .null)
        #expect(made.json["next"]?.string == "2026-01-01T08:00:00Z")
        let state = try await sim.fcm("GET", "/__pushsim/state").body.text
        #expect(try await sim.fcm("PUT", "/__pushsim/state", state).status == 204)
        await sim.advance(by: .seconds(9 * 3600))
        let listed = try await sim.fcm("GET", "/__pushsim/sunbird/broadcasts").json["broadcasts"]?[0]
        #expect(listed?["expires"]?.string == "2026-01-01T10:00:00Z")
        await sim.advance(by: .seconds(24 * 3600))
        #expect(sim.got("a").count == 2)
    }

    @Test("Five fields that name no time before the expiry are refused")
    func neverRuns() async throws {
        let answer = try await sim.broadcast(greeting, #","repeat":"0 2 * * *""#)
        #expect(answer.status == 400 && answer.json["error"]?["path"]?.string == "$.repeat")
        #expect(answer.json["error"]?["message"]?.string?.contains("before the expiry") == true)
    }

    @Test(
        "A time zone is one that zoneinfo has, an offset or UTC",
        arguments: ["Asia/Nowhere", "../UTC", "/UTC", "", "+5:30", "Europe", "+15:00"])
    func noTimeZone(_ text: String) async throws {
        let answer = try await sim.broadcast(greeting, #","repeat":"* * * * *","timeZone":"\#(text)""#)
        #expect(answer.status == 400 && answer.json["error"]?["path"]?.string == "$.timeZone")
    }

    @Test(
        "A named time zone's clocks decide, and a snapshot keeps the name",
        .enabled(if: (try? ZoneInfo(named: "Asia/Kolkata")) != nil, "zoneinfo is not here: install tzdata"))
    func namedTimeZone() async throws {
        _ = try await sim.add("tn", "a")
        let long = greeting.replacing("\"expiry\":60", with: "\"expiry\":100000")
        let made = try await sim.broadcast(long, #","repeat":"0 8 * * 1-5","timeZone":"Asia/Kolkata""#)
        #expect(made.json["next"]?.string == "2026-01-01T02:30:00Z")
        let state = try await sim.fcm("GET", "/__pushsim/state")
        #expect(state.json["sunbird"]?["broadcasts"]?.elements?.first?["timeZone"]?.string == "Asia/Kolkata")
        #expect(try await sim.fcm("PUT", "/__pushsim/state", state.json.description).status == 204)
        await sim.advance(by: .seconds(86_400))
        #expect(sim.got("a").count == 1)
    }

    @Test(
        "Messages that are not of their form are refused with the member that is wrong, unless nobody asks",
        arguments: [
            ("design", #""id":7"#, #""id":"7""#, "id"), ("design", #""id":7"#, #""id":7.5"#, "id"),
            ("design", #""type":2"#, #""type":5"#, "type"), ("design", #""type":2"#, #""kind":2"#, "type"),
            ("design", "+0530", "+05:30", "epoch"), ("design", #""expiry":60"#, #""expiry":0"#, "expiry"),
            ("design", #""en""#, #""hi""#, "actiondata.translations.en"),
            ("design", #""msg""#, #""text""#, "actiondata.translations.en"),
            ("design", #""translations""#, #""texts""#, "actiondata.translations"),
            ("draft", #""type":2"#, #""type":3"#, "type"),
            ("draft", #""expiry":60"#, #""expiry":60,"relative":1"#, "epoch"),
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
                #"{"id":"1","type":"1","displayTime":"1767225600","expiry":"1767229200000","actionData":"{\"actionType\":\"search\",\"title\":\"t\",\"description\":\"d\"}"}"#
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

    @Test("Profiles lose tokens, change payloads and answer in FCM's words")
    func faults() async throws {
        try sim.setProfile(
            .json5(
                """
                { rules: [
                  { on: { route: "batchAdd", key: "lost" }, then: { lose: "registration" } },
                  { on: { side: "delivery", backend: "sunbird", token: "a" }, then: { payload: { set: { "actiondata.translations.en.title": "" }, drop: ["expiry"] } } },
                  { on: { route: "sendMessage" }, then: { status: 429, retryAfter: "2s" } },
                  { on: { route: "sendNotification" }, then: { status: 503 } },
                ] }
                """.replacing("key:", with: "token:")))
        _ = try await sim.add("tn", "lost")
        _ = try await sim.add("tn", "a", "b")
        #expect(try await sim.add("tn", "lost", "too").body.text.contains("NOT_FOUND"))
        // Of a batch only the token that the rule names is lost.
        #expect(try await sim.add("tn", "too").body.text == #"{"results":[{}]}"#)
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

    @Test(
        "The action's data is no JSON, or an object where the shipped apps expect a text",
        arguments: [
            ("notJSON", "\"{not JSON\""), ("object", #"{"actionType":"search","title":"t","description":"d"}"#),
        ])
    func actionData(_ fault: String, _ wanted: String) async throws {
        _ = try await sim.add("tn", "a")
        try sim.setOption("sunbird.payload", to: "shipped")
        try sim.setProfile(
            .json5("{ rules: [ { on: { side: 'delivery' }, then: { payload: { actiondata: '\(fault)' } } } ] }"))
        let shipped = #"""
            {"id":"1","type":"1","displayTime":"1767225600","expiry":"1767229200000",
             "actionData":"{\"actionType\":\"search\",\"title\":\"t\",\"description\":\"d\"}"}
            """#
        #expect(try await sim.broadcast(shipped).status == 202)
        let push = try await sim.inbox(of: "a").next()
        #expect(push.dictionary?["data"]?["actionData"]?.description == wanted)
        #expect(push.dictionary?["data"]?["id"]?.string == "1")
        for wrong in ["{ actiondata: 'no' }", "{ actiondata: 1 }"] {
            #expect(throws: PushSimError.self) {
                try sim.setProfile(
                    .json5("{ rules: [ { on: { side: 'delivery' }, then: { payload: \(wrong) } } ] }"))
            }
        }
        #expect(throws: PushSimError.self) {
            try sim.setProfile(
                .json5(
                    "{ rules: [ { on: { side: 'delivery', backend: 'ntm' }, then: { payload: { actiondata: 'object' } } } ] }"
                ))
        }
    }

    @Test("The app's own notifications are sent to nobody, and due so many hours after its install")
    func local() async throws {
        _ = try await sim.add("tn", "a")
        func own(_ id: Int, _ hours: Int) -> JSON {
            ["id": .int(id), "type": 3, "relativetime": .int(hours), "actiondata": ["feature": "quiz"]]
        }
        for (id, hours) in [(1, 48), (2, 0), (3, 24)] {
            #expect(try await sim.sunbird.broadcast(payload: own(id, hours)).deliveries.isEmpty)
        }
        #expect(sim.got("a").isEmpty)
        let installed = "2025-12-31T00:00:00Z"
        #expect(try sim.sunbird.local(installed: installed) == [own(2, 0), own(3, 24)])
        #expect(try sim.sunbird.local(installed: installed, at: "2025-12-31T23:59:59Z") == [own(2, 0)])
        #expect(try sim.sunbird.local(installed: installed, at: "2026-01-02T00:00:00Z").count == 3)
        let path = "/__pushsim/sunbird/local"
        let answer = try await sim.fcm("GET", "\(path)?installed=\(installed)&at=2025-12-31T00:00:00Z")
        #expect(
            answer.json["local"]?.description
                == #"[{"id":"b2","due":"2025-12-31T00:00:00Z","payload":\#(own(2, 0))}]"#)
        for query in ["", "?at=\(installed)", "?installed=now", "?installed=\(installed)&to=1", "?installed=%zz"] {
            #expect(try await sim.fcm("GET", path + query).status == 400, "\(query)")
        }
        let state = try await sim.fcm("GET", "/__pushsim/state").body
        #expect(try await sim.fcm("PUT", "/__pushsim/state", state.text).status == 204)
        #expect(try sim.sunbird.local(installed: installed).count == 2)
        let mixed = greeting.replacing("\"expiry\"", with: "\"relativetime\":1,\"expiry\"")
        #expect(try await sim.broadcast(mixed).json["error"]?["path"]?.string == "$.payload.epoch")
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
