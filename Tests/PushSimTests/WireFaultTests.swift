import Foundation
import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Testing

private let body = #"{"proto":"apns","token":"t","app_domain":"d"}"#
private let request =
    "POST /v1/subscriber HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer a\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
    + body
/// What an answer that nothing is wrong with has for a body: 40 octets.
private let good = #"{"id":"e2c8ea0bb06bfe0ea7f6ee7ac7d0f1"}"# + "\n"

@Suite("Wire faults, by raw bytes (faults.md)", .pushSim(clock: .frozen, options: ["ntm.connection": "keep-alive"]))
struct WireFaultTests {
    /// The bytes and end of a faulty answer, on a first or a reused connection.
    /// - Parameter toEnd: asks the server to close after the answer, so that its end is seen and not guessed.
    private func play(
        _ then: String, reused: Bool, first: Int32 = 5000, patience: Int32 = 5000, toEnd: Bool = false
    ) async throws -> RawClient.Received {
        let sim = PushSim.current
        try sim.setProfile(.json5("{ rules: [ { when: { calls: \(reused ? 2 : 1) }, then: { \(then) } } ] }"))
        let client = try RawClient(port: sim.url.port ?? 0)
        if reused {
            try await client.send(request)
            #expect(try await client.answer().status == 200)
        }
        try await client.send(toEnd ? request.replacing("Host:", with: "Connection: close\r\nHost:") : request)
        return try await client.receive(first: first, patience: patience)
    }

    private func split(_ bytes: [UInt8]) -> (head: String, body: [UInt8]) {
        let text = Array("\r\n\r\n".utf8)
        guard let end = (0...max(0, bytes.count - 4)).first(where: { bytes[$0...].starts(with: text) }) else {
            return (String(decoding: bytes, as: UTF8.self), [])
        }
        return (String(decoding: bytes[..<end], as: UTF8.self), Array(bytes[(end + 4)...]))
    }

    @Test(
        "Each way to end a connection, on a first and a reused one",
        arguments: [
            ("resetAfterHead", RawClient.Close.reset, 0), ("resetMidBody", .reset, 20), ("closeMidHead", .fin, -1),
            ("closeMidBody", .fin, 20), ("stallMidBody", .open, 20), ("halfClose", .fin, 40), ("reset", .reset, -2),
            ("close", .fin, -2), ("stall", .open, -2), ("EMPTY_RESPONSE", .fin, -2),
            ("CONNECTION_RESET_BY_PEER", .reset, -2),
        ], [false, true])
    func connections(_ fault: (String, RawClient.Close, Int), _ reused: Bool) async throws {
        let (name, close, octets) = fault
        let got = try await play(
            "connection: '\(name)'", reused: reused, first: name == "stall" ? 100 : 5000,
            patience: close == .open ? 100 : 5000)
        #expect(got.close == close)
        let (head, body) = split(got.bytes)
        switch octets {
        case -2: #expect(got.bytes.isEmpty)
        case -1: #expect(head.hasPrefix("HTTP/1.1 200 OK\r\n") && !got.text.contains("\r\n\r\n"))
        default:
            #expect(head.contains("Content-Length: 40"))
            #expect(body.count == octets)
        }
    }

    @Test("halfClose: FIN, while what the client still sends is read")
    func halfClose() async throws {
        let sim = PushSim.current
        try sim.setProfile(.json5("{ rules: [ { then: { connection: 'halfClose' } } ] }"))
        let client = try RawClient(port: sim.url.port ?? 0)
        try await client.send(request)
        #expect(try await client.receive().close == .fin)
        // A closed connection would answer this with a RST.
        try await client.send(String(repeating: "x", count: 1000))
        try await client.send(String(repeating: "x", count: 1000))
    }

    @Test("refuse: nobody listens for a while, then again; open connections stay")
    func refuse() async throws {
        let sim = PushSim.current
        try sim.setProfile(.json5("{ rules: [ { when: { calls: 2 }, then: { connection: { refuse: '5s' } } } ] }"))
        let open = try RawClient(port: sim.url.port ?? 0)
        try await open.send(request)
        #expect(try await open.answer().status == 200)
        let client = try RawClient(port: sim.url.port ?? 0)
        try await client.send(request)
        #expect(try await client.receive().close == .reset)
        try await eventually {
            let late = try? RawClient(port: sim.url.port ?? 0)
            guard let late else { return true }
            try? await late.send(request)
            return (try? await late.receive(first: 200))?.close != .open
        }
        try await open.send(request)
        #expect(try await open.answer().status == 200)
        await sim.advance(by: .seconds(5))
        try await eventually {
            guard let late = try? RawClient(port: sim.url.port ?? 0) else { return false }
            try? await late.send(request)
            return (try? await late.answer().status) == 200
        }
    }

