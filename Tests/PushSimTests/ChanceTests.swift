import Foundation
import PushSim
import PushSimFaults
import PushSimSimulation
import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Testing

/// What is left to chance, read from the wire: sixteen random octets for each call.
@Suite("What a call comes to is a function of seed, scope, rule, key and its number (faults.md, \"Determinism\")")
struct ChanceTests {
    private static let text = """
        { rules: [ { id: 'noise', on: { route: 'registerSubscriber' }, when: { per: 'token' },
            then: { wire: { garbage: 16 } } } ] }
        """

    private func body(_ token: String) -> String { #"{"proto":"apns","token":"\#(token)","app_domain":"a.b"}"# }

    private func head(_ token: String, _ more: String = "") -> String {
        "POST /v1/subscriber HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\n"
            + "Content-Length: \(body(token).utf8.count)\r\n\(more)\r\n"
    }

    /// The 100 says that the server has dealt with the head alone.
    private func isAskedToGoOn(_ client: RawClient) async throws -> Bool {
        let wanted = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
        return try await client.receive(count: wanted.count) == wanted
    }

    private func garbage(_ sim: PushSim, _ token: String, isSplit: Bool = false) async throws -> [UInt8] {
        let client = try RawClient(port: sim.url.port ?? 0)
        if isSplit {
            try await client.send(head(token, "Expect: 100-continue\r\n"))
            #expect(try await isAskedToGoOn(client))
            try await client.send(body(token))
        } else {
            try await client.send(head(token) + body(token))
        }
        return try await client.receive().bytes
    }

    private func run(
        seed: UInt64 = 7, _ profile: String = text, _ body: (PushSim) async throws -> [[UInt8]]
    ) async throws -> [[UInt8]] {
        let sim = try await PushSim.start(profile: .json5(profile), seed: seed, clock: .frozen)
        let result = try await body(sim)
        await sim.stop()
        return result
    }

    private func four(_ sim: PushSim, isSplit: Bool = false) async throws -> [[UInt8]] {
        var all: [[UInt8]] = []
        for _ in 0..<4 { all.append(try await garbage(sim, "one", isSplit: isSplit)) }
        return all
    }

    @Test("Neither the packets that a request comes in nor other calls, keys and times of loading change what is drawn")
    func onlyThese() async throws {
        let plain = try await run { try await four($0) }
        #expect(Set(plain).count == 4 && plain.allSatisfy { $0.count == 16 })
        #expect(try await run { try await four($0, isSplit: true) } == plain)
        let between = try await run { sim in
            var all: [[UInt8]] = []
            for number in 0..<4 {
                _ = try await call(port: sim.url.port ?? 0, "GET", "/nowhere")
                _ = try await garbage(sim, "other", isSplit: number % 2 == 0)
                all.append(try await garbage(sim, "one", isSplit: number % 2 == 1))
            }
            return all
        }
        #expect(between == plain)
        let again = try await run { sim in
            _ = try await four(sim)
            try sim.setProfile(.json5(Self.text))
            return try await four(sim)
        }
        #expect(again == plain)
        let afterReset = try await run { sim in
            _ = try await four(sim)
            sim.reset()
            return try await four(sim)
        }
        #expect(afterReset == plain)
    }

    @Test("Seed, rule and key do; a profile's own seed goes before the scope's")
    func these() async throws {
        let plain = try await run { try await four($0) }
        #expect(plain.allSatisfy { $0.count == 16 })
        #expect(try await run(seed: 8) { try await four($0) } != plain)
        #expect(try await run(Self.text.replacing("noise", with: "other")) { try await four($0) } != plain)
        #expect(try await run { [try await garbage($0, "other")] } != [plain[0]])
        let own = Self.text.replacing("{ rules", with: "{ seed: 7, rules")
        #expect(try await run(seed: 8, own) { try await four($0) } == plain)
    }

    @Test("A delay is what `profile explain` says, to the microsecond, split or not", arguments: [false, true])
    func delays(isSplit: Bool) async throws {
        let text = "{ rules: [ { id: 'slow', on: { path: '/**' }, then: { delay: { uniform: ['10ms', '200ms'] } } } ] }"
        let profile = try ProfileReader.read(Array(text.utf8), Vocabulary(Service.allBackends))
        let sim = try await PushSim.start(profile: .json5(text), seed: 7, clock: .frozen)
        let told = FaultEngine(profile, now: 0)
            .explain(0, key: "", calls: 3, draws: Draws(seed: 7, seedName: "default")).compactMap(\.delay)
        #expect(Set(told).count == 3 && told.allSatisfy { (10_000_000...200_000_000).contains($0) })
        for (number, delay) in told.enumerated() {
            let client = try RawClient(port: sim.url.port ?? 0)
            try await client.send(head("one", isSplit ? "Expect: 100-continue\r\n" : ""))
            if isSplit { #expect(try await isAskedToGoOn(client)) }
            try await client.send(body("one"))
            try await eventually { sim.journal.count == number + 1 && sim.journal.last?.status != nil }
            await sim.advance(by: .nanoseconds(delay - 1000))
            #expect(try await ending(sim) == .null)
            await sim.advance(by: .nanoseconds(1000))
            #expect(try await client.answer().status == 200)
        }
        await sim.stop()
    }

    /// How the last call ended, by the journal.
    private func ending(_ sim: PushSim) async throws -> JSON? {
        let answer = try await call(port: sim.url.port ?? 0, "GET", "/__pushsim/journal")
        return JSON(try JSONDocument(answer.body).root)["entries"]?.elements?.last?["ended"]
    }

    @Test("Trace ids differ from call to call, however the request comes")
    func traces() async throws {
        let sim = try await PushSim.start(options: ["ntm.connection": "keep-alive"])
        var ids: Set<[UInt8]> = []
        let client = try RawClient(port: sim.url.port ?? 0)
        for _ in 0..<3 {
            try await client.send(head("one", "Expect: 100-continue\r\n"))
            #expect(try await isAskedToGoOn(client))
            try await client.send(body("one"))
            ids.insert(try await client.answer().fields.first("trace-id") ?? [])
        }
        #expect(ids.count == 3)
        await sim.stop()
    }
}
