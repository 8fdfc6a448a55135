import PushSimSimulation
import PushSimWire

/// A rule of the running profile with its counters. A class, so that going through many rules copies none.
final class RunningRule {
    private struct Counter {
        var calls = 0
        var firings = 0
        /// Of the quota's window: which one, and how many calls it has had.
        var window: Int64 = -1
        var callsInWindow = 0
    }

    let rule: Profile.Rule
    private let regex: Regex<AnyRegexOutput>?
    private let asks: Asks
    /// Of a path pattern: what every path begins with that matches.
    let pathPrefix: [UInt8]
    let headerNames: [[UInt8]]
    private let quota: (limit: Int, window: Int64)?
    /// Counted by the rule alone, without a key.
    private let isUnkeyed: Bool
    /// Counted by the rule alone, and by no quota.
    private let isPlain: Bool
    private let calls: CallPattern?
    /// No call before this one fires.
    let firstCall: Int
    let after: Int64
    let until: Int64
    private let account: TextPattern?
    private let token: TextPattern?
    private var only = Counter()
    private var counters: [ByteKey: Counter] = [:]

    init(_ rule: Profile.Rule) {
        self.rule = rule
        // The reader has compiled it before; a pattern that does not compile matches nothing.
        regex = rule.on.path?.regex.flatMap { try? Regex($0) }?.matchingSemantics(.unicodeScalar)
        asks = Asks(rule.on)
        pathPrefix = rule.on.path?.prefix ?? []
        headerNames = rule.on.header.map { Array($0.name.utf8) }
        calls = rule.when.calls
        after = rule.when.after ?? .min
        until = rule.when.until ?? .max
        account = rule.on.account
        token = rule.on.token
        quota = Self.quota(rule.when)
        isUnkeyed = rule.when.per == .rule
        isPlain = isUnkeyed && quota == nil
        firstCall = rule.when.calls?.first ?? 0
    }

    func forget() {
        only = Counter()
        counters = [:]
    }

    /// One rule has one window: that of its first quota.
    private static func quota(_ when: Condition) -> (limit: Int, window: Int64)? {
        when.quota ?? (when.all + when.any + when.not).lazy.compactMap { quota($0) }.first
    }

    // MARK: on

    /// What `on` asks, so that most rules are passed by without a look at their parts.
    private struct Asks: OptionSet {
        let rawValue: UInt8
        static let method = Asks(rawValue: 1)
        static let path = Asks(rawValue: 2)
        static let facts = Asks(rawValue: 4)
        static let header = Asks(rawValue: 8)
        static let query = Asks(rawValue: 16)
        static let body = Asks(rawValue: 32)
        /// More of the facts than account and token.
        static let otherFacts = Asks(rawValue: 64)

        init(rawValue: UInt8) { self.rawValue = rawValue }

        init(_ on: Matcher) {
            self = []
            if on.method != nil { insert(.method) }
            if on.path != nil { insert(.path) }
            if on.needsFacts { insert(.facts) }
            if on.topic != nil || on.kind != nil || on.transport != nil { insert(.otherFacts) }
            if !on.header.isEmpty { insert(.header) }
            if !on.query.isEmpty { insert(.query) }
            if on.body != nil { insert(.body) }
        }
    }

    func matches(_ call: Call) -> Bool {
        if asks.isEmpty { return true }
        if asks.contains(.method), let method = rule.on.method, !call.head.equals(call.head.method, method) {
            return false
        }
        if asks.contains(.path) {
            guard call.head.begins(call.pathSpan, pathPrefix), let path = rule.on.path, matches(path, call) else {
                return false
            }
        }
        if asks.contains(.facts), !matches(call.facts) { return false }
        if asks.contains(.header), !matchesHeaders(call) { return false }
        if asks.contains(.query), !matchesQuery(call) { return false }
        if asks.contains(.body), let body = rule.on.body, CallMatching.missing(body, call) != nil { return false }
        return true
    }

    private func matchesHeaders(_ call: Call) -> Bool {
        for name in headerNames where !call.head.has(name) { return false }
        return rule.on.header.allSatisfy { header in
            call.head.values(header.name).contains { header.value.matches($0) }
        }
    }

    private func matches(_ facts: Facts) -> Bool {
        if let account {
            guard let own = facts.account, account.matches(own) else { return false }
        }
        if let token {
            guard let own = facts.token else { return false }
            if !token.matches(own), !facts.otherTokens.contains(where: token.matches) { return false }
        }
        guard asks.contains(.otherFacts) else { return true }
        if let topic = rule.on.topic, !Self.isAbout(topic, facts.topic, facts.conditionTopics) { return false }
        if let kind = rule.on.kind, facts.kind != kind { return false }
        if let transport = rule.on.transport, facts.transport != transport { return false }
        return true
    }

