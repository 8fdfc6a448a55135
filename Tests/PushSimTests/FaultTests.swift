import Foundation
import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Testing

private func request(_ body: String = "{}") -> String {
    "POST /v1/subscriber HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer a\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
        + body
}

private let registration = #"{"proto":"apns","token":"t","app_domain":"d"}"#

extension PushSim {
    fileprivate func client() throws -> RawClient { try RawClient(port: url.port ?? 0) }

    fileprivate func get(_ target: String, fields: [(String, String)] = []) async throws -> JSON {
        let answer = try await call(port: url.port ?? 0, "GET", target, fields: fields)
        return JSON(try JSONDocument(answer.body).root)
    }
}

@Suite("Faults on the wire (faults.md)", .pushSim(options: ["ntm.connection": "keep-alive"]))
struct FaultTests {
    @Test(
        "A reset is a RST and a close a FIN, on a first and on a reused connection", arguments: ["reset", "close"],
        [1, 2])
    func ends(_ kind: String, _ call: Int) async throws {
        let sim = PushSim.current
        try sim.setProfile(.json5("{ rules: [ { when: { calls: \(call) }, then: { connection: '\(kind)' } } ] }"))
        let client = try sim.client()
        if call == 2 {
            try await client.send(request(registration))
            #expect(try await client.answer().status == 200)
        }
        try await client.send(request(registration))
        let received = try await client.receive()
        #expect(received.bytes.isEmpty)
        #expect(received.close == (kind == "reset" ? .reset : .fin))
    }

    @Test("A close over an unread body of 100 kB is still a FIN")
    func closesOverBody() async throws {
        let sim = PushSim.current
        try sim.setProfile(.json5("{ rules: [ { then: { connection: 'close' } } ] }"))
        let client = try sim.client()
        try await client.send(request(String(repeating: "a", count: 100_000)))
        let received = try await client.receive()
        #expect(received.bytes.isEmpty)
        #expect(received.close == .fin)
    }

    @Test("A reset over an unread body is a RST")
    func resetsOverBody() async throws {
        let sim = PushSim.current
        try sim.setProfile(.json5("{ rules: [ { then: { connection: 'reset' } } ] }"))
        let client = try sim.client()
        // The rest of the body never comes: the decision falls at the head.
        try await client.send("POST /v1/subscriber HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nabc")
        let received = try await client.receive()
        #expect(received.bytes.isEmpty)
        #expect(received.close == .reset)
    }

