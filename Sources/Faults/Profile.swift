package import PushSimJSONText
package import PushSimSimulation
import PushSimWire

/// A fault profile (contract faults.md): rules, read from top to bottom.
package struct Profile: Sendable {
    package var name: String
    package var about: String?
    package var seed: UInt64?
    package var rules: [Rule]
    /// The text it was read from.
    package var source: [UInt8]

    /// One rule: which calls it is about, when it acts, and what it does.
    package struct Rule: Sendable {
        package var id: String
        package var on: Matcher
        package var when: Condition
        package var then = Actions()
        package var deliver = DeliveryActions()
        /// Whether the search goes on after it has acted.
        package var continues = false
        /// Named states that it moves, once it fires.
        package var setStates: [(name: String, value: String?)] = []

        /// Whether it makes a listener stop listening.
        package var refuses: Bool {
            if case .refuse = then.connection { true } else { false }
        }
    }
}

/// `on`: all that is given must hold.
package struct Matcher: Sendable {
    package enum Side: String, Sendable, CaseIterable {
        case request, delivery
    }

    package var side = Side.request
    package var backend: String?
    package var route: String?
    package var method: [UInt8]?
    package var path: PathPattern?
    package var query: [(name: [UInt8], value: TextPattern)] = []
    package var header: [(name: String, value: TextPattern)] = []
    /// A value that the body must contain.
    package var body: JSONDocument?
    package var account: TextPattern?
    package var token: TextPattern?
    package var topic: TextPattern?
    package var kind: String?
    package var transport: String?

    package init() {}

    /// Whether it asks what the call is about.
    var needsFacts: Bool { account != nil || token != nil || topic != nil || kind != nil || transport != nil }

    /// Whether it can only be judged with the body there: some facts of a call stand in its body.
    var needsBody: Bool { body != nil || token != nil || topic != nil || kind != nil || transport != nil }
}

/// `when`: which of the calls that `on` picks.
package struct Condition: Sendable {
    package enum Per: Hashable, Sendable {
        case rule, token, account, subscriber
        case header(String)
    }

    package var calls: CallPattern?
    package var probability: Double?
    /// Nanoseconds since the profile was loaded.
    package var after: Int64?
    package var until: Int64?
    /// So many calls in a window of so many nanoseconds are let be.
    package var quota: (limit: Int, window: Int64)?
    /// Named states and what each must be; nil is a state that nobody has moved.
    package var states: [(name: String, value: String?)] = []
    package var all: [Condition] = []
    package var any: [Condition] = []
    package var not: [Condition] = []
    package var per = Per.rule
    package var times: Int?

    package init() {}

    var needsBody: Bool { per == .token || per == .subscriber }
}

/// `calls`: `"3"`, `"1-3"`, `"4-"`, `"every 3"`, `"every 3 from 2"`, `"1,4,9"`.
package struct CallPattern: Hashable, Sendable {
    private enum Part: Hashable, Sendable {
        case range(Int, Int)
        case every(Int, from: Int)
    }

    private var parts: [Part] = []

    /// Nil where the text is none of these.
    package init?(_ text: String) {
        let words = text.utf8.split(separator: 32)
        if words.first?.elementsEqual("every".utf8) == true {
            guard words.count == 2 || words.count == 4, let step = Self.number(words[1]) else { return nil }
            var from = step
            if words.count == 4 {
                guard words[2].elementsEqual("from".utf8), let start = Self.number(words[3]) else { return nil }
                from = start
            }
            parts = [.every(step, from: from)]
            return
        }
        for piece in text.utf8.split(separator: 44, omittingEmptySubsequences: false) {
            let ends = piece.split(separator: 45, omittingEmptySubsequences: false).map { $0.drop { $0 == 32 } }
            guard let first = Self.number(ends[0]) else { return nil }
            switch ends.count {
            case 1: parts.append(.range(first, first))
            case 2 where ends[1].isEmpty: parts.append(.range(first, .max))
            case 2:
                guard let last = Self.number(ends[1]), last >= first else { return nil }
                parts.append(.range(first, last))
            default: return nil
            }
        }
    }

    /// No call before this one is of the pattern.
    package var first: Int {
        parts.map { part in
            switch part {
            case .range(let first, _): first
            case .every(_, let from): from
            }
        }.min() ?? 0
    }

    package func contains(_ call: Int) -> Bool {
        var index = 0
        while index < parts.count {
            switch parts[index] {
            case .range(let first, let last): if call >= first, call <= last { return true }
            case .every(let step, let from): if call >= from, (call - from) % step == 0 { return true }
            }
            index += 1
        }
        return false
    }

    /// A number from 1.
    private static func number(_ digits: Substring.UTF8View) -> Int? {
        let trimmed = digits.reversed().drop { $0 == 32 }.reversed()
        guard let value = decimalDigits(trimmed), value > 0 else { return nil }
        return value
    }
}