    private static func isAbout(_ wanted: TextPattern, _ topic: [UInt8]?, _ others: [[UInt8]]) -> Bool {
        topic.map { wanted.matches($0) } ?? others.contains { wanted.matches($0) }
    }

    private func matches(_ pattern: PathPattern, _ call: Call) -> Bool {
        guard pattern.regex != nil else { return pattern.matches(call.head, call.pathSpan) }
        guard let regex else { return false }
        return (try? regex.firstMatch(in: call.head.text(call.pathSpan))) ?? nil != nil
    }

    private func matchesQuery(_ call: Call) -> Bool {
        guard let query = call.query, let pairs = Percent.form(query) else { return false }
        return rule.on.query.allSatisfy { wanted in
            pairs.contains { $0.name == wanted.name && wanted.value.matches($0.value) }
        }
    }

    func matches(_ delivery: Delivery) -> Bool {
        let on = rule.on
        if let kind = on.kind, delivery.kind != kind { return false }
        if let transport = on.transport, delivery.transport != transport { return false }
        if let token = on.token, !token.matches(delivery.token) { return false }
        if let account = on.account, delivery.account.map({ account.matches($0) }) != true,
            !delivery.sessions.contains(where: { account.matches($0) })
        {
            return false
        }
        if let topic = on.topic, !Self.isAbout(topic, delivery.topic, delivery.conditionTopics) { return false }
        return true
    }

    // MARK: when

    func key(_ call: Call) -> [UInt8] {
        switch rule.when.per {
        case .rule: []
        case .token: call.facts.token ?? []
        case .account: call.facts.account ?? []
        case .subscriber: call.facts.subscriber ?? []
        case .header(let name): call.head.values(name).first ?? []
        }
    }

    func key(_ delivery: Delivery) -> [UInt8] {
        switch rule.when.per {
        case .rule, .header: []
        case .token: delivery.token
        case .account: delivery.account ?? []
        case .subscriber: delivery.subscriber ?? delivery.deviceID ?? []
        }
    }

    /// Nothing is asked of a call but its number and time.
    var isBare: Bool { asks.isEmpty && isPlain }

    func count(to number: Int) { only.calls = number }

    func mayHold(_ call: Call, _ elapsed: Int64) -> Bool {
        // The usual rule has neither keys nor a quota.
        guard isPlain else { return count(key(call), elapsed) }
        only.calls += 1
        if elapsed < after || elapsed >= until || only.calls < firstCall { return false }
        return calls.map { $0.contains(only.calls) } ?? true
    }

    /// Counts a call that `on` matches.
    /// - Parameter elapsed: nanoseconds since the profile's start.
    /// - Returns: false where the call's number or the time alone say that the rule does not hold.
    func count(_ key: [UInt8], _ elapsed: Int64) -> Bool {
        let number: Int
        if isUnkeyed {
            Self.count(&only, quota, elapsed)
            number = only.calls
        } else {
            Self.count(&counters[ByteKey(key), default: Counter()], quota, elapsed)
            number = counters[ByteKey(key)]?.calls ?? 0
        }
        if elapsed < after || elapsed >= until { return false }
        return calls.map { $0.contains(number) } ?? true
    }

    private static func count(_ counter: inout Counter, _ quota: (limit: Int, window: Int64)?, _ elapsed: Int64) {
        counter.calls += 1
        guard let quota else { return }
        let window = elapsed / quota.window
        if counter.window != window {
            counter.window = window
            counter.callsInWindow = 0
        }
        counter.callsInWindow += 1
    }

    /// Which call of the key the last one was.
    func number(_ key: [UInt8]) -> Int { isUnkeyed ? only.calls : counters[ByteKey(key)]?.calls ?? 0 }

    func fire(_ key: [UInt8]) {
        if isUnkeyed { only.firings += 1 } else { counters[ByteKey(key), default: Counter()].firings += 1 }
    }

    func holds(
        _ key: [UInt8], _ elapsed: Int64, _ states: [String: String], _ draws: Draws
    ) -> (holds: Bool, draw: Double?) {
        let counter = isUnkeyed ? only : counters[ByteKey(key)] ?? Counter()
        if let times = rule.when.times, counter.firings >= times { return (false, nil) }
        let moment = Moment(
            rule: rule.id, key: key, call: counter.calls, callsInWindow: counter.callsInWindow, elapsed: elapsed,
            states: states, draws: draws)
        return moment.holds(rule.when)
    }
}
