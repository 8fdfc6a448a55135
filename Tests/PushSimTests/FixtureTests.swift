import Foundation
import PushSim
import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Testing

/// A folder of its own, gone afterwards.
private func withFolder(_ body: (URL) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder)
}

extension PushSim {
    fileprivate func register(_ proto: String) async throws -> Int {
        try await call(
            port: url.port ?? 0, "POST", "/v1/subscriber", fields: [("Authorization", "Bearer alice")],
            body: #"{"proto":"\#(proto)","token":"abc","app_domain":"example.com"}"#
        ).status
    }
}

@Suite("The fixture in Swift (control-api.md, \"In-process\")")
struct FixtureTests {
    @Test("A named profile is looked for beside the test's file and above it, then among the shipped ones")
    func profileBeside() async throws {
        try await withFolder { folder in
            let profiles = folder.appendingPathComponent("profiles")
            let below = folder.appendingPathComponent("Tests/OwnTests/OwnTest.swift").path
            try FileManager.default.createDirectory(at: profiles, withIntermediateDirectories: true)
            try Data("{ rules: [ { then: { status: 418 } } ] }".utf8)
                .write(to: profiles.appendingPathComponent("gone-endpoint.json5"))
            try Data("{ rules: [ { then: { sattus: 418 } } ] }".utf8)
                .write(to: profiles.appendingPathComponent("bad.json5"))
            let own = try await PushSim.start(profile: "gone-endpoint", filePath: below)
            #expect(try await own.register("apns") == 418)
            await own.stop()
            let shipped = try await PushSim.start(profile: .named("flaky-registration"), filePath: below)
            #expect(try await shipped.register("apns") == 429)
            await shipped.stop()
            let failure = await #expect(throws: PushSimError.self) {
                try await PushSim.start(profile: "bad", filePath: below)
            }
            #expect(failure?.description.contains("bad.json5:1:22: ") == true, "\(failure?.description ?? "")")
            // The package ends the search.
            let package = folder.appendingPathComponent("Tests/Package.swift")
            try FileManager.default.createDirectory(
                at: package.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data().write(to: package)
            let outside = try await PushSim.start(profile: "gone-endpoint", filePath: below)
            #expect(try await outside.register("apns") == 200)
            await outside.stop()
        }
    }