    @Test("A client that waits for 100 gets the final status at once where the body is not wanted")
    func expectsFinalStatus() async throws {
        let sim = PushSim.current
        try sim.setProfile(.json5("{ rules: [ { then: { status: 410 } } ] }"))
        let client = try sim.client()
        try await client.send(
            "POST /v1/subscriber HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
        #expect(try await client.answer().status == 410)
        sim.verify(.post("/v1/subscriber"), .exactly(1))
    }

    @Test("A stall says nothing, and a reset of the scope ends it")
    func stalls() async throws {
        let sim = PushSim.current
        try sim.setProfile(.json5("{ rules: [ { then: { connection: 'stall' } } ] }"))
        let client = try sim.client()
        try await client.send(request(registration))
        let received = try await client.receive(first: 100)
        #expect(received.bytes.isEmpty && received.close == .open)
        sim.reset()
        #expect(try await client.receive().close == .reset)
    }

    @Test("A delay runs on the simulation clock", .pushSim(clock: .frozen))
    func delays() async throws {
        let sim = PushSim.current
        try sim.setProfile(.json5("{ rules: [ { then: { status: 503, delay: '1h' } } ] }"))
        let client = try sim.client()
        try await client.send(request(registration))
        #expect(try await client.receive(first: 50).bytes.isEmpty)
        await sim.advance(by: .seconds(3600))
        let answer = try await client.answer()
        #expect(answer.status == 503)
        #expect(answer.fields.first("Date")?.text == "Thu, 01 Jan 2026 00:00:00 GMT")
    }

    @Test("A clock moved beyond all reason stops at its end, and the server answers on", .pushSim(clock: .frozen))
    func endOfTime() async throws {
        let sim = PushSim.current
        let port = sim.url.port ?? 0
        for _ in 0..<20 {
            let answer = try await call(port: port, "POST", "/__pushsim/clock", body: #"{"advance":"17000d"}"#)
            #expect(answer.status == 200)
        }
        await sim.advance(by: .seconds(Int64.max))
        #expect(try await sim.get("/__pushsim/clock")["now"]?.string == "2201-01-01T00:00:00Z")
        try sim.setProfile(
            .json5("{ rules: [ { then: { status: 503, retryAfter: { after: '17000d', date: true } } } ] }"))
        let client = try sim.client()
        try await client.send(request(registration))
        #expect(try await client.answer().status == 503)
    }

    @Test("A scripted 429 has Retry-After and the backend's own error body")
    func scripted() async throws {
        let sim = PushSim.current
        try sim.setProfile("flaky-registration")
        let statuses = try await (1...3).asyncMap { _ in
            let client = try sim.client()
            try await client.send(request(registration))
            return try await client.answer()
        }
        #expect(statuses.map(\.status) == [429, 429, 200])
        #expect(statuses[0].fields.first("Retry-After")?.text == "2")
        #expect(statuses[0].body.text == #"{"error":{"code":"HTTP-429","message":"Too Many Requests"}}"#)
        sim.verify(.post("/v1/subscriber"), .exactly(3))
        #expect(
            sim.unsatisfied(.post("/v1/subscriber"), .exactly(2))
                == """
                Wanted exactly 2 of POST /v1/subscriber, found 3 among 3 calls.
                  #1 POST /v1/subscriber -> 429 by slow-down-ntm
                  #2 POST /v1/subscriber -> 429 by slow-down-ntm
                  #3 POST /v1/subscriber -> 200
                """)
    }

    @Test("Probability gives each key the same outcomes on 1 and on 32 connections")
    func probability() async throws {
        let profile = FaultProfile.json5(
            "{ seed: 7, rules: [ { id: 'p', when: { probability: 0.5, per: 'token' }, then: { status: 500 } } ] }")
        var outcomes: [[String: [Int]]] = []
        for lanes in [1, 32] {
            let sim = try await PushSim.start(profile: profile)
            let results = try await withThrowingTaskGroup(of: [(String, Int)].self) { group in
                for lane in 0..<lanes {
                    group.addTask {
                        var found: [(String, Int)] = []
                        for key in stride(from: lane, to: 32, by: lanes) {
                            for _ in 0..<8 {
                                let client = try sim.client()
                                try await client.send(request(registration.replacing("\"t\"", with: "\"t\(key)\"")))
                                found.append(("t\(key)", try await client.answer().status))
                            }
                        }
                        return found
                    }
                }
                return try await group.reduce(into: [(String, Int)]()) { $0 += $1 }
            }
            outcomes.append(Dictionary(grouping: results, by: \.0).mapValues { $0.map(\.1) })
            await sim.stop()
        }
        #expect(outcomes[0] == outcomes[1])
        let failures = outcomes[0].values.flatMap { $0 }.filter { $0 == 500 }.count
        #expect((90...166).contains(failures))
    }

    @Test("A token expires at its second call, and stays expired")
    func expiredToken() async throws {
        let sim = PushSim.current
        try sim.setProfile("expired-token")
        var statuses: [Int] = []
        for _ in 0..<3 {
            let client = try sim.client()
            try await client.send(request(registration))
            statuses.append(try await client.answer().status)
        }
        #expect(statuses == [200, 401, 401])
    }

    @Test("The server forgets the subscriber once, at its first subscription")
    func lostState() async throws {
        let sim = PushSim.current
        try sim.setProfile("lost-state")
        let port = sim.url.port ?? 0
        let fields = [("Authorization", "Bearer a")]
        var statuses: [Int] = []
        for _ in 0..<2 {
            let answer = try await call(port: port, "POST", "/v1/subscriber", fields: fields, body: registration)
            let id = try #require(try JSONDocument(answer.body).root.member("id")?.string)
            let target = "/v1/subscription/subscriber/\(id)/topic/d/chat/a"
            statuses.append(try await call(port: port, "POST", target, fields: fields).status)
        }
        #expect(statuses == [452, 200])
    }

    @Test("Scopes by header and by base path are one, and apart from the default")
    func scopes() async throws {
        let sim = PushSim.current
        let port = sim.url.port ?? 0
        let fields = [("Authorization", "Bearer a")]
        _ = try await call(port: port, "POST", "/__scope/s1/v1/subscriber", fields: fields, body: registration)
        let byHeader = try await sim.get("/__pushsim/journal", fields: [("X-PushSim-Scope", "s1")])
        #expect(byHeader["entries"]?[0]?["target"]?.string == "/v1/subscriber")
        #expect(try await sim.get("/__pushsim/journal")["entries"]?.elements?.isEmpty == true)
    }

    @Test(
        "The control API answers only under a name of loopback",
        arguments: [("evil.example", 403), ("127.0.0.1:1", 200), ("LOCALHOST", 200), ("[::1]:80", 200)])
    func rebinding(_ host: String, _ status: Int) async throws {
        let client = try PushSim.current.client()
        try await client.send("GET /__pushsim/health HTTP/1.1\r\nHost: \(host)\r\n\r\n")
        #expect(try await client.answer().status == status)
    }

    @Test("State read and put back is the same state; a bad one changes nothing")
    func state() async throws {
        let sim = PushSim.current
        let port = sim.url.port ?? 0
        _ = try await call(
            port: port, "POST", "/v1/subscriber", fields: [("Authorization", "Bearer a")], body: registration)
        let before = try await sim.get("/__pushsim/state")
        sim.reset()
        #expect(try await sim.get("/__pushsim/state") != before)
        #expect(try await call(port: port, "PUT", "/__pushsim/state", body: before.description).status == 204)
        #expect(try await sim.get("/__pushsim/state") == before)
        let bad = try await call(port: port, "PUT", "/__pushsim/state", body: #"{"ntm":{"subscribers":[{}]}}"#)
        #expect(bad.status == 400)
        #expect(bad.body.text.contains("$.ntm.subscribers[0].id"))
        #expect(try await sim.get("/__pushsim/state") == before)
    }

    @Test("The socketless door gives the bytes that a socket would", .pushSim(clock: .frozen))
    func memory() async throws {
        let sim = PushSim.current
        let text = "GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n"
        let inMemory = try await sim.respond(to: Array(text.utf8))
        let client = try sim.client()
        try await client.send(text)
        #expect(try await client.receive(count: inMemory.count) == inMemory)
    }
}

extension ClosedRange<Int> {
    fileprivate func asyncMap<Value>(_ body: (Int) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await body(element)) }
        return values
    }
}
