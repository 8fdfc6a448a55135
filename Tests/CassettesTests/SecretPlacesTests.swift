import PushSimCassettes
import PushSimWire
import Testing

private func entry(
    _ target: String, _ headers: [(String, String)] = [], _ body: String = "", answer: String = "",
    answerHeaders: [(String, String)] = [], origin: String = "https://a.example"
) throws -> CassetteEntry {
    CassetteEntry(
        method: Array("POST".utf8), url: try #require(RecordedURL(Array((origin + target).utf8))),
        headers: headers.map { HeaderField($0.0, $0.1) }, body: .bytes(Array(body.utf8)),
        outcome: .answer(
            .init(
                status: 200, headers: answerHeaders.map { HeaderField($0.0, $0.1) }, body: .bytes(Array(answer.utf8)))))
}

private func written(_ entries: [CassetteEntry], rules: [String] = []) throws -> String {
    var redaction = CassetteRedaction()
    redaction.rules = try rules.map { try RedactionRule($0) }
    return redaction.files(Cassette(name: "t", entries: entries)).har.text
}

extension CassetteRedaction {
    fileprivate func files(_ cassette: Cassette) -> CassetteFiles {
        HARWriter.files(redacted(cassette).0, name: "t")
    }
}

@Suite("Where secrets stand beside the usual places (cassettes.md, Secrets never land on disk)")
struct SecretPlacesTests {
    @Test(
        "A secret is found by its name in any text, in URLs within headers and bodies, in user info, in vendors' paths",
        arguments: [
            ("location", "s3cr3t-in-location"), ("referer", "s3cr3t-in-referer"), ("json url", "s3cr3t-in-json-url"),
            ("cut json", "s3cr3t-cut"), ("event stream", "s3cr3t-in-events"), ("lines", "s3cr3t-in-lines"),
            ("xml", "s3cr3t-in-xml"), ("script", "s3cr3t-in-script"), ("number", "123456789012"),
            ("user info", "pw-s3cr3t"),
            ("bearer", "b34r3r-in-text"), ("apns path", "0123456789abcdef0123456789abcdef"),
            ("fcm", "fcm:APA91-s3cr3t"),
            ("fcm list", "fcm:APA92-s3cr3t"), ("multipart", "s3cr3t-part"), ("jwe", "dGhlLXRhZw"),
            ("reason", "s3cr3t-reason"),
            ("api key", "AIzaSy-s3cr3t"), ("push", "endpoint-s3cr3t"),
        ])
    func places(_ place: String, _ secret: String) throws {
        let jwe = "eyJhbGciOiJkaXIiLCJlbmMiOiJBMTI4R0NNIn0..aXY.Y2lwaGVydGV4dA.dGhlLXRhZw"
        var made: CassetteEntry
        switch place {
        case "location": made = try entry("/", answerHeaders: [("Location", "/cb?access_token=\(secret)&x=1")])
        case "referer": made = try entry("/", [("Referer", "https://a.example/?token=\(secret)")])
        case "json url": made = try entry("/", answer: #"{"next":"https://a.example/?access_token=\#(secret)"}"#)
        case "cut json": made = try entry("/", answer: #"{"token":"\#(secret)","a":"b"#)
        case "event stream": made = try entry("/", answer: "data: {\"token\": \"\(secret)\"}\n\n")
        case "lines": made = try entry("/", answer: "{\"a\":1}\n{\"password\":\"\(secret)\"}\n")
        case "xml": made = try entry("/", answer: "<a><password>\(secret)</password></a>")
        case "script": made = try entry("/", answer: "cb({\"session\":\"\(secret)\"})")
        case "number": made = try entry("/", [("Content-Type", "application/json")], "{\"token\":\(secret)}")
        case "user info": made = try entry("/", origin: "http://bob:\(secret)@a.example")
        case "bearer": made = try entry("/", answer: "curl -H 'Authorization: Bearer \(secret)'")
        case "apns path": made = try entry("/3/device/\(secret)")
        case "fcm": made = try entry("/fcm/send", [], #"{"to":"\#(secret)"}"#)
        case "fcm list": made = try entry("/fcm/send", [], #"{"registration_ids":["\#(secret)"]}"#)
        case "multipart":
            made = try entry(
                "/", [("Content-Type", "multipart/form-data; boundary=q")],
                "--q\r\nContent-Disposition: form-data; name=pin\r\n\r\n\(secret)\r\n--q--\r\n")
        case "jwe": made = try entry("/", answer: jwe)
        case "reason":
            made = try entry("/", [("Authorization", "Bearer \(secret)")])
            made.answer?.statusText = Array("Not for \(secret)".utf8)
        case "api key": made = try entry("/maps?key=\(secret)")
        default: made = try entry("/push/\(secret)", [("TTL", "5"), ("Content-Encoding", "aes128gcm")])
        }
        #expect(!(try written([made])).contains(secret))
    }

    @Test(
        "A short secret goes where its name says so, whatever stands around it",
        arguments: [
            ("multipart", "letmein"), ("multipart pin", "123456"), ("xml", "letmein"), ("cut json", "123456"),
            ("location", "987654"), ("escaped location", "98 654"), ("cookie quotes", "letmein"),
            ("bad escape", "letmein"),
            ("bad form", "letmein"), ("mime type", "letmein"), ("reason", "bob@example.com"),
            ("interim", "bob@example.com"), ("json in text", "letmein"),
        ])
    func short(_ place: String, _ secret: String) throws {
        var made = try entry("/")
        let form = "application/x-www-form-urlencoded"
        switch place {
        case "multipart", "multipart pin":
            let name = place == "multipart" ? "password" : "otp"
            made = try entry(
                "/", [("Content-Type", "multipart/form-data; boundary=q")],
                "--q\r\nContent-Disposition: form-data; name=\(name)\r\n\r\n\(secret)\r\n--q--\r\n")
        case "xml": made = try entry("/", answer: "<a><password> \(secret) </password></a>")
        case "cut json": made = try entry("/", answer: #"{"otp":"\#(secret)","a":"b"#)
        case "location": made = try entry("/", answerHeaders: [("Location", "https://a.example/cb?code=\(secret)")])
        case "escaped location": made = try entry("/", answerHeaders: [("Location", "/cb?code=98%20654&x=98%20654")])
        case "cookie quotes": made = try entry("/", [("Cookie", "s=\"\(secret)\"; t=1")])
        case "bad escape": made = try entry("/?password=\(secret)&pct=100%")
        case "bad form": made = try entry("/", [("Content-Type", form)], "password=\(secret)&pct=100%")
        case "mime type":
            made = try entry("/", [], "password=\(secret)&a=b")
            made.mimeType = Array(form.utf8)
        case "reason": made.answer?.statusText = Array("Not \(secret)".utf8)
        case "interim":
            made.answer?.interim = [.init(status: 103, statusText: Array("For \(secret)".utf8), headers: [])]
        default: made = try entry("/", answer: "log: {\"password\": \"\(secret)\"}")
        }
        let text = try CassetteRedaction().files(Cassette(name: "t", entries: [made]), name: "t").har.text
        #expect(!text.contains(secret) && text.contains("{{"), "\(text)")
    }

    @Test("How long a cookie holds is none of its secret")
    func cookieAttributes() throws {
        let made = try entry(
            "/", answerHeaders: [("Set-Cookie", "ab=0"), ("Set-Cookie", "sid=abcdefghij; Max-Age=0; Path=/")])
        let text = try written([made])
        #expect(text.contains("; Max-Age=0; Path=/") && !text.contains("abcdefghij"))
    }

    @Test("What other tools say in timings and cache is searched; a file that cannot be read again is not written")
    func foreignMembers() throws {
        func read(_ timings: String, _ more: String) throws -> Cassette {
            let text = #"""
                {"log":{"entries":[{"timings":\#(timings),\#(more)"request":{"method":"GET","url":"https://a.example/",
                  "headers":[{"name":"Authorization","value":"Bearer PLANTEDSECRET"}]},
                  "response":{"status":200,"content":{"text":"a"}}}]}}
                """#
            return try HARReader.read(Array(text.utf8), name: "t")
        }
        let noted = try CassetteRedaction().files(read(#"{"wait":1,"_note":"xPLANTEDSECRETx"}"#, ""), name: "t").har
            .text
        #expect(noted.contains("_note") && !noted.contains("PLANTEDSECRET"))
        // The names of members are not redacted, only searched.
        #expect(throws: CassetteError.self) {
            try CassetteRedaction().files(read(#"{"wait":1,"_PLANTEDSECRET":1}"#, ""), name: "t")
        }
        // In a HAR of its own a bare entry stands deeper than it did.
        let deep = String(repeating: "[", count: 509) + String(repeating: "]", count: 509)
        let bare = #"[{"request":{"url":"https://a.example/"},"response":{"status":200},"_deep":\#(deep)}]"#
        #expect(throws: CassetteError.self) {
            try CassetteRedaction().files(HARReader.read(Array(bare.utf8), name: "t"), name: "t")
        }
    }

    @Test("A text full of equals signs is read in one pass")
    func equals() throws {
        let text = String(repeating: "a=1|", count: 15_000)
        #expect(try written([try entry("/", answer: text)]).contains("a=1|a=1|"))
    }

    @Test("User info is no address, and what remains of its URL is one")
    func userInfo() throws {
        let text = try written([try entry("/", answerHeaders: [("Location", "https://bob:secretpw@h.example/x")])])
        #expect(text.contains("https://bob:{{password.1}}@h.example/x"))
    }

    @Test(
        "A short word or number is taken out where it stands, and nothing else is touched",
        arguments: ["true", "null", "text", "name", "http", "json", "1970", "12345", "pushsim", "headers"])
    func common(_ value: String) throws {
        let made = try entry(
            "/", [("Cookie", "a=\(value); b=x"), ("Content-Type", "application/json")], #"{"password":"\#(value)"}"#,
            answer: #"{"ok":true,"z":null,"text":"name","n":12345,"y":1970}"#,
            answerHeaders: [("Content-Type", "application/json")])
        let files = try CassetteRedaction().files(Cassette(name: "t", entries: [made]), name: "t")
        let read = try HARReader.read(files.har, name: "t").entries[0]
        #expect(read.headers[0].value.text.hasPrefix("a={{") && read.headers[1].value.text == "application/json")
        #expect(read.answer?.body.octets.text == #"{"ok":true,"z":null,"text":"name","n":12345,"y":1970}"#)
        #expect(read.answer?.headers[0].value.text == "application/json")
    }

    @Test("A bearer of seven is looked for within words too; a number only as a whole")
    func reach() throws {
        let made = try entry("/", [("Authorization", "Bearer qZ9wXk3")], answer: #"{"a":"zqZ9wXk3z"}"#)
        #expect(!(try written([made])).contains("qZ9wXk3"))
        let number = try entry("/", [("Authorization", "Bearer 12345678")], answer: #"{"a":12345678,"b":123456789}"#)
        let text = try written([number])
        #expect(!text.contains("12345678,") && text.contains("123456789"))
    }

    @Test("Rules reach booleans, null, numbers, objects and arrays; a rule that is the secret itself is refused")
    func rules() throws {
        let made = try entry(
            "/", [("Content-Type", "application/json")],
            #"{"b":true,"z":null,"n":7,"o":{"deep":"x-deep-9","m":[5]},"keep":true}"#)
        let text = try written([made], rules: ["json:$.b", "json:$.z", "json:$.n", "json:$.o"])
        let body = try HARReader.read(Array(text.utf8), name: "t").entries[0].body.octets.text
        #expect(
            body
                == #"{"b":"{{b.1:boolean}}","z":"{{z.1:null}}","n":"{{n.1:number}}","o":{"deep":"{{o.1}}","m":["{{o.2:number}}"]},"keep":true}"#
        )
        #expect(throws: CassetteError.self) { try RedactionRule("regex:hunter2secret") }
    }
}
