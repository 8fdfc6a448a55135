@_exported public import PushSim
public import Testing

/// Gives each test, and each case of a parameterised one, a simulation of its own.
public struct PushSimTrait: TestTrait, SuiteTrait, TestScoping {
    let profile: FaultProfile?
    let seed: UInt64
    let clock: SimClock
    let options: [String: String]
    let obligations: RequiredObligations
    let filePath: String

    /// A suite's trait holds for each test in it.
    public var isRecursive: Bool { true }

    /// Starts the simulation, runs the test in it, stops it.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        let sim = try await PushSim.start(
            profile: profile, seed: seed, seedName: Self.seedName(test), clock: clock, options: options,
            filePath: filePath)
        try await sim.run(function)
        for broken in obligations.broken(sim) {
            Issue.record(Comment(rawValue: "Broken obligation \(broken)"), sourceLocation: test.sourceLocation)
        }
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
        profile: FaultProfile? = nil, seed: UInt64 = 1, clock: SimClock = .real, options: [String: String] = [:],
        obligations: RequiredObligations = .none, filePath: String = #filePath
    ) -> PushSimTrait {
        PushSimTrait(
            profile: profile, seed: seed, clock: clock, options: options, obligations: obligations,
            filePath: filePath)
    }
}

/// Which broken obligations fail a test.
public struct RequiredObligations: Hashable, Sendable {
    /// Nil is every backend.
    private let backends: [PushBackend?]

    /// No obligation: they are noted only.
    public static let none = RequiredObligations(backends: [])
    /// Those of every backend.
    public static let required = RequiredObligations(backends: [nil])

    /// Those of some backends.
    public static func required(_ backends: PushBackend...) -> RequiredObligations {
        RequiredObligations(backends: backends)
    }

    func broken(_ sim: PushSim) -> [String] { backends.flatMap { sim.brokenObligations(of: $0) } }
}

/// Runs `body` with a simulation of its own, which is `PushSim.current` too, and stops it: for XCTest and wherever a trait
/// cannot stand. `sim.unsatisfied(…)` says what XCTest's own assertions are to show.
/// - Throws: `PushSimError` for a mistake in an option or profile, and what `body` throws.
public func withPushSim<Result: Sendable>(
    profile: FaultProfile? = nil, seed: UInt64 = 1, clock: SimClock = .real, options: [String: String] = [:],
    filePath: String = #filePath, fileID: String = #fileID, function: String = #function,
    _ body: @Sendable (PushSim) async throws -> Result
) async throws -> Result {
    let module = fileID.prefix { $0 != "/" }
    let sim = try await PushSim.start(
        profile: profile, seed: seed, seedName: "\(module)/\(function)", clock: clock, options: options,
        filePath: filePath)
    return try await sim.run { try await body(sim) }
}

extension PushSim {
    /// Runs `body` with this simulation as the current one, and stops it.
    func run<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
        let result: Result
        do {
            result = try await PushSim.$running.withValue(self) { try await body() }
        } catch {
            await stop()
            throw error
        }
        await stop()
        return result
    }

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
