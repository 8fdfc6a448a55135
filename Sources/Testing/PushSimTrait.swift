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
            profile: profile, seed: seed, seedName: test.nameWithoutPlace, clock: clock, options: options,
            filePath: filePath)
        // Also where the test throws: what is broken may be why.
        defer {
            for broken in obligations.broken(sim) {
                Failure.report("Broken obligation \(broken)", test.sourceLocation)
            }
        }
        try await sim.run(function)
    }
}

extension Test {
    /// Module, suite and function, without file and line: what hangs on it stays when a test moves within its file.
    var nameWithoutPlace: String {
        let text = String(describing: id)
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

extension PushSim {
    /// Runs `body` with this simulation as the current one, and stops it.
    func run<Result>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
    ) async throws -> Result {
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

    /// The simulation of the running test. Outside a test with `.pushSim()` it fails the test, and every call to it is
    /// refused.
    public static var current: PushSim {
        if let running { return running }
        Failure.report(
            "PushSim.current is used outside a test with the trait .pushSim(), or withPushSim.",
            Test.current?.sourceLocation)
        return inert
    }

    /// Fails the test at the caller where the calls so far are not as wanted, in Swift Testing and in XCTest.
    public func verify(
        _ matcher: CallMatcher, _ count: CallCount = .atLeast(1), fileID: String = #fileID,
        filePath: String = #filePath, line: Int = #line, column: Int = #column
    ) {
        if let text = unsatisfied(matcher, count) {
            Failure.report(text, SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column))
        }
    }

    /// The same, once the calls are as wanted, or after so long.
    /// - Parameter within: how long to wait for them, in real time.
    public func verify(
        _ matcher: CallMatcher, _ count: CallCount = .atLeast(1), within: Duration, fileID: String = #fileID,
        filePath: String = #filePath, line: Int = #line, column: Int = #column
    ) async {
        if let text = await unsatisfied(matcher, count, within: within) {
            Failure.report(text, SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column))
        }
    }
}

/// Runs `body` with a simulation of its own, which is `PushSim.current` too, and stops it: for XCTest and wherever a trait
/// cannot stand.
/// - Throws: `PushSimError` for a mistake in an option or profile, and what `body` throws.
public func withPushSim<Result>(
    profile: FaultProfile? = nil, seed: UInt64 = 1, clock: SimClock = .real, options: [String: String] = [:],
    obligations: RequiredObligations = .none, filePath: String = #filePath, fileID: String = #fileID,
    function: String = #function, line: Int = #line, column: Int = #column,
    isolation: isolated (any Actor)? = #isolation, _ body: (PushSim) async throws -> Result
) async throws -> Result {
    let module = fileID.prefix { $0 != "/" }
    let sim = try await PushSim.start(
        profile: profile, seed: seed, seedName: "\(module)/\(function)", clock: clock, options: options,
        filePath: filePath)
    defer {
        for broken in obligations.broken(sim) {
            Failure.report(
                "Broken obligation \(broken)",
                SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column))
        }
    }
    return try await sim.run { try await body(sim) }
}
