import Foundation
import PushSimCassettes
import PushSimJSONText
import PushSimWire
import Testing

/// One exchange, as a test writes it down.
private func entry(
    _ target: String = "/", _ headers: [(String, String)] = [], _ body: String = "", answer: String = "",
    answerHeaders: [(String, String)] = []
) throws -> CassetteEntry {
    let url = try #require(RecordedURL(Array("http://a.example\(target)".utf8)))
    return CassetteEntry(
        method: Array("POST".utf8), url: url, headers: headers.map { HeaderField($0, $1) },
        body: .bytes(Array(body.utf8)),
        outcome: .answer(
            .init(
                status: 200, headers: answerHeaders.map { HeaderField($0, $1) }, body: .bytes(Array(answer.utf8)))))
}

private func redacted(_ entries: [CassetteEntry], rules: [String] = [], routingIDs: Bool = false) throws
    -> [CassetteEntry]
{
    var redaction = CassetteRedaction()
    redaction.rules = try rules.map { try RedactionRule($0) }
    redaction.redactsRoutingIDs = routingIDs
    return redaction.redacted(Cassette(name: "t", entries: entries)).0.entries
}

@Suite("Redaction (cassettes.md, Secrets never land on disk)")
struct RedactionTests {
    @Test(
        "A secret is taken out of headers, and only the secret",
        arguments: [
            ("Authorization", "Bearer s3cretvalue", "Bearer {{authorization.1}}"),
            ("authorization", "my-session-1", "{{authorization.1}}"),
            ("Proxy-Authorization", "Basic YWxpY2U6aHVudGVyMjI=", "Basic {{authorization.1}}"),
            ("Cookie", "sid=abcdefgh; theme=1", "sid={{cookie.1}}; theme={{cookie.2}}"),
            (
                "Set-Cookie", "sid=abcdefgh; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT",
                "sid={{cookie.1}}; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT"
            ), ("X-Api-Key", "k-12345678", "{{api-key.1}}"),
            ("X-Note", "mail alice@example.com now", "mail {{email.1}} now"),
            ("X-Plain", "nothing of note", "nothing of note"),
            (
                "X-In-Text", "t=eyJhbGciOiJub25lIn0.e30.c2ln;",
                "t={{jwt.1}};"
            ),
        ])
    func headers(_ name: String, _ value: String, _ wanted: String) throws {
        let result = try redacted([try entry("/", [(name, value)])])
        #expect(result[0].headers[0].value.text == wanted)
    }

