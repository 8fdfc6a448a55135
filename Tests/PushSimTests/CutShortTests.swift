import Foundation
import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Testing

@Suite(
    "Calls that are cut short, and limits (control-api.md, the HTTP server itself, journal)", .pushSim(clock: .frozen))
struct CutShortTests {
    let sim = PushSim.current
    private let registration = #"{"proto":"apns","token":"abc","app_domain":"example.com"}"#

    private func send(
        _ method: String, _ target: String, _ body: String = "", fields: [(String, String)] = []
    ) async throws -> Response {
        try await PushSimTestSupport.call(
            port: sim.url.port ?? 0, method, target, fields: fields + [("Authorization", "Bearer alice")], body: body)
    }

    /// Status and ending of each call, as the journal has them.
    private func rows() async -> [String] {
        let rows = try? await send("GET", "/__pushsim/journal").json["entries"]?.elements
        return (rows ?? []).map { "\($0["status"]?.int ?? 0) \($0["ended"]?.string ?? "open")" }
    }

    private let head = "POST /v1/subscriber HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer alice\r\n"

    @Test(
        "A body that is refused counts as a call, and stands in the journal, however its packets fall",
        arguments: [
            ("Transfer-Encoding: chunked\r\n\r\n", "zz\r\n", 400),
            ("Transfer-Encoding: chunked\r\n\r\n", "3\r\nabcd\r\n0\r\n\r\n", 400),
            ("Transfer-Encoding: chunked\r\n\r\n", "7\r\nabcdefg\r\nFF\r\n", 413),
            ("Content-Length: 1000\r\n\r\n", "", 413),
        ], [0, 1, 2])
    func refusedBody(_ row: (fields: String, body: String, status: Int), _ cut: Int) async throws {
        try sim.setOption("server.bodyLimit", to: "100")
        try sim.setProfile(
            .json5(
                "{ rules: [ { on: { route: 'registerSubscriber' }, when: { calls: '2' }, then: { status: 500 } } ] }"))
        let client = try RawClient(port: sim.url.port ?? 0)
        switch cut {
        case 0: try await client.send(head + row.fields + row.body)
        case 1:
            try await client.send(head + row.fields)
            if !row.body.isEmpty, row.status == 400 || row.body.count > 5 {
                // The head is announced by now, or the server has answered it.
                try await eventually { sim.journal.count == 1 }
                try await client.send(row.body)
            }
        default:
            try await client.send(String(head.prefix(20)))
            try await client.send(head.dropFirst(20) + row.fields + row.body)
        }
        let received = try await client.receive()
        #expect(received.status == row.status && received.close == .fin)
        #expect(try await send("POST", "/v1/subscriber", registration).status == 500)
        #expect(try await send("POST", "/v1/subscriber", registration).status == 200)
        try await eventually { await rows() == ["\(row.status) closed", "500 closed", "200 closed"] }
    }

    @Test("A body that does not come in time is 408 in the journal, too; also where a rule wanted to see it")
    func lateBody() async throws {
        try sim.setOption("server.requestTime", to: "50ms")
        for profile in ["{ rules: [] }", "{ rules: [ { on: { body: { a: 1 } }, then: { status: 500 } } ] }"] {
            sim.reset()
            try sim.setProfile(.json5(profile))
            let client = try RawClient(port: sim.url.port ?? 0)
            try await client.send(head + "Content-Length: 10\r\n\r\nabc")
            #expect(try await client.receive().status == 408)
            try await eventually { await rows() == ["408 closed"] }
        }
    }

    @Test("Of an answer over 256 KiB the journal keeps so much, and the length and SHA-256 of all")
    func largeAnswer() async throws {
        let size = 300 << 10
        let body = String(repeating: "x", count: size)
        try sim.setProfile(.json5("{ rules: [ { on: { path: '/big' }, then: { status: 200, body: '\(body)' } } ] }"))
        #expect(try await send("GET", "/big").body.count == size)
        let row = try await send("GET", "/__pushsim/journal").json["entries"]?[0]
        #expect(row?["answer_body"]?.string?.utf8.count == 256 << 10)
        #expect(row?["answer_body_length"]?.int == size)
        #expect(row?["answer_body_sha256"]?.string?.count == 64)
        #expect(row?["answer_head"]?.string?.contains("Content-Length: \(size)\r\n") == true)
    }

