import Foundation
import PushSim
import PushSimCassettes
import PushSimTestSupport
import PushSimWire
import Testing

/// What other tools and other people's traffic put into cassettes.
@Suite("Odd cassettes, replayed (cassettes.md)")
struct OddCassetteTests {
    private func replay(_ texts: String..., playback: Playback = Playback()) async throws -> PushSim {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = try texts.enumerated().map { number, text in
            let file = folder.appendingPathComponent("\(number).har")
            try Data(text.utf8).write(to: file)
            return file
        }
        guard files.count == 2 else { return try await PushSim.replay(files[0], playback: playback) }
        return try await PushSim.replay(files[0], files[1], playback: playback)
    }

    @Test("Braces in another tool's file are text: what an application sends as {{token.1}} comes as that")
    func braces() async throws {
        let sim = try await replay(
            #"""
            {"log":{"creator":{"name":"Browser","version":"1"},"entries":[
              {"request":{"method":"GET","url":"https://a.example/page?t=%7B%7Bx.1%7D%7D"},
               "response":{"status":200,"content":{"text":"<b>{{token.1}}</b> {{name.2:base64}} {{ }}"}}},
              {"request":{"method":"POST","url":"https://a.example/form","postData":{"mimeType":"text/plain","text":"{{a.1}}"}},
               "response":{"status":200,"content":{"text":"posted"}}}]}}
            """#)
        let port = sim.url.port ?? 0
        let page = try await call(port: port, "GET", "/page?t=%7B%7Bx.1%7D%7D")
        #expect(page.body.text == "<b>{{token.1}}</b> {{name.2:base64}} {{ }}")
        let plain = [("Content-Type", "text/plain")]
        #expect(try await call(port: port, "POST", "/form", fields: plain, body: "else").status == 501)
        #expect(try await call(port: port, "POST", "/form", fields: plain, body: "{{a.1}}").body.text == "posted")
        await sim.stop()
    }

    @Test("Escaped braces read as the braces they stand for, and nothing else is touched")
    func escapes() {
        for text in ["{{token.1}}", "{{{a.1}}", "{{a.1:base64}}{{b.2}}", "{{brace.0}}", "{{ no }}", "{}", "{{a.1", ""] {
            let escaped = Template.escaped(Array(text.utf8))
            #expect(!Template(escaped).hasPlaceholders)
            #expect(Template(escaped).filled([:]).text == text)
        }
    }

    @Test("A strict export of another tool's braces is read back as those braces")
    func exported() throws {
        let foreign = #"""
            {"log":{"creator":{"name":"Browser"},"entries":[{"request":{"method":"GET","url":"https://a.example/p"},
              "response":{"status":200,"content":{"text":"<b>{{token.1}}</b>"}}}]}}
            """#
        let read = try HARReader.read(Array(foreign.utf8), name: "a")
        let strict = HARWriter.files(read, name: "a", isStrict: true).har
        let again = try HARReader.read(strict, name: "a").entries[0].answer?.body.octets ?? []
        #expect(Template(again).filled([:]).text == "<b>{{token.1}}</b>")
    }

    @Test("A value that a request gives cannot add a line to the answer's head")
    func injection() async throws {
        let sim = try await replay(
            #"""
            {"log":{"entries":[{"request":{"method":"GET","url":"https://a.example/d/{{token.1}}"},
              "response":{"status":302,"headers":[{"name":"X-Token","value":"{{token.1}}"},
                {"name":"Location","value":"https://a.example/d/{{token.1}}"}],"content":{"text":"{{token.1}}"}}}]}}
            """#)
        let answer = try await call(port: sim.url.port ?? 0, "GET", "/d/a%0d%0aX-Evil:%201")
        #expect(answer.fields.first("X-Evil") == nil && answer.status == 302)
        #expect(answer.fields.first("X-Token")?.contains { $0 == 13 || $0 == 10 } == false)
        #expect(answer.fields.first("Location")?.text == "https://a.example/d/a%0D%0AX-Evil:%201")
        #expect(answer.body.text == "a\r\nX-Evil: 1")
        await sim.stop()
    }

    @Test("The same placeholder in two cassettes is two values")
    func twoCassettes() async throws {
        func cassette(_ host: String) -> String {
            #"""
            {"log":{"entries":[{"request":{"method":"GET","url":"https://a.example/\#(host)/{{token.1}}"},
              "response":{"status":200,"content":{"text":"\#(host) {{token.1}}"}}}]}}
            """#
        }
        let sim = try await replay(cassette("one"), cassette("two"))
        let port = sim.url.port ?? 0
        #expect(try await call(port: port, "GET", "/one/first").body.text == "one first")
        #expect(try await call(port: port, "GET", "/two/second").body.text == "two second")
        await sim.stop()
    }

    @Test("An imported answer keeps the connection whole for the next request, whatever its file says of framing")
    func pipelined() async throws {
        let sim = try await replay(
            #"""
            {"log":{"creator":{"name":"Browser","version":"1"},"entries":[
              {"request":{"method":"GET","url":"https://a.example/1"},"response":{"status":200,
                "headers":[{"name":"Transfer-Encoding","value":"chunked"},{"name":"Content-Length","value":"999"}],
                "content":{"text":"one"}}},
              {"request":{"method":"GET","url":"https://a.example/2"},"response":{"status":200,
                "headers":[{"name":"content-length","value":"1"}],"content":{"text":"two"}}}]}}
            """#)
        let client = try RawClient(port: sim.url.port ?? 0)
        try await client.send(
            "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        let text = try await client.receive().text
        #expect(text.components(separatedBy: "HTTP/1.1 200").count == 3)
        #expect(text.contains("\r\n\r\none") || text.contains("\r\n\r\n3\r\none\r\n0\r\n\r\n"))
        #expect(text.hasSuffix("two") && !text.contains("999"))
        await sim.stop()
    }

    @Test("A speed that no clock could play waits until the clock ends, and breaks nothing", arguments: [1e-300, 1e-9])
    func slow(_ speed: Double) async throws {
        var playback = Playback()
        playback.speed = speed
        let sim = try await replay(
            #"""
            {"log":{"entries":[{"startedDateTime":"2026-01-01T00:00:00Z","timings":{"wait":500,"receive":500},
              "request":{"method":"GET","url":"https://a.example/p"},"response":{"status":200,"content":{"text":"a"}}}]}}
            """#, playback: playback)
        let client = try RawClient(port: sim.url.port ?? 0)
        try await client.send("GET /p HTTP/1.1\r\nHost: a\r\n\r\n")
        try await eventually { sim.journal.count == 1 }
        #expect(try await call(port: sim.url.port ?? 0, "GET", "/__pushsim/health").status == 200)
        await sim.stop()
    }

    @Test("A client that waits for 100 Continue is told to go on, and its body is matched")
    func expectation() async throws {
        let sim = try await replay(
            #"""
            {"log":{"entries":[{"request":{"method":"POST","url":"https://a.example/p","postData":{"mimeType":"text/plain","text":"body"}},
              "response":{"status":200,"content":{"text":"got it"}}}]}}
            """#)
        let client = try RawClient(port: sim.url.port ?? 0)
        try await client.send(
            "POST /p HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"
        )
        #expect(try await client.receive(count: 25).text == "HTTP/1.1 100 Continue\r\n\r\n")
        try await client.send("body")
        #expect(try await client.answer().body.text == "got it")
        await sim.stop()
    }

    @Test(
        "A cassette whose match rules are wrong is refused before anything is played",
        arguments: [
            (#"{"bodi":"meaning"}"#, "match has no \"bodi\""), (#"{"ignoreJSON":["$.a..b"]}"#, "is no path"),
            (#"{"path":1}"#, "true or false"), (#"{},"mach":{}"#, "_pushsim has no \"mach\""),
        ])
    func matchMistakes(_ match: String, _ message: String) async throws {
        let error = await #expect(throws: PushSimError.self) {
            try await replay(
                #"""
                {"log":{"entries":[{"_pushsim":{"match":\#(match)},"request":{"method":"GET","url":"https://a.example/p"},
                  "response":{"status":200,"content":{"text":"a"}}}]}}
                """#)
        }
        #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
    }

    @Test("What stands at any place of an array can be left out of the comparison")
    func anyElement() async throws {
        let sim = try await replay(
            #"""
            {"log":{"entries":[{"_pushsim":{"match":{"ignoreJSON":["$.items[*].at"]}},
              "request":{"method":"POST","url":"https://a.example/p","postData":{"mimeType":"application/json",
                "text":"{\"items\":[{\"at\":1,\"id\":1},{\"at\":2,\"id\":2}]}"}},
              "response":{"status":200,"content":{"text":"a"}}}]}}
            """#,
            playback: {
                var all = Playback(); all.repeatsLast = true; return all
            }())
        let (port, json) = (sim.url.port ?? 0, [("Content-Type", "application/json")])
        let same = #"{"items":[{"at":8,"id":1},{"id":2,"at":9}]}"#
        let other = #"{"items":[{"at":1,"id":1},{"at":2,"id":3}]}"#
        #expect(try await call(port: port, "POST", "/p", fields: json, body: same).status == 200)
        #expect(try await call(port: port, "POST", "/p", fields: json, body: other).status == 501)
        await sim.stop()
    }
}
