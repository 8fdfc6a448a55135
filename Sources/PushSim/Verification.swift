import PushSimFaults
import PushSimJSONText
import PushSimSimulation
import PushSimWire

/// Which calls a verification counts, or a stub answers.
public struct CallMatcher: Hashable, Sendable, CustomStringConvertible {
    private enum Kind: Hashable, Sendable {
        case line(method: String, path: String)
        /// The text of a rule's `on`.
        case question(String)
    }

    private let kind: Kind

    /// A method, with its case, and a raw path.
    public init(method: String, path: String) { kind = .line(method: method, path: path) }

    private init(question: String) { kind = .question(question) }

    /// GET on a path.
    public static func get(_ path: String) -> CallMatcher { CallMatcher(method: "GET", path: path) }
    /// POST on a path.
    public static func post(_ path: String) -> CallMatcher { CallMatcher(method: "POST", path: path) }
    /// PUT on a path.
    public static func put(_ path: String) -> CallMatcher { CallMatcher(method: "PUT", path: path) }
    /// PATCH on a path.
    public static func patch(_ path: String) -> CallMatcher { CallMatcher(method: "PATCH", path: path) }
    /// DELETE on a path.
    public static func delete(_ path: String) -> CallMatcher { CallMatcher(method: "DELETE", path: path) }

    /// Calls as a profile's `on` names them, such as `{ route: "subscribe", account: "alice" }`.
    /// - Parameter json5: the text of `on` (contract faults.md).
    /// - Throws: `PushSimError` that names every mistake in it.
    public static func matching(_ json5: String) throws -> CallMatcher {
        do {
            _ = try question(json5)
        } catch let error as JSONError {
            throw PushSimError("The matcher is no JSON5: \(error.description)")
        } catch let error as ProfileError {
            throw PushSimError(error.mistakes.map(\.message).joined(separator: "; "))
        }
        return CallMatcher(question: json5)
    }

    private static func question(_ json5: String) throws -> CallQuestion {
        let root = try JSONDocument(Array(json5.utf8), dialect: .json5).root
        return try CallQuestion(root, Vocabulary(Service.allBackends))
    }

    /// The request line without its version, or what was written.
    public var description: String {
        switch kind {
        case .line(let method, let path): "\(method) \(path)"
        case .question(let text): text
        }
    }

    /// What of a call is not as asked, for each call in turn.
    var differences: @Sendable (Call) -> [String] {
        switch kind {
        case .line(let method, let path):
            return { call in
                var found: [String] = []
                if !call.method.elementsEqual(method.utf8) {
                    found.append("method: \(call.head.methodText) against \(method)")
                }
                if !call.path.elementsEqual(path.utf8) {
                    found.append("path: \(String(decoding: call.path, as: UTF8.self)) against \(path)")
                }
                return found
            }
        case .question(let text):
            // It was read before, when it was made.
            guard let question = try? Self.question(text) else { return { _ in ["no matcher"] } }
            return { question.differences($0) }
        }
    }
}

/// How often a call is wanted.
public struct CallCount: Hashable, Sendable, CustomStringConvertible {
    let least: Int
    let most: Int

    /// Not at all.
    public static let never = CallCount(least: 0, most: 0)
    /// Once, no more and no less.
    public static let once = CallCount(least: 1, most: 1)

    /// So often, no more and no less.
    public static func exactly(_ count: Int) -> CallCount { CallCount(least: count, most: count) }
    /// So often or more.
    public static func atLeast(_ count: Int) -> CallCount { CallCount(least: count, most: .max) }
    /// So often or less.
    public static func atMost(_ count: Int) -> CallCount { CallCount(least: 0, most: count) }

    func contains(_ count: Int) -> Bool { count >= least && count <= most }

    /// In words.
    public var description: String {
        if least == most { return least == 0 ? "none" : "exactly \(least)" }
        if most == .max { return "at least \(least)" }
        return least == 0 ? "at most \(most)" : "\(least) to \(most)"
    }
}

extension PushSim {
    /// Whether the calls so far are as wanted.
    /// - Returns: nil, or what was asked, what was there, and the three nearest calls with what differs in each.
    public func unsatisfied(_ matcher: CallMatcher, _ count: CallCount = .atLeast(1)) -> String? {
        let (all, evicted, isOn) = service.defaultScope.run {
            ($0.journal.entries, $0.journal.evicted, $0.journal.isOn)
        }
        guard isOn else { return "The journal is off (option journal.bytes), so that no call is known." }
        let entries = all.filter { $0.attempt == nil }
        let differences = matcher.differences
        let matching = entries.filter { differences($0.call).isEmpty }
        let found = matching.count
        // What has left the journal may have been more of them.
        if count.contains(found), evicted == 0 || count.most == .max { return nil }
        var lines = ["Wanted \(count) of \(matcher), found \(found) among \(entries.count) calls."]
        if evicted > 0 {
            lines.append("Inconclusive: \(evicted) older calls have left the journal (option journal.bytes).")
        }
        if found > count.most {
            for entry in matching.prefix(10) { lines.append("  \(RecordedCall(entry))") }
            return lines.joined(separator: "\n")
        }
        let near = entries.map { ($0, differences($0.call)) }.filter { !$0.1.isEmpty }
            .sorted { ($0.1.count, $0.0.index) < ($1.1.count, $1.0.index) }.prefix(3)
        for (entry, differences) in near {
            lines.append("  #\(entry.index): \(differences.joined(separator: "; "))")
        }
        if entries.isEmpty { lines.append("No call has arrived: does the client use the URL of this simulation?") }
        return lines.joined(separator: "\n")
    }

    /// The same, once the calls are as wanted, or after so long.
    /// - Parameter within: how long to wait for them, in real time.
    public func unsatisfied(
        _ matcher: CallMatcher, _ count: CallCount = .atLeast(1), within: Duration
    ) async -> String? {
        if unsatisfied(matcher, count) == nil { return nil }
        let wait = CallWait(service.defaultScope) { [self] in unsatisfied(matcher, count) == nil }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                wait.begin(within.boundedNanoseconds) { continuation.resume() }
            }
        } onCancel: {
            wait.end()
        }
        return unsatisfied(matcher, count)
    }
}