    @Test("truncateBody: the full length declared, so many octets sent, FIN", arguments: [false, true])
    func truncateBody(_ reused: Bool) async throws {
        let got = try await play("wire: { truncateBody: 3 }", reused: reused)
        let (head, body) = split(got.bytes)
        #expect(head.contains("Content-Length: 40") && body == Array(good.utf8.prefix(3)) && got.close == .fin)
    }

    @Test(
        "contentLength: a false one, or none",
        arguments: [("'+10'", "Content-Length: 50"), ("'-10'", "Content-Length: 30"), ("7", "Content-Length: 7")])
    func contentLength(_ value: String, _ field: String) async throws {
        let got = try await play("wire: { contentLength: \(value) }", reused: false)
        let (head, body) = split(got.bytes)
        #expect(head.contains(field) && body.count == 40 && got.close == .fin)
        let none = try await play("wire: { contentLength: 'none' }", reused: false)
        #expect(!none.text.contains("Content-Length") && split(none.bytes).body.count == 40 && none.close == .fin)
    }

    @Test("bothLengths carries both fields; badChunkSize and missingLastChunk are chunked and wrong")
    func chunks() async throws {
        let both = try await play("wire: { bothLengths: true }", reused: false)
        #expect(both.text.contains("Content-Length: 40\r\nTransfer-Encoding: chunked\r\n"))
        #expect(both.text.hasSuffix("\r\n0\r\n\r\n") && both.close == .fin)
        let bad = try await play("wire: { badChunkSize: true }", reused: true)
        #expect(split(bad.bytes).body.starts(with: Array("xyz\r\n".utf8)) && bad.close == .fin)
        #expect(!bad.text.contains("Content-Length"))
        let alias = try await play("connection: 'MALFORMED_RESPONSE_CHUNK'", reused: false)
        #expect(split(alias.bytes).body.starts(with: Array("xyz\r\n".utf8)))
        let missing = try await play("wire: { missingLastChunk: true }", reused: false)
        let chunks = String(decoding: split(missing.bytes).body, as: UTF8.self)
        #expect(chunks.hasPrefix("14\r\n") && !chunks.contains("0\r\n\r\n") && missing.close == .fin)
    }

    @Test("garbage: so many random octets, the same for the same seed; RANDOM_DATA_THEN_CLOSE is 64")
    func garbage() async throws {
        let first = try await play("wire: { garbage: 100 }", reused: false)
        #expect(first.bytes.count == 100 && first.close == .fin && !first.text.hasPrefix("HTTP"))
        let sim = PushSim.current
        sim.reset()
        #expect(try await play("wire: { garbage: 100 }", reused: false).bytes == first.bytes)
        #expect(try await play("connection: 'RANDOM_DATA_THEN_CLOSE'", reused: false).bytes.count == 64)
        #expect(sim.journal.last?.status == nil)
    }

