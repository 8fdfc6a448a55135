import Foundation
import PushSimFaults
import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Testing

/// Kinds of bug that users of other mock servers report.
@Suite("Counting, chance and time under load (faults.md, \"Determinism\")", .pushSim(clock: .frozen))
struct FaultKindTests {
    private func ask(_ path: String = "/none", fields: [(String, String)] = []) async throws -> Int {
        try await call(port: PushSim.current.url.port ?? 0, "GET", path, fields: fields).status
    }

    private func parallel(_ count: Int, _ width: Int = 50) async throws -> [Int] {
        try await withThrowingTaskGroup(of: Int.self) { group in
            let sim = PushSim.current
            for _ in 0..<count {
                group.addTask {
                    try await PushSim.$running.withValue(sim) { try await ask() }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test("A reset with probability 0 leaves sockets alone")
    func never() async throws {
        try PushSim.current.setProfile(
            .json5("{ rules: [ { on: { path: '/none' }, when: { probability: 0 }, then: { connection: 'reset' } } ] }"))
        let client = try RawClient(port: PushSim.current.url.port ?? 0)
        for _ in 0..<5 {
            try await client.send("GET /none HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await client.answer().status == 404)
        }
    }

    @Test("Two rules with 0.5 and a fallback: about half, a quarter and a quarter, the same set for the same seed")
    func halves() async throws {
        let text = """
            { rules: [ { id: 'a', on: { path: '/none' }, when: { probability: 0.5 }, then: { status: 211 } },
              { id: 'b', on: { path: '/none' }, when: { probability: 0.5 }, then: { status: 212 } },
              { id: 'c', on: { path: '/none' }, then: { status: 213 } } ] }
            """
        var runs: [[Int]] = []
        for _ in 0..<2 {
            try PushSim.current.setProfile(.json5(text))
            var seen: [Int] = []
            for _ in 0..<200 { seen.append(try await ask()) }
            runs.append(seen)
        }
        #expect(runs[0] == runs[1])
        #expect((80...120).contains(runs[0].count { $0 == 211 }))
        #expect((30...70).contains(runs[0].count { $0 == 212 }))
        #expect((30...70).contains(runs[0].count { $0 == 213 }))
    }

    @Test("times: 1 under 50 parallel calls fires exactly once")
    func once() async throws {
        try PushSim.current.setProfile(
            .json5("{ rules: [ { on: { path: '/none' }, when: { times: 1 }, then: { status: 299 } } ] }"))
        #expect(try await parallel(50).count { $0 == 299 } == 1)
    }

    @Test("A loop of three states under 100 parallel calls never falls between states")
    func states() async throws {
        try PushSim.current.setProfile(
            .json5(
                """
                { rules: [
                  { on: { path: '/none' }, when: { state: { phase: null } }, then: { status: 221, setState: { phase: 'two' } } },
                  { on: { path: '/none' }, when: { state: { phase: 'two' } }, then: { status: 222, setState: { phase: 'three' } } },
                  { on: { path: '/none' }, when: { state: { phase: 'three' } }, then: { status: 223, setState: { phase: null } } },
                ] }
                """))
        let seen = try await parallel(99)
        #expect([221, 222, 223].map { status in seen.count { $0 == status } } == [33, 33, 33])
        #expect(try await ask() == 221)
        PushSim.current.reset()
        #expect(try await ask() == 221)
    }

    @Test("all, any and not combine")
    func combined() async throws {
        try PushSim.current.setProfile(
            .json5(
                """
                { rules: [ { on: { path: '/none' }, when: { all: [ { calls: '2-' }, { not: { calls: '4' } } ],
                  any: [ { calls: '3' }, { calls: '4' }, { calls: '6' } ] }, then: { status: 299 } } ] }
                """))
        var seen: [Int] = []
        for _ in 0..<7 { seen.append(try await ask()) }
        #expect(seen == [404, 404, 299, 404, 404, 299, 404])
    }

    @Test("quota: a fixed window on the simulation clock")
    func quota() async throws {
        let sim = PushSim.current
        try sim.setProfile(
            .json5(
                "{ rules: [ { on: { path: '/none' }, when: { quota: { limit: 2, window: '60s' } }, then: { status: 429 } } ] }"
            ))
        var seen: [Int] = []
        for _ in 0..<4 { seen.append(try await ask()) }
        await sim.advance(by: .seconds(59))
        seen.append(try await ask())
        await sim.advance(by: .seconds(1))
        for _ in 0..<3 { seen.append(try await ask()) }
        #expect(seen == [404, 404, 429, 429, 429, 404, 404, 429])
    }

    @Test("Per key the outcomes are the same on 1 and 32 connections; per rule the same multiset")
    func perKey() async throws {
        let sim = PushSim.current
        func run(_ per: String, _ width: Int) async throws -> [String: [Int]] {
            try sim.setProfile(
                .json5(
                    "{ rules: [ { on: { path: '/none' }, when: { probability: 0.5, per: '\(per)' }, then: { status: 299 } } ] }"
                ))
            return try await withThrowingTaskGroup(of: (String, [Int]).self) { group in
                let keys = (0..<32).map { "key\($0)" }
                func serial(_ key: String) async throws -> (String, [Int]) {
                    try await PushSim.$running.withValue(sim) {
                        var seen: [Int] = []
                        for _ in 0..<8 { seen.append(try await ask(fields: [("X-Key", key)])) }
                        return (key, seen)
                    }
                }
                if width == 1 {
                    var all: [String: [Int]] = [:]
                    for key in keys { all[key] = try await serial(key).1 }
                    return all
                }
                for key in keys { group.addTask { try await serial(key) } }
                return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
        }
        let keyed = try await run("header:X-Key", 1)
        #expect(try await run("header:X-Key", 32) == keyed)
        let ruled = try await run("rule", 1).values.flatMap { $0 }.sorted()
        #expect(try await run("rule", 32).values.flatMap { $0 }.sorted() == ruled)
    }

    @Test("An answer delayed for a client that has gone never reaches the next test, and is noted once")
    func leaving() async throws {
        let sim = PushSim.current
        try sim.setProfile(.json5("{ rules: [ { on: { path: '/none' }, then: { delay: '5s', status: 299 } } ] }"))
        let client = try RawClient(port: sim.url.port ?? 0)
        try await client.send("GET /none HTTP/1.1\r\nHost: a\r\n\r\n")
        try await eventually { sim.journal.count == 1 }
        client.finishSending()
        #expect(try await client.receive().close == .fin)
        await sim.advance(by: .seconds(10))
        let journal = try await sim.fluxer("GET", "/__pushsim/journal").json["entries"]
        #expect(journal?.elements?.map { $0["ended"] } == ["client-left"])
    }

    @Test("Every decision of a recorded run is accounted for; a changed one is found")
    func audit() async throws {
        let sim = PushSim.current
        let text = """
            { seed: 3, rules: [ { id: 'a', when: { probability: 0.4 }, then: { status: 503 }, continue: true },
              { id: 'late', when: { clock: { after: '30s' } }, then: { status: 410 } },
              { id: 'posts', on: { route: 'registerDevice', body: { platform: 'ios_apns' } }, when: { per: 'token', calls: 2 }, then: { status: 409 } },
              { id: 'd', on: { side: 'delivery' }, when: { probability: 0.5 }, then: { answer: { status: 503 } }, continue: true },
              { id: 'e', on: { side: 'delivery' }, when: { probability: 0.3 }, then: { duplicate: 3 } } ] }
            """
        try sim.setProfile(.json5("{ rules: [ { then: { status: 503 }, when: { calls: '2' } } ] }"))
        _ = try await sim.register("android_unified_push", "https://a.example/", keys)
        try sim.setProfile(.json5(text))
        for number in 0..<20 {
            _ = try await sim.register("ios_apns", "t\(number % 3)", as: "user\(number % 4)")
            _ = try await sim.fluxer.notify(channel: "1", title: "a", body: "b")
            await sim.advance(by: .seconds(3))
        }
        let bytes = try await sim.fluxer("GET", "/__pushsim/journal").body
        let profile = try ProfileReader.read(Array(text.utf8), Vocabulary(Service.allBackends))
        let audit = try DecisionAudit(try JSONDocument(bytes).root, profile)
        #expect(audit.count > 60)
        #expect(audit.differences().map(\.description) == [])
        try sim.setProfile(.json5("{ seed: 3, rules: [ { on: { side: 'delivery' }, then: { hold: '1h' } } ] }"))
        _ = try await sim.fluxer.notify(channel: "1", title: "held", body: "b")
        _ = try await sim.fluxer.notify(channel: "1", title: "held", body: "b")
        await sim.advance(by: .seconds(3600))
        let held = try await sim.fluxer("GET", "/__pushsim/journal").body
        let holding = try ProfileReader.read(
            Array("{ seed: 3, rules: [ { on: { side: 'delivery' }, then: { hold: '1h' } } ] }".utf8),
            Vocabulary(Service.allBackends))
        #expect(try DecisionAudit(try JSONDocument(held).root, holding).differences().map(\.description) == [])
        let filtered = try await sim.fluxer("GET", "/__pushsim/journal?backend=fluxer&since=3").body
        #expect(throws: PushSimError.self) { try DecisionAudit(try JSONDocument(filtered).root, profile) }
        let changed = try ProfileReader.read(
            Array(text.replacing("0.4", with: "0.9").utf8), Vocabulary(Service.allBackends))
        #expect(try DecisionAudit(try JSONDocument(bytes).root, changed).differences().isEmpty == false)
    }
}
