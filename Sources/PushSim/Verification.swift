import PushSimSimulation
import PushSimWire

/// Which calls a verification counts.
public struct CallMatcher: Hashable, Sendable, CustomStringConvertible {
    /// The method, with its case.
    public let method: String
    /// The raw path.
    public let path: String

    /// Makes a matcher.
    public init(method: String, path: String) {
        self.method = method
        self.path = path
    }

    /// GET on a path.
    public static func get(_ path: String) -> CallMatcher { CallMatcher(method: "GET", path: path) }
    /// POST on a path.
    public static func post(_ path: String) -> CallMatcher { CallMatcher(method: "POST", path: path) }
    /// DELETE on a path.
    public static func delete(_ path: String) -> CallMatcher { CallMatcher(method: "DELETE", path: path) }

    /// The request line without its version.
    public var description: String { "\(method) \(path)" }

    func differences(_ entry: JournalEntry) -> [String] {
        var found: [String] = []
        if !entry.call.method.elementsEqual(method.utf8) {
            found.append("method: \(entry.call.head.methodText) against \(method)")
        }
        if !entry.call.path.elementsEqual(path.utf8) {
            found.append("path: \(String(decoding: entry.call.path, as: UTF8.self)) against \(path)")
        }
        return found
    }
}

/// How often a call is wanted.
public struct CallCount: Hashable, Sendable, CustomStringConvertible {
    let least: Int
    let most: Int

    /// So often, no more and no less.
    public static func exactly(_ count: Int) -> CallCount { CallCount(least: count, most: count) }
    /// So often or more.
    public static func atLeast(_ count: Int) -> CallCount { CallCount(least: count, most: .max) }
    /// So often or less.
    public static func atMost(_ count: Int) -> CallCount { CallCount(least: 0, most: count) }

    func contains(_ count: Int) -> Bool { count >= least && count <= most }

    /// In words.
    public var description: String {
        if least == most { return "exactly \(least)" }
        return most == .max ? "at least \(least)" : "at most \(most)"
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
        let found = entries.filter { matcher.differences($0).isEmpty }.count
        // What has left the journal may have been more of them.
        if count.contains(found), evicted == 0 || count.most == .max { return nil }
        var lines = ["Wanted \(count) of \(matcher), found \(found) among \(entries.count) calls."]
        if evicted > 0 {
            lines.append("Inconclusive: \(evicted) older calls have left the journal (option journal.bytes).")
        }
        let near = entries.map { ($0, matcher.differences($0)) }.filter { !$0.1.isEmpty }
            .sorted { ($0.1.count, $0.0.index) < ($1.1.count, $1.0.index) }.prefix(3)
        for (entry, differences) in near {
            lines.append("  #\(entry.index): \(differences.joined(separator: "; "))")
        }
        if entries.isEmpty { lines.append("No call has arrived: does the client use the URL of this simulation?") }
        return lines.joined(separator: "\n")
    }
}