    @Test(
        "A secret is found in every coding, and written so that a replay can fill it in",
        arguments: [
            ("hunter2/S3", "hunter2%2FS3", "{{password.1:percent}}"),
            ("hunter2/S3", "hunter2%252FS3", "{{password.1:percent:percent}}"),
            ("hunter2/S3", "h%75nter2%2fS3", "{{password.1:percent}}"),
            ("hunter2/S3", "aHVudGVyMi9TMw==", "{{password.1:base64}}"),
            ("hunter2/S3", "aHVudGVyMi9TMw", "{{password.1:base64url}}"),
            ("hunter2/S3", "68756e746572322f5333", "{{password.1:hex}}"),
            ("hunter2/S3", "as hunter2/S3.", "as {{password.1}}."),
            ("hunter2/S3", "eyJwIjoiaHVudGVyMi9TMyJ9", "{{base64.1}}"), ("hunter2/S3", "hunter2", "hunter2"),
            ("pin4", "pin4 and pin45", "{{password.1}} and pin45"), ("abc", "abc", "abc"),
        ])
    func codings(_ secret: String, _ header: String, _ wanted: String) throws {
        let result = try redacted([try entry("/", [("X-A", header)], #"{"password":"\#(secret)"}"#)])
        #expect(result[0].headers[0].value.text == wanted)
    }

    @Test(
        "Fields are known by their names in queries, forms, JSON and multipart, escapes or not",
        arguments: [
            ("/x?access_token=abcd%2F1&b=c", "", "", "/x?access_token={{token.1}}&b=c", ""),
            (
                "/", "application/x-www-form-urlencoded", "a=1&password=p%40ss+word&x=p%40ss%20word", "/",
                "a=1&password={{password.1}}&x={{password.1}}"
            ),
            (
                "/", "application/json", #"{"a":[{"deviceToken":"\u0066fff-1"}],"b":"is ffff-1!"}"#, "/",
                #"{"a":[{"deviceToken":"{{device-token.1}}"}],"b":"is {{device-token.1}}!"}"#
            ),
            (
                "/", "application/json", #"{"userdata":"{\"auth_secret\":\"abcd-efgh\"}"}"#, "/",
                #"{"userdata":"{\"auth_secret\":\"{{auth-secret.1}}\"}"}"#
            ),
            (
                "/", "application/json", #"{"token":"https://push.example.com/v2/secretpart"}"#, "/",
                #"{"token":"https://push.example.com/{{endpoint.1}}"}"#
            ),
            (
                "/", "multipart/form-data; boundary=q",
                "--q\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\nabcd1234\r\n--q--\r\n", "/",
                "--q\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\n{{token.1}}\r\n--q--\r\n"
            ), ("/", "application/json", #"{"token":"1","n":1}"#, "/", #"{"token":"{{token.1}}","n":1}"#),
        ])
    func fields(_ target: String, _ type: String, _ body: String, _ wantedTarget: String, _ wantedBody: String) throws {
        let result = try redacted([try entry(target, [("Content-Type", type)], body)])
        #expect(result[0].url.target.text == wantedTarget)
        #expect(result[0].body.octets.text == wantedBody)
    }

    @Test("Rules name more: header, query, form, json with * , regex with a group")
    func rules() throws {
        let result = try redacted(
            [
                try entry(
                    "/u/id-778899?who=bobby", [("X-Own", "ownvalue"), ("Content-Type", "application/json")],
                    #"{"items":[{"pin":12345},{"pin":"67890"}],"who":"bobby"}"#)
            ], rules: ["header:X-Own", "query:who", "json:$.items[*].pin", #"regex:id-(\d+)"#])
        #expect(result[0].url.target.text == "/u/id-{{secret.1}}?who={{who.1}}")
        #expect(result[0].headers[0].value.text == "{{x-own.1}}")
        #expect(
            result[0].body.octets.text
                == #"{"items":[{"pin":"{{pin.1:number}}"},{"pin":"{{pin.2}}"}],"who":"{{who.1}}"}"#)
    }

    @Test(
        "A pattern's first group is the secret; what cannot take for ever is taken",
        arguments: [
            ("id-([0-9]{3})", "id-123 id-45", "id-{{secret.1}} id-45"),
            (#"(\d{3}-)+x"#, "tel 123-456-x", "tel 123-{{secret.1}}x"),
            ("pin=[^&]*", "pin=1a2b&pin=", "{{secret.1}}&{{secret.2}}"), ("é+", "caféé", "caf{{secret.1}}"),
        ])
    func patterns(_ pattern: String, _ text: String, _ wanted: String) throws {
        let result = try redacted([try entry("/", [("X-Text", text)])], rules: ["regex:\(pattern)"])
        #expect(result[0].headers[0].value.text == wanted)
    }

    @Test("A pattern sees CR and LF as the octets they are")
    func lineEnds() throws {
        let made = try entry("/", [], "pin: abcd1234\r\nnote: x\r\n")
        let result = try redacted([made], rules: [#"regex:pin: ([a-z0-9]+)\r\n"#])
        #expect(result[0].body.octets.text == "pin: {{secret.1}}\r\nnote: x\r\n")
    }

    @Test("A routing id is no secret, though it looks like an address, unless asked")
    func routingIDs() throws {
        let target = "/v1/subscription/subscriber/1/topic/example.com/video/alice%40example.com"
        let body = #"{"to_routing_id":"bob@example.com","email":"carol@example.com"}"#
        let usual = try redacted([try entry(target, [], body)])
        #expect(usual[0].url.path.text == target)
        #expect(usual[0].body.octets.text == #"{"to_routing_id":"bob@example.com","email":"{{email.1}}"}"#)
        let asked = try redacted([try entry(target, [], body)], routingIDs: true)
        #expect(asked[0].url.path.text.hasSuffix("/video/{{routing-id.1}}"))
        #expect(asked[0].body.octets.text.hasPrefix(#"{"to_routing_id":"{{routing-id.2}}""#))
    }

    @Test("Octets that are no text are no address because they look like a short one; a real one among them is")
    func addressesInBinary() throws {
        func body(_ octets: [UInt8]) throws -> [UInt8] {
            var made = try entry()
            made.outcome = .answer(.init(status: 200, headers: [], body: .bytes(octets)))
            return try redacted([made])[0].answer?.body.octets ?? []
        }
        let image: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0, 0xFF]
        for near in ["O@-.ei", "O@a.ei", "ab@c.de", "a@bc.de", "ab@cd.e", "ab@-cd.ef", "ab@cd-.ef", "@bc.de", "ab@.de"]
        {
            let octets = image + Array(near.utf8) + [0xCD, 0xF5]
            #expect(try body(octets) == octets, "\(near)")
        }
        let wanted = image + Array("\n\u{11}{{email.1}}".utf8) + [0xCD]
        #expect(try body(image + Array("\n\u{11}alice@example.com".utf8) + [0xCD]) == wanted)
        // In a text a short one is one.
        #expect(try body(Array("to a@b.de".utf8)) == Array("to {{email.1}}".utf8))
        #expect(try body(Array("to a@-b.de".utf8)) == Array("to a@-b.de".utf8))
    }

    @Test("The same secret has the same placeholder, and a second run changes nothing")
    func stable() throws {
        let entries = [
            try entry("/a", [("Authorization", "Bearer tokenvalue1")], "", answer: #"{"again":"tokenvalue1"}"#),
            try entry("/b", [("Authorization", "Bearer tokenvalue2")], "", answer: #"{"again":"tokenvalue1"}"#),
        ]
        let once = try redacted(entries)
        #expect(once[1].headers[0].value.text == "Bearer {{authorization.2}}")
        #expect(once[1].answer?.body.octets.text == #"{"again":"{{authorization.1}}"}"#)
        let twice = try redacted(once)
        #expect(twice.map(\.headers) == once.map(\.headers) && twice.map(\.answer) == once.map(\.answer))
    }

    @Test(
        "What redaction does not reach makes the write refuse, and the place is named without the secret",
        arguments: [
            ("method", "$.log.entries[0].request.method"), ("header name", "$.log.entries[0].request.headers[1].name"),
            ("version", "$.log.entries[0].response.headers[0].name"),
        ])
    func refusals(_ place: String, _ path: String) throws {
        var planted = try entry("/", [("Authorization", "Bearer PLANTEDSECRET")])
        switch place {
        case "method": planted.method = Array("PLANTEDSECRET".utf8)
        case "header name": planted.headers.append(HeaderField("X-PLANTEDSECRET", "1"))
        default: planted.answer?.headers = [HeaderField("PLANTEDSECRET", "1")]
        }
        let error = #expect(throws: CassetteError.self) {
            try CassetteRedaction().files(Cassette(name: "t", entries: [planted]), name: "t")
        }
        #expect(error?.description.contains(path) == true, "\(error?.description ?? "")")
        #expect(error?.description.contains("PLANTED") == false)
    }

    @Test("A compressed body with a secret loses its octets and keeps its coding")
    func compressed() throws {
        let plain = Array(#"{"token":"abcd1234efgh"}"#.utf8)
        var coded = try entry("/", [], "", answer: "", answerHeaders: [("Content-Encoding", "gzip")])
        coded.answer?.body = .bytes(plain)
        coded.answer?.encodedBody = ContentCoding.gzip.encodeStored(plain)
        let result = try redacted([coded])
        #expect(result[0].answer?.encodedBody == nil)
        #expect(result[0].answer?.body.octets.text == #"{"token":"{{token.1}}"}"#)
    }

    @Test("A secret in a compressed body that was cut is found in what can be read of it", arguments: [0, 1, 8])
    func cut(_ lost: Int) throws {
        // {"note":"aaaa … a","more":"PLANTEDSECRET"}
        let text = "H4sIAAAAAAACA6tWyssvSVWyUkokEijpKOXmF4F0BPg4+oW4ugS7Oge5hijVAgA+WTGaSgAAAA=="
        let coded = try #require(Data(base64Encoded: text)).dropLast(lost)
        var made = try entry("/", [("Authorization", "Bearer PLANTEDSECRET")], "", answer: "")
        made.answer?.headers = [HeaderField("Content-Encoding", "gzip")]
        made.answer?.body = .bytes(ContentCoding.gzip.decodePrefix(Array(coded), limit: 1000))
        made.answer?.encodedBody = Array(coded)
        let written = try CassetteRedaction().files(Cassette(name: "t", entries: [made]), name: "t").har.text
        #expect(written.contains("aaaa") && written.contains("more"))
        #expect(!written.contains(coded.base64EncodedString()) && !written.contains("PLANTED"))
    }

    @Test("Stored gzip and deflate are read back, of any size", arguments: [0, 1, 65_535, 65_536, 200_000])
    func stored(_ size: Int) throws {
        let plain = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        #expect(try ContentCoding.gzip.decode(ContentCoding.gzip.encodeStored(plain), limit: 1 << 20) == plain)
        #expect(try ContentCoding.deflate.decode(ContentCoding.deflate.encodeStored(plain), limit: 1 << 20) == plain)
    }
}