    @Test("A cassette that is not beside the test is one of the shipped; else the error says where it was looked for")
    func shippedRecording() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("nowhere/T.swift").path
        let sim = try await PushSim.replay("ntm-register-apns", filePath: folder)
        #expect(try await sim.register("apns") == 200)
        #expect(sim.leftovers.isEmpty)
        await sim.stop()
        let failure = await #expect(throws: PushSimError.self) {
            try await PushSim.replay("ntm-register-apn", filePath: folder)
        }
        let text = failure?.description ?? ""
        #expect(text.contains("nowhere/recordings/ntm-register-apn.har") && text.contains("ntm-register-apns"))
    }

    @Test("What is compiled in is what lies in recordings")
    func embedded() throws {
        let root = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let files = try FileManager.default.contentsOfDirectory(
            atPath: root.appendingPathComponent("recordings").path)
        #expect(files.sorted() == ShippedRecordings.names.map { "\($0).har" })
    }

    @Test("withPushSim gives a simulation of its own, which is the current one, and stops it")
    func closure() async throws {
        let port = try await withPushSim(profile: "flaky-registration") { sim throws in
            #expect(PushSim.current.url == sim.url)
            #expect(try await sim.register("apns") == 429)
            #expect(sim.unsatisfied(.post("/v1/subscriber"), .exactly(1)) == nil)
            return sim.url.port ?? 0
        }
        await #expect(throws: (any Error).self) {
            try await call(port: port, "GET", "/v1/subscriber")
        }
    }

    @Test("A broken obligation fails a test where it is required, and only there")
    func obligations() async throws {
        let test = try #require(Test.current)
        let body: @Sendable () async throws -> Void = {
            _ = try await PushSim.current.register("apns")
            _ = try await PushSim.current.register("xmpp")
            #expect(PushSim.current.brokenObligations(of: .ntm).contains { $0.hasPrefix("ntm.oneProtocol: ") })
            #expect(PushSim.current.brokenObligations(of: .fluxer).isEmpty)
        }
        for required in [RequiredObligations.none, .required(.fluxer)] {
            let trait: PushSimTrait = .pushSim(obligations: required)
            try await trait.provideScope(for: test, testCase: Test.Case.current, performing: body)
        }
        for required in [RequiredObligations.required, .required(.ntm)] {
            try await withKnownIssue {
                let trait: PushSimTrait = .pushSim(obligations: required)
                try await trait.provideScope(for: test, testCase: Test.Case.current, performing: body)
            } matching: { issue in
                issue.comments.contains { $0.rawValue.hasPrefix("Broken obligation ntm.") }
            }
        }
    }

    @Test(
        "What a profile takes from the server is not held against the client that does as its `about` says",
        arguments: ["lost-state", "expired-token", "gone-endpoint"])
    func blameless(_ profile: String) async throws {
        try await withPushSim(profile: .named(profile), clock: .frozen) { sim in
            let port = sim.url.port ?? 0
            func ntm(_ method: String, _ path: String, _ bearer: String, _ body: String = "") async throws -> Response {
                try await call(
                    port: port, method, path,
                    fields: [("Authorization", "Bearer \(bearer)"), ("User-Agent", "apple/phone/iPhone/18/App/1")],
                    body: body)
            }
            let good = #"{"proto":"apns","token":"abc","app_domain":"a.b"}"#
            if profile == "gone-endpoint" {
                let session = try sim.fluxer.session().token
                let alert = try sim.device(.iosAPNs, session: session)
                let voip = try sim.device(.iosAPNsVoIP, session: session)
                try await alert.register()
                try await voip.register()
                let sent = try await sim.fluxer.notify(channel: "1", title: "t", body: "")
                #expect(sent.map(\.outcome) == ["removed"])
                try await alert.register()
                #expect(try await sim.fluxer.ring(channel: "1", message: "2").map(\.outcome) == ["accepted"])
            } else {
                func register() async throws -> String {
                    try #require(try await ntm("POST", "/v1/subscriber", "one", good).json["id"]?.string)
                }
                func subscribe(_ id: String, _ bearer: String) async throws -> Int {
                    try await ntm("POST", "/v1/subscription/subscriber/\(id)/topic/a.b/chat/x", bearer).status
                }
                let id = try await register()
                switch try await subscribe(id, "one") {
                case 401: _ = try await subscribe(id, "two")
                case 452: _ = try await subscribe(try await register(), "one")
                default: break
                }
                // The profile acted, and the client got through in spite of it.
                #expect(sim.journal.contains { !$0.rules.isEmpty && $0.status != 200 })
                #expect(sim.journal.last?.status == 200)
            }
            #expect(sim.brokenObligations().isEmpty, "\(sim.brokenObligations())")
        }
    }

    @Test("Waiting for an inbox ends at once where the task is cancelled, the simulation stopped or reset")
    func waits() async throws {
        for how in ["cancel", "stop", "reset"] {
            let sim = try await PushSim.start()
            let waiting = Task { try await sim.inbox(of: "nobody").next(within: .seconds(600)) }
            // It waits where there is a watcher.
            try await eventually { sim.waitingCount == 1 }
            switch how {
            case "cancel": waiting.cancel()
            case "stop": await sim.stop()
            default: sim.reset()
            }
            let result = await waiting.result
            let error = #expect(throws: (any Error).self) { try result.get() }
            #expect((error is CancellationError) == (how == "cancel"))
            await sim.stop()
        }
    }

    @Test("Devices without a name are different ones; with the same name they are the same", .pushSim())
    func devices() async throws {
        let sim = PushSim.current
        let devices = try [
            sim.device(.iosAPNs), sim.device(.iosAPNs), sim.device(.iosAPNsVoIP), sim.device(.iosAPNs, name: "x"),
        ]
        #expect(Set(devices.map(\.endpoint)).count == 4 && Set(devices.map(\.encryptionKey)).count == 4)
        #expect(try sim.device(.iosAPNs, name: "x").endpoint == devices[3].endpoint)
    }

    @Test(
        "Calls are matched as a profile names them; verify may wait for them; a stub goes before a backend", .pushSim())
    func matchers() async throws {
        let sim = PushSim.current
        let registering = try CallMatcher.matching("{ route: 'registerSubscriber', body: { proto: 'apns' } }")
        #expect(sim.unsatisfied(registering)?.contains("found 0") == true)
        async let later: Void = sim.verify(registering, .once, within: .seconds(60))
        #expect(try await sim.register("apns") == 200)
        await later
        sim.verify(registering, .once)
        sim.verify(.put("/v1/subscriber"), .never)
        #expect(throws: PushSimError.self) { try CallMatcher.matching("{ rout: 'x' }") }
        sim.stub(registering) { call in
            #expect(call.header("authorization") == "Bearer alice" && call.backend == "ntm")
            return StubAnswer(503)
        }
        #expect(try await sim.register("apns") == 503)
        #expect(sim.unsatisfied(registering, .atMost(1))?.hasPrefix("Wanted at most 1 of") == true)
        let push = try #require(
            try await sim.ntm.notify(topic: "example.com/chat/x").first == nil ? sim.journal.last : nil)
        #expect(push.ended != nil && push.answer.starts(with: "HTTP/1.1 503".utf8))
    }

    @Test("The clock is read, frozen and let go", .pushSim(clock: .frozen))
    func clock() async throws {
        let sim = PushSim.current
        #expect(sim.now == "2026-01-01T00:00:00Z")
        sim.resumeClock()
        let before = sim.now
        sim.freezeClock()
        let after = sim.now
        #expect(before <= after && sim.now == after)
        await sim.advance(by: .seconds(-5))
        #expect(sim.now == after)
    }
}
