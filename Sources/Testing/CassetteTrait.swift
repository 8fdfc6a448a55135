public import PushSim
public import Testing

/// Plays a cassette for a test in the place of the backends; what it does not hold fails the test.
public struct CassetteTrait: TestTrait, TestScoping {
    let name: String?
    let playback: Playback
    let profile: FaultProfile?
    let isComplete: Bool
    let filePath: String

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
        let own = test.name.prefix { $0 != "(" }
        try await withCassette(
            name ?? String(own), playback: playback, profile: profile, isComplete: isComplete, filePath: filePath,
            sourceLocation: test.sourceLocation, function)
    }
}

extension Trait where Self == CassetteTrait {
    /// Replays a cassette for the test, found as `PushSim.current`.
    /// - Parameters:
    ///   - name: of the file in `recordings`, with or without `.har`; the test function's own where there is none.
    ///   - isComplete: whether a recording that nobody asked for fails the test.
    public static func cassette(
        _ name: String? = nil, playback: Playback = Playback(), profile: FaultProfile? = nil, isComplete: Bool = false,
        filePath: String = #filePath
    ) -> CassetteTrait {
        CassetteTrait(name: name, playback: playback, profile: profile, isComplete: isComplete, filePath: filePath)
    }
}

/// Replays a cassette while `body` runs, where it is found as `PushSim.current`. A call that it has no recording for is
/// an issue, with the nearest entries.
/// - Throws: where there is no such cassette, and what `body` throws.
public func withCassette(
    _ name: String, playback: Playback = Playback(), profile: FaultProfile? = nil, isComplete: Bool = false,
    filePath: String = #filePath, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: @Sendable () async throws -> Void
) async throws {
    let sim = try await PushSim.replay(name, playback: playback, profile: profile, filePath: filePath)
    defer {
        for unmatched in sim.unmatchedCalls {
            Issue.record("Not in the cassette \"\(name)\": \(unmatched)", sourceLocation: sourceLocation)
        }
        if isComplete, !sim.leftovers.isEmpty {
            Issue.record(
                "Nobody asked for \(sim.leftovers.joined(separator: ", "))", sourceLocation: sourceLocation)
        }
    }
    try await sim.run(body)
}
