import Foundation
import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Testing

@Suite("The built-in push service and records (control-api.md)", .pushSim(clock: .frozen))
struct PushServiceTests {
    private func push(_ fields: [(String, String)], _ body: String = "abc") async throws -> Response {
        try await PushSimTestSupport.call(
            port: PushSim.current.url.port ?? 0, "POST", "/push/x1", fields: fields, body: body)
    }

    private static let good = [("TTL", "60"), ("Content-Encoding", "aes128gcm")]

    @Test("A message is taken with 201 and Location, and stands in the endpoint's inbox under both its names")
    func accepted() async throws {
        let sim = PushSim.current
        let answer = try await push(Self.good + [("Urgency", "high"), ("Topic", "a-b_C1")])
        #expect(answer.status == 201)
        #expect(answer.fields.first("Location")?.text == "\(sim.url.absoluteString)/push/x1/messages/d1")
        #expect(answer.fields.first("TTL")?.text == "60")
        let named = sim.inbox(of: "https://push.pushsim.example/push/x1").deliveries
        #expect(named.map(\.text) == ["abc"])
        #expect(sim.inbox(of: "\(sim.url.absoluteString)/push/x1").deliveries.map(\.id) == named.map(\.id))
    }

    @Test(
        "What RFC 8030 and 8291 refuse",
        arguments: [
            ([("Content-Encoding", "aes128gcm")], 400), ([("TTL", "-1"), ("Content-Encoding", "aes128gcm")], 400),
            ([("TTL", "abc"), ("Content-Encoding", "aes128gcm")], 400),
            ([("TTL", "86400s"), ("Content-Encoding", "aes128gcm")], 400), ([("TTL", "1")], 400),
            ([("TTL", "1"), ("Content-Encoding", "aesgcm")], 400),
            ([("TTL", "1"), ("Content-Encoding", "aes128gcm"), ("Content-Encoding", "aes128gcm")], 400),
            (good + [("Urgency", "high"), ("Urgency", "low")], 400), (good + [("Urgency", "soon")], 400),
            (good + [("Topic", "a=")], 400), (good + [("Topic", String(repeating: "a", count: 33))], 400),
            (good + [("Crypto-Key", "dh=abc")], 400), (good + [("Crypto-Key", "p256ecdsa=abc")], 201),
            ([("TTL", "2147483649"), ("Content-Encoding", "aes128gcm")], 201),
        ] as [([(String, String)], Int)])
    func refusals(_ fields: [(String, String)], _ status: Int) async throws {
        let answer = try await push(fields)
        #expect(answer.status == status)
        if fields.first?.1 == "2147483649" { #expect(answer.fields.first("TTL")?.text == "2147483648") }
    }

    @Test("4096 octets are taken, 4097 are 413; a profile answers for it too")
    func sizes() async throws {
        #expect(try await push(Self.good, String(repeating: "x", count: 4096)).status == 201)
        #expect(try await push(Self.good, String(repeating: "x", count: 4097)).status == 413)
        try PushSim.current.setProfile(
            .json5("{ rules: [ { on: { backend: 'push' }, then: { status: 410 } } ] }"))
        #expect(try await push(Self.good).status == 410)
    }

    @Test("records: with a seed a pure function of the body; opens with the device's keys")
    func records() async throws {
        let sim = PushSim.current
        let device = try sim.device(.androidUnifiedPush)
        func record(_ more: String) async throws -> Response {
            try await sim.fluxer(
                "POST", "/__pushsim/records",
                #"{"encryption_key":"\#(device.encryptionKey)","auth_secret":"\#(device.authSecret)"\#(more)}"#)
        }
        let first = try await record(#","json":{"a":1.00},"seed":5"#)
        #expect(first.status == 200)
        #expect(first.fields.first("Content-Type")?.text == "application/octet-stream")
        #expect(try await record(#","json":{"a":1.00},"seed":5"#).body == first.body)
        #expect(try await record(#","json":{"a":1.00},"seed":6"#).body != first.body)
        #expect(first.body.count == 103 + #"{"a":1.00}"#.utf8.count)
        let padded = try await record(#","plaintext":"x","padding":200,"record_size":"tight""#)
        #expect(padded.body.count == 200 && Int(padded.body[19]) == 115)
        let again = try await record(#","plaintext":"x","padding":200,"record_size":"tight""#)
        #expect(again.body != padded.body)
        let wrong = try await record(#","json":{},"plaintext":"x""#)
        #expect(wrong.status == 400)
        let badKey = try await sim.fluxer(
            "POST", "/__pushsim/records", #"{"encryption_key":"AAAA","auth_secret":"\#(secret)","json":{}}"#)
        #expect(badKey.json["error"]?["path"] == "$.encryption_key")
        #expect(badKey.json["error"]?["message"]?.string == "encryption_key has 3 octets, not 65")
    }

    @Test("Reports settle the obligations that only a device can show")
    func reports() async throws {
        let sim = PushSim.current
        let device = try sim.device(.iosAPNsVoIP)
        try await device.register()
        _ = try await sim.fluxer.ring(channel: "1", message: "2")
        let ring = try await device.inbox.next()
        try sim.report(ring, .rang)
        func state() async throws -> [String] {
            let rows = try await sim.fluxer("GET", "/__pushsim/obligations").json["obligations"]?.elements ?? []
            return rows.filter { $0["id"]?.string?.hasPrefix("fluxer.") == true }
                .map { "\($0["id"]?.string?.dropFirst(7) ?? "") \($0["state"]?.string ?? "")" }
        }
        #expect(
            try await state() == [
                "bothRegistrations broken", "undecryptable not exercised", "registerAgain not exercised",
                "missingMedia not exercised", "oneCall met", "rateLimits not exercised",
            ])
        let twice = try await sim.fluxer(
            "POST", "/__pushsim/reports", #"{"delivery":"\#(ring.id)","did":"rang"}"#)
        #expect(twice.status == 204)
        #expect(try await state()[4] == "oneCall broken")
        #expect(
            try await sim.fluxer("POST", "/__pushsim/reports", #"{"delivery":"d99","did":"rang"}"#).status == 400)
        #expect(
            try await sim.fluxer("POST", "/__pushsim/reports", #"{"delivery":"d1","did":"rung"}"#).json["error"]?[
                "path"]
                == "$.did")
    }

    @Test("A stub answers a neighbour's path; other strangers are unexpected calls")
    func stubs() async throws {
        let sim = PushSim.current
        sim.stub(.post("/v1.1/login")) { call in .json(["you": .string(call.method)]) }
        let answer = try await sim.fluxer("POST", "/v1.1/login", "{}")
        #expect(answer.status == 200 && answer.json == ["you": "POST"])
        #expect(try await sim.fluxer("GET", "/v1.1/login").status == 404)
        #expect(sim.unexpectedCalls.map(\.target) == ["/v1.1/login"])
        try sim.setProfile(.json5("{ rules: [ { on: { path: '/v1.1/login' }, then: { status: 503 } } ] }"))
        #expect(try await sim.fluxer("POST", "/v1.1/login", "{}").status == 503)
    }
}