    @Test("The limits of the server are not a scope's to set, and never bind the control API")
    func limits() async throws {
        let own = [("X-PushSim-Scope", "q")]
        let refused = try await send("PATCH", "/__pushsim/options", #"{"server.bodyLimit":"5"}"#, fields: own)
        #expect(refused.status == 400)
        #expect(refused.json["error"]?["path"]?.string == #"$["server.bodyLimit"]"#)
        #expect(try await send("PATCH", "/__pushsim/options", #"{"ntm.auth":"jwt"}"#, fields: own).status == 200)
        #expect(try await send("PATCH", "/__pushsim/options", #"{"server.bodyLimit":"5"}"#).status == 200)
        for target in ["/v1/subscriber", "/__scope/q/v1/subscriber", "/__pushsimilar", "/__scope/q"] {
            #expect(try await send("POST", target, registration).status == 413, "\(target)")
        }
        #expect(try await send("PATCH", "/__scope/q/__pushsim/options", #"{"ntm.auth":"any"}"#).status == 200)
        let state = try await send("GET", "/__pushsim/state").body.text
        #expect(try await send("PUT", "/__pushsim/state", state).status == 204)
        #expect(try await send("PATCH", "/__pushsim/options", #"{"server.bodyLimit":"16MiB"}"#).status == 200)
        #expect(try await send("POST", "/v1/subscriber", registration).status == 200)
    }

    @Test(
        "The journal has the status that the client read",
        arguments: [("HTTP/1.1 299 Odd", "299"), ("HTTP/1.1 99 Short", "0"), ("ICY 200 OK", "200"), ("nonsense", "0")])
    func statusLine(_ line: String, _ wanted: String) async throws {
        try sim.setProfile(
            .json5("{ rules: [ { on: { path: '/a' }, then: { status: 200, wire: { statusLine: '\(line)' } } } ] }"))
        let client = try RawClient(port: sim.url.port ?? 0)
        try await client.send("GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        #expect(try await client.receive().text.hasPrefix(line + "\r\n"))
        try await eventually { await rows() == ["\(wanted) closed"] }
    }

    @Test("A reset breaks off what is still being written")
    func resetWhileWriting() async throws {
        // More than the system's buffers ever hold.
        let size = 32_000_000
        sim.stub(.get("/big")) { _ in StubAnswer(body: [UInt8](repeating: 120, count: size)) }
        let client = try RawClient(port: sim.url.port ?? 0)
        try await client.send("GET /big HTTP/1.1\r\nHost: a\r\n\r\n")
        try await eventually { sim.journal.count == 1 }
        sim.reset()
        let received = try await client.receive()
        #expect(received.close == .reset && received.bytes.count < size)
    }

    @Test(
        "A client that half-closes gets the whole of an answer that is shaped; one that waits for a delay has left",
        arguments: ["dribble: { pieces: 4, over: '40ms' }", "bandwidth: '20kB/s'", "slowHead: '20kB/s'"])
    func halfCloseWhileShaping(_ wire: String) async throws {
        try sim.setProfile(
            .json5("{ rules: [ { on: { path: '/a' }, then: { status: 200, body: 'hello', wire: { \(wire) } } } ] }"))
        let client = try RawClient(port: sim.url.port ?? 0)
        try await client.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /a HTTP/1.1\r\nHost: a\r\n\r\n")
        client.finishSending()
        let received = try await client.receive()
        #expect(received.close == .fin && received.text.components(separatedBy: "HTTP/1.1 200").count == 3)
        #expect(received.text.hasSuffix("hello"))
        try sim.setProfile(.json5("{ rules: [ { on: { path: '/a' }, then: { status: 200, delay: '5s' } } ] }"))
        let waiting = try RawClient(port: sim.url.port ?? 0)
        try await waiting.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
        waiting.finishSending()
        #expect(try await waiting.receive().bytes.isEmpty)
        try await eventually { await rows().last == "200 client-left" }
    }
}
