import Foundation
import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Testing

private let bearer = ("Authorization", "Bearer alice")
private let good = #"{"proto":"apns","token":"abc","app_domain":"example.com"}"#

extension PushSim {
    fileprivate var port: Int { url.port ?? 0 }

    fileprivate func send(
        _ method: String, _ target: String, _ body: String = "", fields: [(String, String)] = [bearer]
    ) async throws -> Response {
        try await PushSimTestSupport.call(port: port, method, target, fields: fields, body: body)
    }

    fileprivate func register(_ body: String = good) async throws -> String {
        let text = try await send("POST", "/v1/subscriber", body).body.text
        return String(text.dropFirst(7).prefix(30))
    }
}

extension Response {
    fileprivate var code: String? { (try? JSONDocument(body))?.root.member("error")?.member("code")?.string }
}

@Suite("NTM over real sockets (ntm.md)", .pushSim())
struct NTMTests {
    @Test(
        "A registration's answer is 40 bytes in every body style",
        arguments: [
            ("object", #"^\{"id":"[0-9a-f]{30}"\}\n$"#), ("stringified", #"^"\{\\"id\\":\\"[0-9a-f]{24}\\"\}"\n$"#),
            ("pair", #"^"id": "[0-9a-f]{32}"$"#),
        ])
    func bodyStyles(_ style: String, _ pattern: String) async throws {
        let sim = PushSim.current
        try sim.setOption("ntm.bodyStyle", to: style)
        let answer = try await sim.send("POST", "/v1/subscriber", good)
        #expect(answer.status == 200)
        #expect(answer.body.count == 40)
        #expect(try Regex(pattern).wholeMatch(in: answer.body.text) != nil)
    }

    @Test("Every answer carries the doc's headers")
    func headers() async throws {
        let answer = try await PushSim.current.send(
            "POST", "/v1/subscriber", good, fields: [bearer, ("Trace-Id", "t1")])
        #expect(answer.fields.first("Access-Control-Allow-Origin")?.text == "*")
        #expect(answer.fields.first("Connection")?.text == "close")
        #expect(answer.fields.first("Content-Length")?.text == "40")
        #expect(answer.fields.first("Content-Type")?.text == "application/json")
        #expect(answer.fields.first("Trace-Id")?.text == "t1")
        #expect(answer.fields.first("Vary")?.text == "Origin")
        #expect(answer.fields.first("Date") != nil)
    }

    @Test(
        "Takes a body in each form that real clients send",
        arguments: [
            ("application/x-www-form-urlencoded", good), ("application/json", good),
            ("application/x-www-form-urlencoded", "proto=xmpp&token=a%40b.c&app_domain=example.com"),
            ("application/x-www-form-urlencoded", "proto=xmpp&token=a@b.c&app_domain=example.com"),
        ])
    func bodyForms(_ type: String, _ body: String) async throws {
        let answer = try await PushSim.current.send(
            "POST", "/v1/subscriber/", body, fields: [bearer, ("Content-Type", type)])
        #expect(answer.status == 200)
    }

    @Test(
        "Refuses a bad registration with the service's own code",
        arguments: [
            (#"{"proto":"apns""#, 400, "NTM-0003"), ("proto=%zz", 400, "NTM-0003"), ("[1]", 400, "NTM-0003"),
            (#"{"proto":"gcm","token":"a","app_domain":"b"}"#, 400, "NTM-0004"),
            (#"{"proto":"apns","app_domain":"b"}"#, 400, "NTM-0004"),
            (#"{"proto":"apns","token":"","app_domain":"b"}"#, 400, "NTM-0004"),
            (#"{"proto":"apns","token":7,"app_domain":"b"}"#, 400, "NTM-0004"), ("", 400, "NTM-0004"),
        ])
    func badRegistrations(_ body: String, _ status: Int, _ code: String) async throws {
        let answer = try await PushSim.current.send("POST", "/v1/subscriber", body)
        #expect(answer.status == status)
        #expect(answer.code == code)
    }

    @Test(
        "A bearer that is plainly a client's bug is NTM-0000",
        arguments: ["", "Basic YTpi", "Bearer ", "Bearer undefined", "Bearer null", "Bearer {token}", "Bearer <token>"])
    func bearers(_ value: String) async throws {
        let answer = try await PushSim.current.send("POST", "/v1/subscriber", good, fields: [("Authorization", value)])
        #expect(answer.status == 401)
        #expect(answer.code == "NTM-0000")
    }

    @Test(
        "The five encodings of a topic name the same subscription",
        arguments: [
            "example.com/video/alice@example.com", "example.com%2Fvideo%2Falice%40example.com",
            "example.com%252Fvideo%252Falice%2540example.com", "example.com/video/alice%2540example.com",
            "example.com/video/alice%40example.com",
        ])
    func topics(_ topic: String) async throws {
        let sim = PushSim.current
        let id = try await sim.register()
        let answer = try await sim.send("POST", "/v1/subscription/subscriber/\(id)/topic/\(topic)")
        #expect(answer.status == 200)
        #expect(answer.body.text == "{}")
        #expect(try await sim.ntm.notify(topic: "example.com/video/alice@example.com").count == 1)
        let push = try await sim.inbox(of: "abc").next()
        #expect(push.dictionary?["to_routing_id"]?.string == "alice@example.com")
    }

    @Test(
        "A bad topic is refused",
        arguments: [
            ("%zz", "NTM-0003"), ("a%2", "NTM-0003"), ("other.com/video/a", "NTM-0004"),
            ("example.com/fax/a", "NTM-0004"),
        ])
    func badTopics(_ topic: String, _ code: String) async throws {
        let sim = PushSim.current
        let id = try await sim.register()
        let answer = try await sim.send("POST", "/v1/subscription/subscriber/\(id)/topic/\(topic)")
        #expect(answer.status == 400)
        #expect(answer.code == code)
    }

    @Test("A dead id stays dead, and registering again gives a new one")
    func lifetimes() async throws {
        let sim = PushSim.current
        let id = try await sim.register()
        #expect(try await sim.register() == id)
        #expect(try await sim.send("DELETE", "/v1/subscriber/\(id)").body.text == "{}")
        #expect(try await sim.send("DELETE", "/v1/subscriber/\(id)").status == 454)
        #expect(try await sim.send("POST", "/v1/subscription/subscriber/\(id)/topic/example.com/chat/a").status == 452)
        #expect(try await sim.register() != id)
    }

    @Test("Unsubscribing and deregistering end what is delivered")
    func revocation() async throws {
        let sim = PushSim.current
        let id = try await sim.register()
        let topic = "/v1/subscription/subscriber/\(id)/topic/example.com/chat/a"
        _ = try await sim.send("POST", topic)
        #expect(try await sim.ntm.notify(topic: "example.com/chat/a", type: "chat").count == 1)
        #expect(try await sim.send("DELETE", topic).status == 200)
        #expect(try await sim.send("DELETE", topic).status == 200)
        #expect(try await sim.ntm.notify(topic: "example.com/chat/a", type: "chat").count == 0)
    }

    @Test(
        "PSTN: both names are one subscription by default, and two with the option", arguments: ["lenient", "strict"])
    func pstn(_ mode: String) async throws {
        let sim = PushSim.current
        try sim.setOption("ntm.pstnDelete", to: mode)
        let id = try await sim.register()
        _ = try await sim.send("POST", "/v1/subscription/subscriber/\(id)/topic/federation/pstn/1")
        let delete = "/v1/subscription/subscriber/\(id)/topic/example.com/federation/pstn/1"
        #expect(try await sim.send("DELETE", delete).status == 200)
        #expect(try await sim.ntm.notify(topic: "federation/pstn/1").count == (mode == "strict" ? 1 : 0))
    }

    @Test("The reads and publish want a token of type core or server")
    func privileged() async throws {
        let sim = PushSim.current
        let id = try await sim.register()
        let routes = [
            ("GET", "/v1/subscriber/\(id)"), ("GET", "/v2/subscriber/proto/apns/token/abc"),
            ("GET", "/v1/subscribers/topic/example.com/chat/a"),
        ]
        for (method, target) in routes {
            #expect(try await sim.send(method, target).code == "NTM-0001")
            #expect(try await sim.send(method, target, fields: [("Authorization", "Bearer server-1")]).status == 200)
        }
        let body = #"{"topic":"example.com/chat/a"}"#
        #expect(try await sim.send("POST", "/v1/publish", body).code == "NTM-0001")
        #expect(
            try await sim.send("POST", "/v1/publish", body, fields: [("Authorization", "Bearer core-1")]).status == 200)
    }

    @Test("Unknown routes are 404, wrong methods 405 with Allow, OPTIONS 204")
    func otherRoutes() async throws {
        let sim = PushSim.current
        #expect(try await sim.send("GET", "/v1/subscription/x").code == "HTTP-404")
        let wrong = try await sim.send("PUT", "/v1/subscriber")
        #expect(wrong.status == 405)
        #expect(wrong.fields.first("Allow")?.text == "POST, OPTIONS")
        let options = try await sim.send("OPTIONS", "/v1/subscriber", fields: [])
        #expect(options.status == 204)
        #expect(options.fields.first("Access-Control-Allow-Methods")?.text == "POST, OPTIONS")
    }

    @Test("In mode jwt only a token minted here passes, until it expires", .pushSim(clock: .frozen))
    func tokens() async throws {
        let sim = PushSim.current
        try sim.setOption("ntm.auth", to: "jwt")
        #expect(try await sim.send("POST", "/v1/subscriber", good).code == "NTM-0000")
        let token = try sim.ntm.token(domain: "example.com", ttl: "60s")
        let field = ("Authorization", "Bearer \(token)")
        #expect(try await sim.send("POST", "/v1/subscriber", good, fields: [field]).status == 200)
        #expect(
            try await sim.send("POST", "/v1/subscriber", good.replacing("example", with: "other"), fields: [field]).code
                == "NTM-0004")
        await sim.advance(by: .seconds(60))
        #expect(try await sim.send("POST", "/v1/subscriber", good, fields: [field]).code == "NTM-0000")
    }

    @Test("An XMPP subscriber gets a stanza with its userdata escaped")
    func stanza() async throws {
        let sim = PushSim.current
        let id = try await sim.register(#"{"proto":"xmpp","token":"alice@example.com","app_domain":"example.com"}"#)
        _ = try await sim.send("POST", "/v1/subscription/subscriber/\(id)/topic/example.com/video/alice@example.com")
        try await sim.ntm.notify(topic: "example.com/video/alice@example.com", userdata: ["a": "<&\">"])
        let push = try await sim.inbox(of: "alice@example.com").next()
        #expect(push.transport == "xmpp")
        #expect(push.text.contains(#"<data xmlns="urn:xmpp:comcast:info" type="notify""#))
        #expect(push.text.contains(#"userdata="{&quot;a&quot;:&quot;&lt;&amp;\&quot;&gt;&quot;}""#))
    }

    @Test("A cancel repeats the room and trace of its notify")
    func cancel() async throws {
        let sim = PushSim.current
        let id = try await sim.register()
        _ = try await sim.send("POST", "/v1/subscription/subscriber/\(id)/topic/example.com/video/a")
        try await sim.ntm.notify(topic: "example.com/video/a")
        try await sim.ntm.notify(topic: "example.com/video/a", type: "cancel")
        let pushes = sim.inbox(of: "abc").deliveries.compactMap(\.dictionary)
        #expect(pushes.count == 2)
        #expect(pushes[0]["room_id"] == pushes[1]["room_id"])
        #expect(pushes[0]["trace_id"] == pushes[1]["trace_id"])
    }

    @Test(
        "Each option gives the other reading",
        arguments: [
            ("ntm.repeatSubscription", "409", 409, "HTTP-409"), ("ntm.repeatSubscription", "200", 200, nil),
        ] as [(String, String, Int, String?)])
    func repeatedSubscription(_ option: String, _ value: String, _ status: Int, _ code: String?) async throws {
        let sim = PushSim.current
        try sim.setOption(option, to: value)
        let target = "/v1/subscription/subscriber/\(try await sim.register())/topic/example.com/chat/a"
        _ = try await sim.send("POST", target)
        let answer = try await sim.send("POST", target)
        #expect(answer.status == status)
        #expect(answer.code == code)
    }

    @Test("ntm.unknownSubscriber 404 replaces 452 and 454", arguments: ["null", "undefined", "0123"])
    func unknownSubscriber(_ id: String) async throws {
        let sim = PushSim.current
        let topic = "/v1/subscription/subscriber/\(id)/topic/example.com/chat/a"
        #expect(try await sim.send("POST", topic).status == 452)
        #expect(try await sim.send("DELETE", topic).status == 454)
        try sim.setOption("ntm.unknownSubscriber", to: "404")
        #expect(try await sim.send("POST", topic).status == 404)
        #expect(try await sim.send("DELETE", "/v1/subscriber/\(id)").code == "NTM-0005")
    }

    @Test("ntm.contentType, ntm.connection, ntm.reRegister and ntm.protocols act from the next call on")
    func otherOptions() async throws {
        let sim = PushSim.current
        let first = try await sim.register()
        try sim.setOption("ntm.contentType", to: "application/json; charset=utf-8")
        try sim.setOption("ntm.connection", to: "keep-alive")
        try sim.setOption("ntm.reRegister", to: "new")
        try sim.setOption("ntm.protocols", to: "apns,fcm")
        #expect(try await sim.register() != first)
        let answer = try await sim.send("POST", "/v1/subscriber", good)
        #expect(answer.fields.first("Content-Type")?.text == "application/json; charset=utf-8")
        #expect(answer.fields.first("Connection") == nil)
        let xmpp = good.replacing("apns", with: "xmpp")
        #expect(try await sim.send("POST", "/v1/subscriber", xmpp).code == "NTM-0004")
    }

    @Test("A second protocol succeeds and is a broken obligation; ntm.protocolSwitch reject refuses it")
    func protocolSwitch() async throws {
        let sim = PushSim.current
        _ = try await sim.register()
        let xmpp = good.replacing("apns", with: "xmpp")
        #expect(try await sim.send("POST", "/v1/subscriber", xmpp).status == 200)
        let ledger = JSON(try JSONDocument(try await sim.send("GET", "/__pushsim/obligations").body).root)
        let row = ledger["obligations"]?.elements?.first { $0["id"]?.string == "ntm.oneProtocol" }
        #expect(row?["state"]?.string == "broken")
        #expect(row?["calls"]?[0]?["call"]?.int == 2)
        try sim.setOption("ntm.protocolSwitch", to: "reject")
        #expect(try await sim.send("POST", "/v1/subscriber", good).code == "NTM-0004")
    }

    @Test(
        "A scripted status without a body has the service's code: NTM-0006 for 5xx, else the status",
        arguments: [
            (500, "NTM-0006"), (503, "NTM-0006"), (404, "HTTP-404"), (429, "HTTP-429"), (452, "HTTP-452"),
        ])
    func scripted(_ status: Int, _ code: String) async throws {
        let sim = PushSim.current
        try sim.setProfile(.json5("{ rules: [ { then: { status: \(status) } } ] }"))
        let answer = try await sim.send("POST", "/v1/subscriber", good)
        #expect(answer.status == status && answer.code == code)
        #expect(answer.fields.first("Access-Control-Allow-Origin")?.text == "*")
        #expect(answer.fields.first("Trace-Id") != nil)
    }

    @Test("A token whose scopes do not cover the call is NTM-0002")
    func scopes() async throws {
        let sim = PushSim.current
        try sim.setOption("ntm.auth", to: "jwt")
        let token = try sim.ntm.token(domain: "example.com", scopes: ["ntm:read"])
        let field = ("Authorization", "Bearer \(token)")
        #expect(try await sim.send("POST", "/v1/subscriber", good, fields: [field]).code == "NTM-0002")
    }
}
