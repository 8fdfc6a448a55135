import Foundation
import PushSimTesting
import XCTest

/// A test case of XCTest, with what it sets up in `self`.
final class OldTests: XCTestCase {
    private var paths: [String] = []

    func testWithPushSim() async throws {
        try await withPushSim(profile: "calm") { sim in
            paths.append("/v1/none")
            _ = try await sim.respond(to: Array("GET \(paths[0]) HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
            sim.verify(.get("/v1/none"), .once)
            XCTAssertEqual(PushSim.current.journal.count, 1)
        }
    }

    /// Fails six times, where CI asks for it.
    func testFailures() async throws {
        guard ProcessInfo.processInfo.environment["PUSHSIM_MUST_FAIL"] != nil else {
            throw XCTSkip("not asked to fail")
        }
        try await withPushSim(obligations: .required(.ntm)) { sim in
            sim.verify(.get("/v1/none"), .once)
            _ = try await sim.respond(
                to: Array("GET /v1/subscriber/null HTTP/1.1\r\nHost: a\r\nUser-Agent: a/b/c/d/e/f\r\n\r\n".utf8))
        }
        try await withCassette("ntm-register-apns", isComplete: true) { sim in
            _ = try await sim.respond(to: Array("GET /v1/none HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        }
        _ = PushSim.current
    }
}
