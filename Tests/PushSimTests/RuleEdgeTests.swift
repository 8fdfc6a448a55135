import Foundation
import PushSimFaults
import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Testing

@Suite("Rules at their edges (faults.md)", .pushSim(clock: .frozen))
struct RuleEdgeTests {
    private var port: Int { PushSim.current.url.port ?? 0 }

    private func load(_ rules: String) throws {
        try PushSim.current.setProfile(.json5("{ rules: [ \(rules) ] }"))
    }

    private func raw(_ request: String) async throws -> RawClient.Received {
        let client = try RawClient(port: port)
        try await client.send(request)
        return try await client.receive()
    }

    private func listens() async -> Bool { (try? await call(port: port, "GET", "/none"))?.status == 404 }

    @Test("After a reset the listener takes what a rule had it refuse")
    func refusalEnds() async throws {
        try load("{ on: { path: '/a' }, when: { times: 1 }, then: { connection: { refuse: '1h' } } }")
        let kept = try RawClient(port: port)
        try await kept.send("GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(try await kept.answer().status == 404)
        #expect(try await raw("GET /a HTTP/1.1\r\nHost: a\r\n\r\n").close == .reset)
        #expect(await !listens())
        try await kept.send("POST /__pushsim/reset HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
        #expect(try await kept.answer().status == 204)
        try await eventually { await listens() }
    }

    @Test("A refusal within another goes on until the later of both is over")
    func refusalsAdd() async throws {
        let sim = PushSim.current
        try load("{ on: { path: '/a' }, then: { connection: { refuse: '10s' } } }")
        let kept = try RawClient(port: port)
        try await kept.send("GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(try await kept.answer().status == 404)
        #expect(try await raw("GET /a HTTP/1.1\r\nHost: a\r\n\r\n").close == .reset)
        await sim.advance(by: .seconds(6))
        try await kept.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try await kept.receive().close == .reset)
        await sim.advance(by: .seconds(5))
        #expect(await !listens())
        await sim.advance(by: .seconds(5))
        try await eventually { await listens() }
    }

    @Test(
        "A delay before the body of an answer that has none comes before all of it",
        arguments: ["wire: { garbage: 5 }", "connection: 'reset'", "connection: 'close'", "connection: 'closeMidHead'"])
    func delayWithoutBody(_ fault: String) async throws {
        try load("{ on: { path: '/a' }, then: { delay: { fixed: '2s', before: 'body' }, \(fault) } }")
        let client = try RawClient(port: port)
        try await client.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
        let early = try await client.receive(first: 100)
        #expect(early.bytes.isEmpty && early.close == .open)
        await PushSim.current.advance(by: .seconds(2))
        #expect(try await client.receive().close != .open)
    }

    @Test(
        "on.body is JSON, or a form where it is one",
        arguments: [
            ("application/json", "hello", 404), ("text/plain", "x", 404), ("application/json", #"{"a":1"#, 404),
            ("application/json", #"{"x":""}"#, 299), ("application/x-www-form-urlencoded", "x=&y=1", 299),
            ("", "x=", 299), ("", "x", 404), ("text/plain", "x=", 299), ("application/json", "x=", 404),
        ])
    func bodies(_ type: String, _ body: String, _ status: Int) async throws {
        try load("{ on: { path: '/a', body: { x: '' } }, then: { status: 299 } }")
        let fields = type.isEmpty ? [] : [("Content-Type", type)]
        #expect(try await call(port: port, "POST", "/a", fields: fields, body: body).status == status)
    }

    @Test("Of two rules that act, what only the later says is done too, its body included")
    func mergedBody() async throws {
        try load(
            """
            { on: { path: '/a' }, continue: true, then: { status: 500 } },
            { on: { path: '/a' }, then: { status: 501, body: 'hi', reason: 'Later', headers: { 'X-B': '2' } } }
            """)
        let answer = try await call(port: port, "GET", "/a")
        #expect(answer.status == 500 && answer.body.text == "hi" && answer.fields.first("X-B")?.text == "2")
    }

    @Test(
        "HEAD tells the length of what GET gives, under faults of the wire too",
        arguments: [
            ("extraHeaders: 1", 0), ("headerBytes: 30", 0), ("interim: [103]", 0), ("contentLength: '+10'", 10),
            ("statusLine: 'HTTP/1.1 299 Odd'", 0),
        ])
    func head(_ wire: String, _ more: Int) async throws {
        let length = try await call(port: port, "GET", "/.well-known/fluxer").body.count
        try load("{ on: { route: 'discovery' }, then: { wire: { \(wire) } } }")
        let answer = try await raw("HEAD /.well-known/fluxer HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        #expect(answer.text.contains("\r\nContent-Length: \(length + more)\r\n") && answer.text.hasSuffix("\r\n\r\n"))
    }

    @Test("truncateBody ends the connection also where the body is shorter")
    func truncated() async throws {
        try load("{ on: { path: '/a' }, then: { status: 200, body: 'abc', wire: { truncateBody: 100 } } }")
        let answer = try await raw("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(answer.close == .fin && answer.text.hasSuffix("Content-Length: 3\r\n\r\nabc"))
    }

    @Test("truncateBody ends the connection where there is no body at all", arguments: [204, 304])
    func truncatedNothing(_ status: Int) async throws {
        try load("{ on: { path: '/a' }, then: { status: \(status), wire: { truncateBody: 5 } } }")
        #expect(try await raw("GET /a HTTP/1.1\r\nHost: a\r\n\r\n").close == .fin)
    }

    @Test(
        "** stands for any number of segments, wherever and however often",
        arguments: [
            ("/**", "/", true), ("/a/**", "/a", true), ("/a/**/b", "/a/b", true), ("/a/**/b", "/a/x/y/b", true),
            ("/**/a/**/b", "/x/a/a/y/b", true), ("/**/a/**/b", "/x/b/a", false), ("/a/**/b/**", "/a/c", false),
            ("/**/a*/**", "/x/ab", true), ("/a/**/b", "/a/b/c", false),
        ])
    func stars(_ pattern: String, _ path: String, _ holds: Bool) async throws {
        try load("{ on: { path: '\(pattern)' }, then: { status: 299 } }")
        #expect(try await call(port: port, "GET", path).status == (holds ? 299 : 404))
    }

    @Test("A path made to be matched in all ways is matched in one")
    func manySegments() async throws {
        try load("{ on: { path: '/**/a/**/a/**/a/**/b' }, then: { status: 299 } }")
        let path = String(repeating: "/a", count: 20_000)
        #expect(try await call(port: port, "GET", path).status == 404)
        #expect(try await call(port: port, "GET", path + "/b").status == 299)
    }

    @Test("A Date of the profile's own is the only one; framing is not said by headers but by wire")
    func ownHeaders() async throws {
        try load("{ on: { path: '/a' }, then: { status: 200, headers: { Date: 'x' }, body: 'hello' } }")
        let answer = try await call(port: port, "GET", "/a")
        #expect(answer.fields.filter { $0.isNamed(Array("date".utf8)) }.map(\.value.text) == ["x"])
        for name in ["Content-Length", "transfer-encoding"] {
            let error = #expect(throws: PushSimError.self) {
                try load("{ on: { path: '/a' }, then: { status: 200, headers: { '\(name)': '3' } } }")
            }
            #expect(error?.description.contains("\"wire\"") == true, "\(error?.description ?? "")")
        }
    }

    @Test("The journal has interim answers with the head, and the body alone as body")
    func interim() async throws {
        try load("{ on: { path: '/a' }, then: { status: 200, json: { k: 1 }, wire: { interim: [103] } } }")
        _ = try await raw("GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        let rows = try await PushSim.current.fluxer("GET", "/__pushsim/journal?path=/a").json["entries"]
        #expect(rows?[0]?["answer_body"] == #"{"k":1}"#)
        #expect(rows?[0]?["answer_head"]?.string?.contains("HTTP/1.1 200 OK\r\n") == true)
    }

    @Test("What is changed in a discovery document is changed in nothing else")
    func discovery() async throws {
        try load("{ on: { backend: 'fluxer' }, then: { discovery: { public_vapid_key: null } } }")
        let devices = try await PushSim.current.fluxer("GET", "/v1/users/@me/mobile-devices").json
        #expect(devices["devices"] != nil && devices["push"] == nil)
        let document = try await PushSim.current.fluxer("GET", "/.well-known/fluxer").json
        #expect(document["push"]?["public_vapid_key"] == .null)
    }

    @Test("Seconds to wait may have a fraction, which goes upwards")
    func fractions() async throws {
        try load("{ on: { path: '/a' }, then: { status: 503, retryAfter: 2.5 } }")
        #expect(try await call(port: port, "GET", "/a").fields.first("Retry-After")?.text == "3")
    }

    @Test(
        "What can never hold or happen is a mistake that says what would",
        arguments: [
            ("on: { path: '/é' }, then: { status: 500 }", "as it stands on the wire"),
            ("on: { path: '/a b' }, then: { status: 500 }", "as it stands on the wire"),
            ("on: { path: '/a?x=1' }, then: { status: 500 }", "in \"query\""),
            ("on: { path: '*' }, then: { status: 500 }", "leave \"path\" out"),
            ("on: { path: '/a' }, then: { status: 500, wire: { garbage: 5 } }", "takes the place of an answer"),
            ("on: { side: 'delivery', backend: 'ntm' }, then: { headers: { TTL: null } }", "only Web Push"),
            ("on: { side: 'delivery' }, then: { drop: true, answer: { status: 503 } }", "is dropped has no"),
        ])
    func mistakes(_ rule: String, _ message: String) {
        let error = #expect(throws: PushSimError.self) { try load("{ \(rule) }") }
        #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
    }

    @Test(
        "kind and transport are of deliveries only, and the mistake says so",
        arguments: ["kind: 'ring'", "transport: 'apns'"])
    func kinds(_ on: String) {
        let error = #expect(throws: PushSimError.self) { try load("{ on: { \(on) }, then: { status: 500 } }") }
        #expect(error?.description.contains("side: \"delivery\"") == true, "\(error?.description ?? "")")
    }
}
