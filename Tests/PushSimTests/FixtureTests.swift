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
}