    @Test("statusLine, extraHeaders, headerBytes and interim")
    func heads() async throws {
        let line = try await play("wire: { statusLine: 'HTTP/9.9 banana' }", reused: false, toEnd: true)
        #expect(line.text.hasPrefix("HTTP/9.9 banana\r\n"))
        let extra = try await play("wire: { extraHeaders: 500 }", reused: false, toEnd: true)
        #expect(extra.text.contains("\r\nX-Extra-500: "))
        let filler = try await play("wire: { headerBytes: 70000 }", reused: false, toEnd: true)
        #expect(filler.bytes.count > 70_000)
        let interim = try await play("wire: { interim: [100, 103] }", reused: false, toEnd: true)
        #expect(
            interim.text.hasPrefix(
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n"))
    }

    @Test("dribble, bandwidth and slowHead give the same bytes, in pieces on real time")
    func pace() async throws {
        for then in [
            "wire: { dribble: { pieces: 5, over: '40ms' } }", "wire: { bandwidth: '8kB/s' }",
            "wire: { slowHead: '10kB/s' }",
        ] {
            let began = ContinuousClock.now
            let got = try await play(then, reused: false, toEnd: true)
            #expect(got.bytes.count > 200 && split(got.bytes).body.count == 40)
            #expect(ContinuousClock.now - began > .milliseconds(15))
        }
    }

    @Test("A delay between head and body, on the simulation clock")
    func delayBeforeBody() async throws {
        let sim = PushSim.current
        try sim.setProfile(.json5("{ rules: [ { then: { delay: { fixed: '3s', before: 'body' } } } ] }"))
        let client = try RawClient(port: sim.url.port ?? 0)
        try await client.send(request)
        let head = try await client.receive(patience: 100)
        #expect(head.text.hasSuffix("\r\n\r\n"))
        await sim.advance(by: .milliseconds(2999))
        #expect(try await client.receive(first: 30).bytes.isEmpty)
        await sim.advance(by: .milliseconds(1))
        #expect(try await client.receive(count: 40).count == 40)
    }

    @Test(
        "Spread delays are drawn: the same for the same seed, within their bounds",
        arguments: [
            ("{ uniform: ['100ms', '900ms'] }", 100, 900), ("{ normal: { mean: '500ms', sd: '50ms' } }", 200, 800),
            ("{ lognormal: { median: '200ms', sigma: 0.5, max: '1s' } }", 10, 1000),
        ])
    func delays(_ delay: String, _ least: Int, _ most: Int) async throws {
        func arrivals() async throws -> [Int] {
            let sim = try await PushSim.start(
                profile: .json5("{ rules: [ { then: { delay: \(delay) } } ] }"), seed: 5, clock: .frozen,
                options: ["ntm.connection": "keep-alive"])
            var found: [Int] = []
            for _ in 0..<4 {
                let client = try RawClient(port: sim.url.port ?? 0)
                try await client.send(request)
                try await eventually { sim.journal.count > found.count }
                var waited = 0
                while waited < 2000 {
                    await sim.advance(by: .milliseconds(10))
                    waited += 10
                    if sim.journal.last?.status != nil, try await !client.receive(first: 1, patience: 1).bytes.isEmpty {
                        break
                    }
                }
                found.append(waited)
            }
            await sim.stop()
            return found
        }
        let first = try await arrivals()
        #expect(first.allSatisfy { $0 >= least && $0 <= most + 10 })
        #expect(Set(first).count > 1)
        #expect(try await arrivals() == first)
    }

    @Test(
        "Mutations spoil the body, and the framing is right for it",
        arguments: [
            ("'truncatedJSON'", String(good.prefix(20))), ("'emptyBody'", ""), ("'emptyObject'", "{}"),
            ("'null'", "null"),
            ("'array'", "[\(good)]"),
            ("'trailingComma'", #"{"id":"e2c8ea0bb06bfe0ea7f6ee7ac7d0f1",}"# + "\n"), ("'wrongTypes'", #"{"id":0}"#),
            ("'missingFields'", "{}"),
            ("'extraFields'", #"{"id":"e2c8ea0bb06bfe0ea7f6ee7ac7d0f1","pushsim_extra":{"unknown":true}}"#),
            ("'duplicateKeys'", #"{"id":null,"id":"e2c8ea0bb06bfe0ea7f6ee7ac7d0f1"}"#),
            ("'stringified'", #""{\"id\":\"e2c8ea0bb06bfe0ea7f6ee7ac7d0f1\"}\n""#), ("'bom'", "\u{FEFF}\(good)"),
        ])
    func mutations(_ name: String, _ wanted: String) async throws {
        let got = try await play("mutate: \(name)", reused: true, toEnd: true)
        let (head, body) = split(got.bytes)
        // The id is drawn; what is compared is the shape.
        let id = try #require(PushSim.current.journal.first.map { _ in "e2c8ea0bb06bfe0ea7f6ee7ac7d0f1" })
        let own = String(decoding: body, as: UTF8.self).replacing(/[0-9a-f]{30}/) { _ in id }
        let cut = name == "'truncatedJSON'" ? String(own.prefix(7)) : own
        #expect(cut == (name == "'truncatedJSON'" ? String(wanted.prefix(7)) : wanted))
        #expect(head.contains("Content-Length: \(body.count)\r\n") || head.hasSuffix("Content-Length: \(body.count)"))
        #expect(head.hasPrefix("HTTP/1.1 200 OK"))
    }

    @Test("mutate: html, notUTF8, deepNesting, gzipLabel and a content type")
    func otherMutations() async throws {
        let html = try await play("mutate: 'html'", reused: false, toEnd: true)
        #expect(html.status == 200 && html.text.contains("Content-Type: text/html\r\n") && html.text.contains("<html>"))
        let bad = split(try await play("mutate: 'notUTF8'", reused: false, toEnd: true).bytes)
        #expect(String(validating: bad.body, as: UTF8.self) == nil)
        let deep = split(try await play("mutate: 'deepNesting'", reused: false, toEnd: true).bytes)
        #expect(deep.body.count == 2040)
        let gzip = try await play("mutate: 'gzipLabel'", reused: false, toEnd: true)
        #expect(gzip.text.contains("Content-Encoding: gzip\r\n") && split(gzip.bytes).body.count == 40)
        let type = try await play("mutate: { contentType: 'text/plain' }", reused: false, toEnd: true)
        #expect(type.text.contains("Content-Type: text/plain\r\n") && !type.text.contains("application/json"))
    }

    @Test("A scripted gzip body is sent as given; 0.00 stays 0.00; a binary charset stays byte-true")
    func scriptedBodies() async throws {
        let gzip = try await play(
            "status: 200, headers: { 'Content-Encoding': 'gzip' }, body: 'plain'", reused: false, toEnd: true)
        #expect(gzip.text.contains("Content-Encoding: gzip\r\n") && split(gzip.bytes).body == Array("plain".utf8))
        let number = try await play("status: 200, json: { a: 0.00 }", reused: false, toEnd: true)
        #expect(split(number.bytes).body == Array(#"{"a":0.00}"#.utf8))
        let binary = try await play(
            "status: 200, headers: { 'Content-Type': 'text/plain; charset=latin1' }, body: 'é\\u0000'", reused: false,
            toEnd: true)
        #expect(split(binary.bytes).body == [0xC3, 0xA9, 0])
        let cases = try await play(
            "status: 200, headers: [['x-lower', '1'], ['X-Lower', '2'], ['x-lower', '3']]", reused: false, toEnd: true)
        #expect(cases.text.contains("x-lower: 1\r\nX-Lower: 2\r\nx-lower: 3\r\n"))
    }

    @Test("after: the state changes though the client sees a failure")
    func after() async throws {
        let sim = PushSim.current
        try sim.setProfile(
            .json5("{ rules: [ { on: { route: 'registerSubscriber' }, then: { status: 500, after: true } } ] }"))
        let failed = try await call(
            port: sim.url.port ?? 0, "POST", "/v1/subscriber", fields: [("Authorization", "Bearer a")], body: body)
        #expect(failed.status == 500)
        let state = try await call(port: sim.url.port ?? 0, "GET", "/__pushsim/state")
        #expect(state.body.text.contains(#""token":"t""#))
    }

    @Test("discovery: without a VAPID key")
    func discovery() async throws {
        let sim = PushSim.current
        try sim.setProfile(
            .json5("{ rules: [ { on: { route: 'discovery' }, then: { discovery: { public_vapid_key: null } } } ] }"))
        let answer = try await sim.fluxer("GET", "/.well-known/fluxer")
        #expect(answer.json["push"] == ["public_vapid_key": nil])
    }

    @Test("A retried request after a reset shows both attempts in the journal")
    func bothAttempts() async throws {
        let sim = PushSim.current
        #expect(try await play("connection: 'reset'", reused: false).close == .reset)
        _ = try await call(
            port: sim.url.port ?? 0, "POST", "/v1/subscriber", fields: [("Authorization", "Bearer a")], body: body)
        #expect(sim.journal.map(\.status) == [nil, 200])
    }

    @Test("A path that no backend owns is answered by a rule with path and status")
    func strangers() async throws {
        let sim = PushSim.current
        try sim.setProfile(.json5("{ rules: [ { on: { path: '/a%2Fb' }, then: { status: 299, body: 'x' } } ] }"))
        #expect(try await sim.fluxer("GET", "/a%2Fb").status == 299)
        #expect(try await sim.fluxer("GET", "/a/b").status == 404)
    }
}
