@_exported public import PushSim
public import Testing

/// Gives each test, and each case of a parameterised one, a simulation of its own.
public struct PushSimTrait: TestTrait, SuiteTrait, TestScoping {
    let profile: FaultProfile?
    let seed: UInt64
    let clock: SimClock
    let options: [String: String]

    /// A suite's trait holds for each test in it.
    public var isRecursive: Bool { true }

    /// Starts the simulation, runs the test in it, stops it.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        let sim = try await PushSim.start(
            profile: profile, seed: seed, seedName: Self.seedName(test), clock: clock, options: options)
        do {
            try await PushSim.$running.withValue(sim) { try await function() }
        } catch {
            await sim.stop()
            throw error
        }
        await sim.stop()
    }

    /// Module, suite and function, without file and line: draws stay when a test moves within its file.
    private static func seedName(_ test: Test) -> String {
        let text = String(describing: test.id)
        guard let slash = text.lastIndex(of: "/"), text[slash...].contains(":") else { return text }
        return String(text[..<slash])
    }
}

extension Trait where Self == PushSimTrait {
    /// A simulation for the test, found as `PushSim.current`.
    public static func pushSim(
        profile: FaultProfile? = nil, seed: UInt64 = 1, clock: SimClock = .real, options: [String: String] = [:]
    ) -> PushSimTrait {
        PushSimTrait(profile: profile, seed: seed, clock: clock, options: options)
    }
}

extension PushSim {
    /// The simulation of the running test. Outside a test with `.pushSim()` it records an issue and does nothing.
    public static var current: PushSim {
        if let running { return running }
        Issue.record("PushSim.current is used outside a test with the trait .pushSim().")
        return inert
    }

    /// Records an issue at the caller where the calls so far are not as wanted.
    public func verify(
        _ matcher: CallMatcher, _ count: CallCount = .atLeast(1), sourceLocation: SourceLocation = #_sourceLocation
    ) {
        if let text = unsatisfied(matcher, count) {
            Issue.record(Comment(rawValue: text), sourceLocation: sourceLocation)
        }
    }
}
