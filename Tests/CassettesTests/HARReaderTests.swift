import PushSimCassettes
import PushSimJSONText
import PushSimTestSupport
import PushSimWire
import Testing

private func har(_ entry: String) -> [UInt8] { Array(#"{"log":{"entries":[\#(entry)]}}"#.utf8) }

private func read(_ entry: String, files: [String: [UInt8]] = [:]) throws -> Cassette {
    try HARReader.read(har(entry), name: "t.har") { files[$0] }
}

/// An entry with what matters in it.
private func entry(
    url: String = "https://a.example/x", request: String = "", response: String = #""status":200,"content":{"size":0}"#
) -> String {
    let more = request.isEmpty ? "" : ",\(request)"
    return #"{"request":{"method":"GET","url":"\#(url)"\#(more)},"response":{\#(response)}}"#
}

extension CassetteEntry {
    fileprivate var answer: Answer? { if case .answer(let answer) = outcome { answer } else { nil } }
}

@Suite("Reading anybody's HAR (cassettes.md, R1 to R17)")
struct HARReaderTests {
    @Test(
        "R1: numbers may be whole, fractional, exponents, null or text",
        arguments: ["200", "200.0", "2e2", "\"200\"", "\" 200 \""])
    func numbers(_ status: String) throws {
        let cassette = try read(entry(response: #""status":\#(status),"content":{"size":null,"text":"x"}"#))
        #expect(cassette.entries.first?.answer?.status == 200)
    }

    @Test("R2: every member but the URL may be absent or null")
    func members() throws {
        let cassette = try read(
            #"{"request":{"url":"https://a.example"},"response":{"status":204,"headers":null,"content":null}}"#)
        let first = try #require(cassette.entries.first)
        #expect(first.method == Array("GET".utf8) && first.url.target == Array("/".utf8))
        #expect(first.answer?.body == .bytes([]))
        #expect(try read(#"{"request":{"method":"GET"},"response":{"status":200}}"#).entries.isEmpty)
        #expect(try read(#"null, 5, {"request":null}"#).notes.map(\.rule) == ["R2", "R2", "R2"])
    }

    @Test("R3: -1 means unknown")
    func unknown() throws {
        let cassette = try read(entry(response: #""status":200,"bodySize":-1,"content":{"size":-1}"#))
        #expect(cassette.entries.first?.answer?.body == .notCaptured)
    }

    @Test("R4: base64 with white space or without padding; other encodings are text; text in its charset")
    func encodings() throws {
        func body(_ content: String) throws -> [UInt8]? {
            try read(entry(response: #""status":200,"content":{\#(content)}"#)).entries.first?.answer?.body.octets
        }
        #expect(try body(#""text":"aGVs\n bG8","encoding":"base64""#) == Array("hello".utf8))
        #expect(try body(#""text":"aGVsbG8=","encoding":"BASE64""#) == Array("hello".utf8))
        #expect(try body(#""text":"aGVsbG8","encoding":"utf8""#) == Array("aGVsbG8".utf8))
        #expect(try body(#""text":"é","mimeType":"text/plain; charset=ISO-8859-1""#) == [0xE9])
        #expect(try body(#""text":"€","mimeType":"text/plain; charset=iso-8859-1""#) == Array("€".utf8))
        #expect(try body(#""text":"é","mimeType":"text/plain; charset=utf-8""#) == Array("é".utf8))
        #expect(
            try read(entry(response: #""status":200,"content":{"text":"%%","encoding":"base64"}"#)).entries.first?
                .answer?.body == .notCaptured)
    }

    @Test(
        "R4: a charset that a text is not in is noted where it makes a difference",
        arguments: [
            ("iso-8859-1", "é", 0), ("iso-8859-1", "€", 1), ("shift_jis", "é", 1), ("shift_jis", "e", 0),
            ("utf-8", "é", 0), ("US-ASCII", "e", 0),
        ])
    func charsets(_ charset: String, _ text: String, _ count: Int) throws {
        let cassette = try read(
            entry(
                response: #""status":200,"content":{"text":"\#(text)","mimeType":"text/plain; charset=\#(charset)"}"#))
        #expect(cassette.notes.count { $0.rule == "R4" } == count)
    }

    @Test("R5: bodies are decoded already: framing headers go; what still is gzip is decoded once")
    func framing() throws {
        let gzip = "H4sIAAAAAAAAA8tIzcnJBwCGphA2BQAAAA=="
        let cassette = try read(
            entry(
                response:
                    #""status":200,"headers":[{"name":"Content-Encoding","value":"gzip"},{"name":"content-length","value":"9"},{"name":"Transfer-Encoding","value":"chunked"},{"name":"X","value":"1"}],"content":{"text":"\#(gzip)","encoding":"base64"}"#
            ))
        let answer = try #require(cassette.entries.first?.answer)
        #expect(answer.body == .bytes(Array("hello".utf8)))
        #expect(answer.headers == [HeaderField("X", "1")])
    }

    @Test("R6: pseudo-headers are used only where the URL lacks something")
    func pseudo() throws {
        let cassette = try read(
            #"{"request":{"url":"/x?y","headers":[{"name":":authority","value":"a.example"},{"name":":method","value":"PUT"},{"name":":scheme","value":"http"},{"name":"A","value":"b"}]},"response":{"status":204}}"#
        )
        let first = try #require(cassette.entries.first)
        #expect(first.url.bytes == Array("http://a.example/x?y".utf8) && first.method == Array("PUT".utf8))
        #expect(first.headers == [HeaderField("A", "b")])
        let full = try read(entry(request: #""headers":[{"name":":method","value":"PUT"}]"#))
        #expect(full.entries.first?.method == Array("GET".utf8))
    }

    @Test("R7: a newline is several headers; Set-Cookie is split where a cookie begins, no other header is")
    func joined() throws {
        let cassette = try read(
            entry(
                response:
                    #""status":204,"headers":[{"name":"Set-Cookie","value":"a=1; Expires=Thu, 01 Jan 2026 00:00:00 GMT, b=2\nc=3"},{"name":"Vary","value":"x, y=z"}]"#
            ))
        #expect(
            cassette.entries.first?.answer?.headers == [
                HeaderField("Set-Cookie", "a=1; Expires=Thu, 01 Jan 2026 00:00:00 GMT"),
                HeaderField("Set-Cookie", "b=2"),
                HeaderField("Set-Cookie", "c=3"), HeaderField("Vary", "x, y=z"),
            ])
    }

    @Test("R8: an object instead of an array, cookie arrays of any form")
    func objects() throws {
        let cassette = try read(
            entry(
                request: #""cookies":{"name":"a","expires":"never"},"headers":{"name":"A","value":"b"}"#,
                response: #""status":204,"cookies":[{"httpOnly":"true"}]"#))
        #expect(cassette.entries.first?.headers == [HeaderField("A", "b")])
    }

    @Test("R9: the URL wins over queryString; a fragment goes")
    func url() throws {
        let cassette = try read(
            entry(url: "https://a.example/x?q=1#frag", request: #""queryString":[{"name":"q","value":"2"}]"#))
        #expect(cassette.entries.first?.url.target == Array("/x?q=1".utf8))
    }

    @Test("R10: the text of postData, else its params; a list that repeats a JSON body is ignored")
    func postData() throws {
        func body(_ data: String) throws -> [UInt8]? {
            try read(entry(request: #""postData":{\#(data)}"#)).entries.first?.body.octets
        }
        #expect(try body(#""text":"{}","params":[{"name":"{}","value":""}]"#) == Array("{}".utf8))
        #expect(try body(#""text":"","params":[{"name":"a","value":"1"},{"name":"b"}]"#) == Array("a=1&b=".utf8))
        #expect(try body(#""mimeType":"","text":"","params":[]"#) == [])
    }

    @Test("R11: status 0 and _error are skipped with a note; an absent body at 200 is not captured")
    func failures() throws {
        #expect(try read(entry(response: #""status":0"#)).notes.map(\.rule) == ["R11"])
        let failed = try read(entry(response: #""status":0,"_error":"net::ERR""#))
        #expect(failed.entries.isEmpty && failed.notes.first?.message.contains("net::ERR") == true)
        #expect(try read(entry(response: #""status":200"#)).entries.first?.answer?.body == .notCaptured)
        #expect(
            try read(entry(response: #""status":200,"content":{"text":""}"#)).entries.first?.answer?.body == .bytes([]))
    }

    @Test("R12: the body of a 304 is the browser's copy")
    func notModified() throws {
        let cassette = try read(entry(response: #""status":304,"content":{"text":"x"}"#))
        #expect(cassette.entries.first?.answer?.body == .bytes([]) && cassette.notes.map(\.rule) == ["R12"])
    }

    @Test(
        "R13: what is no HTTP exchange is skipped with a note",
        arguments: [
            entry(url: "wss://a.example/"), entry(url: "data:text/plain,x"), entry(url: "blob:https://a/x"),
            entry(url: "chrome-extension://abc/x.js"), entry(response: #""status":101"#),
            #"{"request":{"method":"CONNECT","url":"https://a.example/"},"response":{"status":200}}"#,
        ])
    func skipped(_ text: String) throws {
        let cassette = try read(text)
        #expect(cassette.entries.isEmpty && cassette.notes.map(\.rule) == ["R13"])
    }

    @Test("R14: dates of any form; the order of the array decides", arguments: ["\"2026\"", "\"x\"", "5", "null"])
    func dates(_ date: String) throws {
        let cassette = try HARReader.read(
            har(
                #"{"startedDateTime":\#(date),"request":{"url":"https://a.example/1"},"response":{"status":204}},{"startedDateTime":"1999-01-01T00:00:00.123456789+05:30","request":{"url":"https://a.example/2"},"response":{"status":204}}"#
            ), name: "t")
        #expect(cassette.entries.map { $0.url.target.text } == ["/1", "/2"])
    }

    @Test("R15: byte order mark, CRLF, a JSONP wrapper, a gzip file, a bare array")
    func wrappers() throws {
        let plain = har(entry())
        let gzip: [UInt8] = [
            0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0x8B, 0x8E, 5, 0, 0x29, 0xBB, 0x4C, 0x0D, 2, 0, 0, 0,
        ]
        #expect(try HARReader.read([0xEF, 0xBB, 0xBF] + plain, name: "t").entries.count == 1)
        #expect(
            try HARReader.read(Array("onInputData(".utf8) + plain + Array(");\r\n".utf8), name: "t").entries.count == 1)
        #expect(try HARReader.read(Array("\r\n".utf8) + plain + Array("\r\n".utf8), name: "t").entries.count == 1)
        #expect(try HARReader.read(Array("[\(entry())]".utf8), name: "t").entries.count == 1)
        let unpacked = try HARReader.read(gzip, name: "t")
        #expect(unpacked.entries.isEmpty && unpacked.notes.map(\.rule) == ["R15", "R15"])
    }

    @Test("R16: a body in a file of its own, and none that the folder does not have")
    func bodyFiles() throws {
        let text = entry(response: #""status":200,"content":{"_file":"t.bodies/1"}"#)
        #expect(try read(text, files: ["t.bodies/1": [1, 2]]).entries.first?.answer?.body == .bytes([1, 2]))
        let missing = try read(text)
        #expect(missing.entries.first?.answer?.body == .notCaptured && missing.notes.map(\.rule) == ["R16"])
    }

    @Test("R17: httpVersion is free text", arguments: ["\"h3\"", "\"HTTP/2.0\"", "\"unknown\"", "2"])
    func versions(_ version: String) throws {
        #expect(try read(entry(request: #""httpVersion":\#(version)"#)).entries.count == 1)
    }

    @Test(
        "A file that is no HAR: one clear error with line and column",
        arguments: [
            ("{", "t.har:1:2: the text ends before the value does"), ("\n  {\"log\": 5}", "t.har:2:11: this is no HAR"),
            ("\"x\"", "t.har:1:1: this is no HAR: a string at the top"), ("", "t.har:1:1: the text is empty"),
        ])
    func noHAR(_ text: String, _ message: String) {
        do throws(CassetteError) {
            _ = try HARReader.read(Array(text.utf8), name: "t.har")
            Issue.record("it was read")
        } catch {
            #expect(error.description.hasPrefix(message))
        }
    }

    @Test(
        "Many entries keep their order and their numbers, whatever is skipped among them",
        arguments: [1, 63, 64, 65, 1500])
    func many(_ count: Int) throws {
        let entries = (1...count).map { number in
            let isSkipped = number % 3 == 0 || (200..<420).contains(number)
            return entry(url: isSkipped ? "wss://a.example/\(number)" : "https://a.example/\(number)")
        }
        let cassette = try read(entries.joined(separator: ","))
        let (skipped, kept) = (cassette.notes.map { $0.entry ?? 0 }, cassette.entries.map { $0.url.path.text })
        let wanted = (1...count).filter { $0 % 3 == 0 || (200..<420).contains($0) }
        #expect(skipped == wanted)
        #expect(kept == (1...count).filter { !wanted.contains($0) }.map { "/\($0)" })
    }

    /// Where each value of a JSON value stands.
    private func paths(_ value: JSON, _ path: [JSONPath.Step] = []) -> [[JSONPath.Step]] {
        var all = path.isEmpty ? [] : [path]
        for member in value.members ?? [] { all += paths(member.value, path + [.member(member.name)]) }
        for (index, element) in (value.elements ?? []).enumerated() { all += paths(element, path + [.element(index)]) }
        return all
    }

    @Test(
        "5,000 seeded mutations of a good HAR, members dropped, null or of another type, lose only the entry they touch"
    )
    func mutations() throws {
        let good = entry(
            request: #""headers":[{"name":"A","value":"b"}],"postData":{"mimeType":"text/plain","text":"x"}"#,
            response:
                #""status":200,"statusText":"OK","headers":[{"name":"C","value":"d"}],"content":{"size":1,"text":"y"}"#)
        let root = JSON(try JSONDocument(good).root)
        let all = paths(root)
        let values: [JSON] = [
            .null, -1, "", [], .object([]), .number("1e99"), .number("-0.5"), true, "\u{FFFD}", [.null], "9",
            ["name": 1, "value": [2]], .string(String(repeating: "x", count: 5000)),
        ]
        var state: UInt64 = 7
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(truncatingIfNeeded: (state >> 33) % UInt64(bound))
        }
        var untouched = 0
        for number in 0..<5000 {
            var touched = root
            for _ in 0...(number % 3) {
                let (path, choice) = (all[next(all.count)], next(values.count + 1))
                if choice == values.count { touched.remove(path[...]) } else { touched.set(path[...], values[choice]) }
            }
            let cassette = try HARReader.read(har("\(good),\(touched),\(good)"), name: "t")
            #expect((2...3).contains(cassette.entries.count))
            #expect(cassette.entries.first?.answer?.body == .bytes([121]))
            #expect(cassette.entries.last?.answer?.body == .bytes([121]))
            if cassette.entries.count == 3 { untouched += 1 }
        }
        #expect(untouched > 2500)
    }

    @Test(
        "Files of real tools are read, with so many notes",
        .enabled(if: SharedData.isThere, "the folder ../shared/data is not there"),
        arguments: [
            ("charles-4.6", 1, 0), ("chrome-devtools", 2, 2), ("insomnia-2022", 1, 0), ("playwright-redirect", 3, 0),
            ("proxyman-4.9", 1, 0),
        ])
    func realTools(_ name: String, _ entries: Int, _ notes: Int) throws {
        let cassette = try HARReader.read(try SharedData.read("har/\(name).har"), name: name)
        #expect(cassette.entries.count == entries)
        #expect(cassette.notes.count == notes)
    }
}
