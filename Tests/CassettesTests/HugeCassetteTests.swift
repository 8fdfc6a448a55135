import Foundation
import PushSim
import PushSimCassettes
import PushSimTestSupport
import PushSimWire
import Testing

/// What no program would write by accident takes no more than what one would.
@Suite("Cassettes at the edges (cassettes.md)")
struct HugeCassetteTests {
    private func har(_ entry: String, _ about: String = "") -> String {
        #"{"log":{"creator":{"name":"pushsim"}\#(about),"entries":[\#(entry)]}}"#
    }

    private func read(_ text: String) throws -> Cassette { try HARReader.read(Array(text.utf8), name: "t") }

    private func replay(_ text: String) async throws -> PushSim {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).har")
        try Data(text.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return try await PushSim.replay(file)
    }

    @Test("Ten placeholders against sixty lines that are not theirs: the search ends, and says no")
    func manyPlaceholders() {
        let template = Template(Array((0..<10).map { "{{email.\($0)}}\n" }.joined().utf8) + Array("end".utf8))
        var bound: [ByteKey: [UInt8]] = [:]
        let lines = (0..<60).map { "user\($0)@a.example\n" }.joined()
        #expect(!template.matches(Array((lines + "and").utf8), &bound))
        #expect(bound.isEmpty)
        #expect(template.matches(Array((lines + "end").utf8), &bound))
        #expect(bound[ByteKey(Array("email.0".utf8))]?.text == "user0@a.example")
        #expect(bound[ByteKey(Array("email.9".utf8))]?.text.hasSuffix("user59@a.example") == true)
    }

    @Test("A placeholder that stands twice has the same value at both places, or there is no match")
    func twice() {
        let template = Template(Array("{{a.1}}-{{b.1}}-{{a.1}}".utf8))
        var bound: [ByteKey: [UInt8]] = [:]
        #expect(!template.matches(Array("x-y-z".utf8), &bound))
        #expect(template.matches(Array("x-1-2-x-1".utf8), &bound))
        #expect(bound[ByteKey(Array("a.1".utf8))]?.text == "x-1" && bound[ByteKey(Array("b.1".utf8))]?.text == "2")
    }

    @Test("A form of 20,000 fields is compared field by field, each name once")
    func manyFields() async throws {
        let form = (0..<20_000).map { "f\($0)=\($0)" }
        let entry = """
            {"request":{"method":"POST","url":"https://a.example/f","postData":{
            "mimeType":"application/x-www-form-urlencoded","text":"\(form.joined(separator: "&"))"}},"response":{"status":200,"content":{"text":"a"}}}
            """
        let sim = try await replay(har(entry))
        let fields = [("Content-Type", "application/x-www-form-urlencoded")]
        let other = form.dropLast() + ["f19999=x"]
        let port = sim.url.port ?? 0
        let unmatched = try await call(
            port: port, "POST", "/f", fields: fields, body: other.reversed().joined(separator: "&"))
        #expect(unmatched.status == 501 && unmatched.body.text.contains("f19999"))
        let turned = form.reversed().joined(separator: "&")
        #expect(try await call(port: port, "POST", "/f", fields: fields, body: turned).status == 200)
        await sim.stop()
    }

    @Test("Where the method is not compared, HEAD gets the head of what GET got, and GET the body")
    func headForGet() async throws {
        let entry = #"""
            {"_pushsim":{"match":{"method":false}},"request":{"method":"GET","url":"https://a.example/p"},
             "response":{"status":200,"headers":[{"name":"Content-Length","value":"4"}],"content":{"text":"body"}}}
            """#
        let sim = try await replay(har(entry + "," + entry))
        let client = try RawClient(port: sim.url.port ?? 0)
        try await client.send(
            "HEAD /p HTTP/1.1\r\nHost: a\r\n\r\nGET /p HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        let text = try await client.receive().text
        #expect(text.hasSuffix("\r\n\r\nbody"))
        #expect(text.components(separatedBy: "\r\n\r\n").count == 3 && text.contains("\r\n\r\nHTTP/1.1 200"))
        await sim.stop()
    }

    @Test(
        "Any time that a file gives is read, compared and written without a trap",
        arguments: [
            "1970-01-01T00:00:00.0005+00:01", "1969-12-31T23:59:59.999Z", "2026-01-02T03:04:05.123+0100", "+0100",
            "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}", "e\u{301}\u{301}\u{301}-0\u{301}100", "9999-12-31T23:59:59Z", "",
        ])
    func times(_ text: String) throws {
        let entry = #"""
            {"startedDateTime":"\#(text)","request":{"url":"https://a.example/"},"response":{"status":200,
             "headers":[{"name":"Expires","value":"Fri, 31 Dec 9999 23:59:59 GMT"}],"content":{"text":"a"}}}
            """#
        let cassette = try read(har(entry, #","_pushsim":{"format":1,"recordedAt":"2026-01-02T03:04:05Z"}"#))
        #expect(CassetteCheck.findings(cassette, now: .max).allSatisfy { !$0.contains("expired") })
        #expect(try read(HARWriter.files(cassette, name: "t").har.text).entries.count == 1)
    }

    @Test("A time before 1970 keeps its milliseconds")
    func early() throws {
        let entry = #"""
            {"startedDateTime":"1970-01-01T00:59:58.250+01:00","request":{"url":"https://a.example/"},
             "timings":{"wait":1,"receive":1},"response":{"status":200,"content":{"text":"a"}}}
            """#
        let cassette = try read(#"{"log":{"entries":[\#(entry)]}}"#)
        let text = HARWriter.files(cassette, name: "t", isStrict: true).har.text
        #expect(text.contains("1969-12-31T23:59:58.250Z"), "\(text)")
    }

    @Test("A rule of redaction that cannot be read refuses the cassette, as it would leave what it names")
    func badRule() {
        let about = #","_pushsim":{"format":1,"redact":["heeder:X"]}"#
        #expect(throws: (any Error).self) { try read(har(#"{"request":{"url":"https://a.example/"}}"#, about)) }
    }

    @Test("Bodies of a cassette that is written through a link lie beside the file, under the file's name")
    func bodiesBehindLinks() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (file, link) = (folder.appendingPathComponent("real.har"), folder.appendingPathComponent("link.har"))
        try Data("{}".utf8).write(to: file)
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
        let big = String(repeating: "long ", count: 40_000)
        let entry = #"""
            {"request":{"url":"https://a.example/"},"response":{"status":200,"content":{"text":"\#(big)"}}}
            """#
        try CassetteStore.write(
            HARWriter.files(try read(har(entry)), name: CassetteStore.name(link.path)), to: link.path)
        #expect(FileManager.default.fileExists(atPath: folder.appendingPathComponent("real.bodies").path))
        for path in [file.path, link.path] {
            #expect(try CassetteStore.load(path).entries[0].answer?.body.octets.count == big.utf8.count)
        }
    }
}
