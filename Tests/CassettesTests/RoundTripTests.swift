import PushSimCassettes
import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Testing

private func read(_ text: String) throws -> Cassette { try HARReader.read(Array(text.utf8), name: "t") }

private func har(_ entry: String, log: String = "") -> String {
    #"{"log":{"version":"1.2","entries":[\#(entry)]\#(log)}}"#
}

private func again(_ cassette: Cassette) throws -> (text: String, cassette: Cassette) {
    let files = try CassetteRedaction().files(cassette, name: "t")
    return (files.har.text, try HARReader.read(files.har, name: "t"))
}

@Suite("What other tools write, and comes back (cassettes.md, R1 to R17)")
struct RoundTripTests {
    private let foreign = har(
        #"""
        {"_initiator":{"type":"script","url":"https://a.example/?access_token=s3cr3t-token"},"pageref":"page_1",
         "startedDateTime":"2024-05-01T10:00:00.5+02:00","time":5,"serverIPAddress":"1.2.3.4",
         "request":{"method":"GET","url":"https://a.example/x","_id":7,"headers":[],"comment":"c"},
         "response":{"status":200,"headers":[],"_transferSize":99,"content":{"size":2,"mimeType":"text/css","text":"a{","compression":4}},
         "cache":{"beforeRequest":null},"timings":{"dns":1.50,"send":0,"wait":2,"receive":3,"_queued":4}}
        """#, log: #","pages":[{"id":"page_1","title":"https://a.example/?token=s3cr3t-token"}],"browser":{"name":"B"}"#
    )

    @Test("R2: unknown members come back where they stood, without the secrets in them; so they do a second time")
    func unknownMembers() throws {
        let (text, cassette) = try again(try read(foreign))
        let log = try #require(try JSONDocument(Array(text.utf8)).root["log"])
        let entry = try #require(log["entries"]?.elements.first)
        #expect(entry["_initiator"]?["type"]?.string == "script" && entry["serverIPAddress"]?.string == "1.2.3.4")
        #expect(entry["request"]?["_id"]?.int == 7 && entry["request"]?["comment"]?.string == "c")
        #expect(entry["response"]?["_transferSize"]?.int == 99)
        #expect(entry["response"]?["content"]?["compression"]?.int == 4)
        #expect(entry["response"]?["content"]?["mimeType"]?.string == "text/css")
        #expect(entry["timings"]?["dns"]?.sourceText == "1.50" && entry["timings"]?["_queued"]?.int == 4)
        #expect(entry["cache"]?.members.map(\.name) == ["beforeRequest"])
        #expect(log["pages"]?.elements.count == 1 && log["browser"]?["name"]?.string == "B")
        #expect(!text.contains("s3cr3t-token") && text.contains("access_token={{token.1}}"))
        #expect(try again(cassette).text == text)
        let strict = HARWriter.files(cassette, name: "t", isStrict: true).har.text
        #expect(strict.contains("\"comment\"") && !strict.contains("\"_i") && !strict.contains(": -1,\n        \"wait"))
    }

    @Test("R14: the first of the times is when it was recorded; they stay where they are asked for")
    func times() throws {
        let cassette = try read(foreign)
        #expect(cassette.about.recordedAt == 1_714_550_400_500_000_000)
        #expect(try again(cassette).text.contains("\"startedDateTime\": \"2024-05-01T08:00:00.500Z\""))
        var timeless = cassette
        timeless.about.recordedAt = nil
        #expect(try again(timeless).text.contains("\"startedDateTime\": \"1970-01-01T00:00:00.000Z\""))
    }

    @Test("R11: what was not captured stays so, however often it is written")
    func notCaptured() throws {
        let text = har(
            #"{"request":{"method":"GET","url":"https://a.example/x"},"response":{"status":200,"content":{"size":500}}}"#
        )
        var cassette = try read(text)
        for _ in 0..<2 {
            #expect(cassette.entries[0].answer?.body == .notCaptured)
            #expect(CassetteCheck.findings(cassette, now: 0).contains { $0.contains("not captured") })
            cassette = try again(cassette).cassette
        }
    }

    @Test(
        "R4: text goes to the octets of its charset, by any of its names, where that can hold it",
        arguments: [
            ("ISO-8859-1", "é", [0xE9]), ("\"iso_8859-1\"", "é", [0xE9]), ("latin1", "é", [0xE9]),
            ("windows-1252", "€é", [0x80, 0xE9]), ("cp1252", "’", [0x92]), ("utf-16le", "é", [0xE9, 0]),
            ("us-ascii", "é", [0xC3, 0xA9]), ("iso-8859-1", "€", [0xE2, 0x82, 0xAC]), ("utf-8", "é", [0xC3, 0xA9]),
        ] as [(String, String, [UInt8])])
    func charsets(_ name: String, _ text: String, _ octets: [UInt8]) throws {
        let type = "text/plain; charset=\(name)".replacing("\"", with: "\\\"")
        let cassette = try read(
            har(
                #"{"request":{"url":"https://a.example/"},"response":{"status":200,"content":{"mimeType":"\#(type)","text":"\#(text)"}}}"#
            ))
        #expect(cassette.entries[0].answer?.body == .bytes(octets))
    }

    @Test(
        "R10: a body is rebuilt from its params as the form that it was",
        arguments: [
            (
                "application/x-www-form-urlencoded", #"[{"name":"a b","value":"1&2"},{"name":"c","value":"%41"}]"#,
                "a+b=1%262&c=%41"
            ), ("application/json", #"[{"name":"{\"a\":1}","value":""}]"#, #"{"a":1}"#),
            (
                "multipart/form-data; boundary=q",
                #"[{"name":"f","value":"v","fileName":"x.txt","contentType":"text/plain"}]"#,
                "--q\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x.txt\"\r\nContent-Type: text/plain\r\n\r\nv\r\n--q--\r\n"
            ),
        ])
    func params(_ type: String, _ params: String, _ body: String) throws {
        let cassette = try read(
            har(
                #"{"request":{"method":"POST","url":"https://a.example/","postData":{"mimeType":"\#(type)","params":\#(params)}},"response":{"status":200,"content":{"size":0}}}"#
            ))
        #expect(cassette.entries[0].body.octets.text == body)
        #expect(cassette.notes.map(\.rule) == ["R10"])
    }

    @Test("A body of an own cassette that was changed by hand is found, in a file or not")
    func changed() throws {
        let made = try again(
            try read(
                har(#"{"request":{"url":"https://a.example/"},"response":{"status":200,"content":{"text":"hello"}}}"#)))
        #expect(CassetteCheck.findings(made.cassette, now: 0).isEmpty)
        let cassette = try read(made.text.replacing("\"hello\"", with: "\"hello!\""))
        #expect(CassetteCheck.findings(cassette, now: 0).contains { $0.contains("changed by hand") })
    }
}
