import Foundation
import PushSim
import PushSimTestSupport
import PushSimWire
import Testing

private let cassette = #"""
    {"log":{"entries":[
      {"request":{"method":"POST","url":"https://a.example/login?b=2&a=1&a=3","headers":[{"name":"Content-Type","value":"application/json"}],
        "postData":{"mimeType":"application/json","text":"{\"id\": 1.0, \"name\":\"é\"}"}},
       "response":{"status":201,"statusText":"Made","headers":[{"name":"x-lower","value":"1"},{"name":"Set-Cookie","value":"a=1"},{"name":"Set-Cookie","value":"b=2"}],"content":{"text":"first"}}},
      {"request":{"method":"POST","url":"https://a.example/login?a=1&b=2&a=3","headers":[{"name":"Content-Type","value":"application/json"}],
        "postData":{"mimeType":"application/json","text":"{\"name\":\"é\",\"id\":1}"}},
       "response":{"status":202,"content":{"text":"second"}}},
      {"request":{"method":"GET","url":"https://a.example/devices/{{token.1}}"},
       "response":{"status":200,"headers":[{"name":"X-Token","value":"{{token.1}}"}],"content":{"text":"you are {{token.1}}, {{name.1}}"}}},
      {"request":{"method":"GET","url":"https://a.example/cut"},"_pushsim":{"failure":"cut","declared":100},
       "response":{"status":200,"content":{"text":"12345"}}},
      {"request":{"method":"GET","url":"https://a.example/reset"},"_pushsim":{"failure":"reset"},"response":{"status":0}},
      {"request":{"method":"GET","url":"https://a.example/lost"},"response":{"status":200}}
    ]}}
    """#

@Suite("Replaying (cassettes.md)")
struct ReplayTests {
    private func start(repeatsLast: Bool = false) async throws -> PushSim {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appendingPathComponent("t.har")
        try Data(cassette.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: folder) }
        var playback = Playback()
        playback.repeatsLast = repeatsLast
        return try await PushSim.replay(file, playback: playback)
    }

    private func login(_ sim: PushSim, _ query: String, _ body: String) async throws -> Response {
        try await call(
            port: sim.url.port ?? 0, "POST", "/login?\(query)", fields: [("Content-Type", "application/json")],
            body: body)
    }

    @Test("Identical requests, by meaning, take their recordings in turn; running out is 501")
    func turns() async throws {
        let sim = try await start()
        let first = try await login(sim, "a=1&a=3&b=2", #"{"name":"é","id":1e0}"#)
        #expect(first.status == 201 && first.reason == Array("Made".utf8) && first.body.text == "first")
        #expect(
            first.fields.prefix(3).map { "\($0.name.text): \($0.value.text)" } == [
                "x-lower: 1", "Set-Cookie: a=1", "Set-Cookie: b=2",
            ])
        #expect(try await login(sim, "b=2&a=1&a=3", #"{"id":1,"name":"\u00e9"}"#).body.text == "second")
        let third = try await login(sim, "b=2&a=1&a=3", #"{"id":1,"name":"é"}"#)
        #expect(third.status == 501 && third.fields.first("X-PushSim-Unmatched") != nil)
        #expect(third.body.text.contains("matched, used 2 of 2"))
        await sim.stop()
        let again = try await start(repeatsLast: true)
        for _ in 0..<3 { _ = try await login(again, "b=2&a=1&a=3", #"{"id":1,"name":"é"}"#) }
        #expect(try await login(again, "b=2&a=1&a=3", #"{"id":1,"name":"é"}"#).body.text == "second")
        await again.stop()
    }

    @Test(
        "What differs is said field by field, with the nearest entries and no socket opened",
        arguments: [
            ("a=3&a=1&b=2", #"{"id":1,"name":"é"}"#, "query a: 1, 3 against 3, 1"),
            ("b=2&a=1&a=3", #"{"id":2,"name":"é"}"#, "body differs at $.id: 1.0 against 2"),
            ("b=2&a=1&a=3", #"{"id":1}"#, #"body differs at $.name: "é" against nothing"#),
        ])
    func nearMisses(_ query: String, _ body: String, _ difference: String) async throws {
        let sim = try await start()
        let answer = try await login(sim, query, body)
        #expect(answer.status == 501)
        let nearest = JSON(try JSONDocument(answer.body).root)["nearest"]
        #expect(nearest?.elements?.count == 3)
        #expect(nearest?[0]?["differences"] == [.string(difference)])
        await sim.stop()
    }

    @Test("A placeholder is bound to the caller's value, which answers give back; another value is a mismatch")
    func placeholders() async throws {
        let sim = try await start(repeatsLast: true)
        let port = sim.url.port ?? 0
        let answer = try await call(port: port, "GET", "/devices/secret%2Fone")
        #expect(answer.body.text == "you are secret/one, pushsim-name.1")
        #expect(answer.fields.first("X-Token")?.text == "secret/one")
        #expect(try await call(port: port, "GET", "/devices/secret%2Fone").status == 200)
        #expect(try await call(port: port, "GET", "/devices/other").status == 501)
        #expect(try await call(port: port, "GET", "/devices/").status == 501)
        await sim.stop()
    }

    @Test("Recorded failures are the same failures on the wire; a body that was not captured is refused")
    func failures() async throws {
        let sim = try await start()
        let cut = try RawClient(port: sim.url.port ?? 0)
        try await cut.send("GET /cut HTTP/1.1\r\nHost: a\r\n\r\n")
        let got = try await cut.receive()
        #expect(
            got.text.contains("Content-Length: 100\r\n") && got.text.hasSuffix("\r\n\r\n12345") && got.close == .fin)
        let reset = try RawClient(port: sim.url.port ?? 0)
        try await reset.send("GET /reset HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try await reset.receive().close == .reset)
        let lost = try await call(port: sim.url.port ?? 0, "GET", "/lost")
        #expect(lost.status == 501 && lost.body.text.contains("was not captured"))
        #expect(sim.leftovers.count == 3)
        await sim.stop()
    }

    @Test("The same octets match though one side does not say what they are")
    func mediaTypes() async throws {
        let sim = try await start()
        let answer = try await call(
            port: sim.url.port ?? 0, "POST", "/login?b=2&a=1&a=3", body: #"{"id": 1.0, "name":"é"}"#)
        #expect(answer.status == 201)
        let empty = try await call(
            port: sim.url.port ?? 0, "GET", "/devices/x", fields: [("Content-Type", "application/json")])
        #expect(empty.status == 200)
        await sim.stop()
    }

    @Test("A fault profile runs on top of a replay")
    func profile() async throws {
        let sim = try await start()
        try sim.setProfile(
            .json5("{ rules: [ { on: { path: '/login' }, when: { calls: 1 }, then: { status: 503 } } ] }"))
        #expect(try await login(sim, "b=2&a=1&a=3", #"{"id":1,"name":"é"}"#).status == 503)
        #expect(try await login(sim, "b=2&a=1&a=3", #"{"id":1,"name":"é"}"#).status == 201)
        await sim.stop()
    }
}
