public import PushSim
public import Testing

/// Plays a cassette for a test in the place of the backends; what it does not hold fails the test.
public struct CassetteTrait: TestTrait, SuiteTrait, TestScoping {
    let name: String?
    let playback: Playback
    let profile: FaultProfile?
    let seed: UInt64
    let clock: SimClock
    let isComplete: Bool
    let filePath: String

    /// A suite's trait holds for each test in it: each plays the cassette from its beginning.
    public var isRecursive: Bool { true }

    /// Starts the replay, runs the test in it, stops it.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        if name == nil, test.isParameterized {
            Issue.record(
                "A parameterised test has no cassette of its own name: use withCassette(\"…-\\(argument)\") in it.",
                sourceLocation: test.sourceLocation)
            return
        }
        let place = test.sourceLocation
        try await withCassette(
            name ?? Self.usualName(test), playback: playback, profile: profile, seed: seed, clock: clock,
            isComplete: isComplete, filePath: filePath, fileID: place.fileID, line: place.line, column: place.column
        ) { _ in try await function() }
    }

    /// Module, suite and function, such as `AppTests.LoginTests.login`.
    private static func usualName(_ test: Test) -> String {
        test.nameWithoutPlace.prefix { $0 != "(" }.split(separator: "/").joined(separator: ".")
    }
}

extension Trait where Self == CassetteTrait {
    /// Replays a cassette for the test, found as `PushSim.current`.
    /// - Parameters:
    ///   - name: of the file in `recordings`, with or without `.har`; without one it is module, suite and function with
    ///     dots between, such as `AppTests.LoginTests.login.har`.
    ///   - isComplete: whether a recording that nobody asked for fails the test.
    public static func cassette(
        _ name: String? = nil, playback: Playback = Playback(), profile: FaultProfile? = nil, seed: UInt64 = 1,
        clock: SimClock = .real, isComplete: Bool = false, filePath: String = #filePath
    ) -> CassetteTrait {
        CassetteTrait(
            name: name, playback: playback, profile: profile, seed: seed, clock: clock, isComplete: isComplete,
            filePath: filePath)
    }
}

/// Replays a cassette while `body` runs, where it is `PushSim.current` too. A call that it has no recording for fails the
/// test, with the nearest entries, in Swift Testing and in XCTest.
/// - Throws: where there is no such cassette, and what `body` throws.
public func withCassette<Result>(
    _ name: String, playback: Playback = Playback(), profile: FaultProfile? = nil, seed: UInt64 = 1,
    clock: SimClock = .real, isComplete: Bool = false, filePath: String = #filePath, fileID: String = #fileID,
    line: Int = #line, column: Int = #column, isolation: isolated (any Actor)? = #isolation,
    _ body: (PushSim) async throws -> Result
) async throws -> Result {
    let sim = try await PushSim.replay(
        name, playback: playback, profile: profile, seed: seed, clock: clock, filePath: filePath)
    let place = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
    defer {
        for unmatched in sim.unmatchedCalls {
            Failure.report("Not in the cassette \"\(name)\": \(unmatched)", place)
        }
        if isComplete, !sim.leftovers.isEmpty {
            Failure.report("Nobody asked for \(sim.leftovers.joined(separator: ", "))", place)
        }
    }
    return try await sim.run { try await body(sim) }
}
