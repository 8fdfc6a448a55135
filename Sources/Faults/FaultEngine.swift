import PushSimJSONText
package import PushSimSimulation
import PushSimWire

/// Decides, once for each call, what goes wrong with it.
///
/// The outcome is a pure function of seed, seed name, rule, key and the call's number under that key: threads, load and
/// the order of other keys do not change it (contract faults.md, "Determinism").
package final class FaultEngine: Decider {
    package let profile: Profile
    private let regexes: [Regex<AnyRegexOutput>?]
    private var counters: [[Key: Counter]]
    private var states: [String: String] = [:]
    package private(set) var start: Int64
    /// By the backend's name: the rules that may be about its deliveries.
    private var deliveryRules: [String: [Int]] = [:]
    /// By the place's number: the rules that may be about it.
    private var candidates: [Candidates?] = []

    private typealias Key = [UInt8]

    private struct Counter {
        var calls = 0
        var firings = 0
        /// Of the quota's window: which one, and how many calls it has had.
        var window: Int64 = -1
        var callsInWindow = 0
    }

    private struct Candidates {
        var rules: [Int] = []
        var needsBody = false
    }

    /// - Parameter now: when the profile starts, on the simulation clock.
    package init(_ profile: Profile, now: Int64) {
        self.profile = profile
        regexes = profile.rules.map { rule in
            guard let pattern = rule.on.path?.regex else { return nil }
            // The reader has compiled it before; a pattern that does not compile matches nothing.
            return (try? Regex(pattern))?.matchingSemantics(.unicodeScalar)
        }
        counters = Array(repeating: [:], count: profile.rules.count)
        start = now
    }

    package var source: [UInt8]? { profile.source }
    package var profileName: String { profile.name }

    package func reset(now: Int64) {
        counters = Array(repeating: [:], count: profile.rules.count)
        states = [:]
        start = now
    }

    package func needsBody(_ call: Call) -> Bool { candidates(call.place).needsBody }

    /// A profile's own seed goes before the scope's.
    package var seed: UInt64? { profile.seed }

    private func own(_ draws: Draws) -> Draws {
        profile.seed.map { Draws(seed: $0, seedName: draws.seedName) } ?? draws
    }

    package func decide(_ call: Call, now: Int64, draws: Draws) -> Decision? {
        let draws = own(draws)
        var current: Open?
        for index in candidates(call.place).rules {
            let rule = profile.rules[index]
            guard matches(rule.on, index, call) else { continue }
            let key = Self.key(rule.when.per, call)
            count(rule, index, key, now)
            guard current?.isOpen ?? true else { continue }
            let outcome = holds(rule, index, key, now, draws)
            guard outcome.holds else { continue }
            fire(rule, index, key)
            var open = current ?? Open()
            open.rules.append(rule.id)
            open.draw = open.draw ?? outcome.draw
            open.actions.merge(rule.then)
            open.isOpen = rule.continues
            current = open
        }
        return current.map { Decision(rules: $0.rules, draw: $0.draw, actions: $0.actions) }
    }

    package func decide(_ delivery: Delivery, isRetry: Bool, now: Int64, draws: Draws) -> DeliveryDecision? {
        let draws = own(draws)
        var decision: DeliveryDecision?
        var isOpen = true
        for index in rules(aboutDeliveriesOf: delivery.backend) {
            let rule = profile.rules[index]
            if isRetry, !rule.deliver.isAboutAttempts { continue }
            guard Self.matches(rule.on, delivery) else { continue }
            let key = Self.key(rule.when.per, delivery)
            count(rule, index, key, now)
            guard isOpen else { continue }
            // A record fault never fires on a raw registration.
            if rule.deliver.record != nil, delivery.transport != "webpush" { continue }
            let outcome = holds(rule, index, key, now, draws)
            guard outcome.holds else { continue }
            fire(rule, index, key)
            var fired = decision ?? DeliveryDecision()
            fired.rules.append(rule.id)
            fired.actions.merge(isRetry ? rule.deliver.ofAttempt : rule.deliver)
            decision = fired
            isOpen = rule.continues
        }
        return decision
    }

    private func rules(aboutDeliveriesOf backend: String) -> [Int] {
        if let known = deliveryRules[backend] { return known }
        let found = profile.rules.indices.filter { index in
            let on = profile.rules[index].on
            return on.side == .delivery && (on.backend == nil || on.backend == backend)
        }
        deliveryRules[backend] = found
        return found
    }

    private static func matches(_ on: Matcher, _ delivery: Delivery) -> Bool {
        if let kind = on.kind, delivery.kind != kind { return false }
        if let transport = on.transport, delivery.transport != transport { return false }
        if let token = on.token, !token.matches(delivery.token) { return false }
        if let account = on.account, delivery.account.map({ account.matches($0) }) != true { return false }
        if let topic = on.topic, delivery.topic.map({ topic.matches($0) }) != true { return false }
        return true
    }

    private static func key(_ per: Condition.Per, _ delivery: Delivery) -> Key {
        switch per {
        case .rule, .header: []
        case .token: delivery.token
        case .account: delivery.account ?? []
        case .subscriber: delivery.subscriber ?? delivery.deviceID ?? []
        }
    }

    private struct Open {
        var rules: [String] = []
        var draw: Double?
        var actions = Actions()
        var isOpen = true
    }

    /// The outcomes of the first calls that a rule's `on` matches under one key.
    package func explain(
        _ index: Int, key: String, calls: Int, draws: Draws
    ) -> [(call: Int, fires: Bool, draw: Double?)] {
        let rule = profile.rules[index]
        var firings = 0
        return (1...max(1, calls)).map { call in
            if let times = rule.when.times, firings >= times { return (call, false, nil) }
            let moment = Moment(
                rule: rule.id, key: Array(key.utf8), call: call, callsInWindow: call, elapsed: rule.when.after ?? 0,
                states: [:], draws: draws)
            let outcome = moment.holds(rule.when)
            if outcome.holds { firings += 1 }
            return (call, outcome.holds, outcome.draw)
        }
    }

    private func candidates(_ place: Place) -> Candidates {
        if place.number < candidates.count, let known = candidates[place.number] { return known }
        var found = Candidates()
        for (index, rule) in profile.rules.enumerated() where Self.isAbout(place, rule.on) {
            found.rules.append(index)
            if rule.on.needsBody || rule.when.needsBody { found.needsBody = true }
        }
        while candidates.count <= place.number { candidates.append(nil) }
        candidates[place.number] = found
        return found
    }

    private static func isAbout(_ place: Place, _ on: Matcher) -> Bool {
        guard on.side == .request else { return false }
        if let wanted = on.backend, wanted != place.backend?.name { return false }
        if let wanted = on.route, wanted != place.route { return false }
        // A path that no backend owns is answered by rules that say what to answer there.
        return place.backend != nil || on.path != nil
    }

    private func matches(_ on: Matcher, _ index: Int, _ call: Call) -> Bool {
        let facts = on.needsFacts ? call.facts : Facts()
        if let method = on.method, !call.method.elementsEqual(method) { return false }
        if let path = on.path, !matchesPath(path, index, call.path) { return false }
        if let account = on.account, facts.account.map({ account.matches($0) }) != true { return false }
        if let token = on.token, facts.token.map({ token.matches($0) }) != true { return false }
        if let topic = on.topic, facts.topic.map({ topic.matches($0) }) != true { return false }
        if let kind = on.kind, facts.kind != kind { return false }
        if let transport = on.transport, facts.transport != transport { return false }
        for header in on.header where !call.head.values(header.name).contains(where: { header.value.matches($0) }) {
            return false
        }
        if !on.query.isEmpty, !matchesQuery(on, call) { return false }
        if let body = on.body, !Self.contains(body, call) { return false }
        return true
    }

    private func matchesPath(_ pattern: PathPattern, _ index: Int, _ path: ArraySlice<UInt8>) -> Bool {
        guard pattern.regex != nil else { return pattern.matches(path) }
        guard let regex = regexes[index] else { return false }
        return (try? regex.firstMatch(in: String(decoding: path, as: UTF8.self))) ?? nil != nil
    }

    private func matchesQuery(_ on: Matcher, _ call: Call) -> Bool {
        guard let query = call.query, let pairs = Percent.form(query) else { return false }
        return on.query.allSatisfy { wanted in
            pairs.contains { $0.name == wanted.name && wanted.value.matches($0.value) }
        }
    }

    private static func contains(_ wanted: JSONDocument, _ call: Call) -> Bool { missing(wanted, call) == nil }

    /// What a body lacks of what is wanted; nil where it lacks nothing. A form body counts as an object of texts.
    static func missing(_ wanted: JSONDocument, _ call: Call) -> String? {
        guard let bytes = call.plainBody(), let body = document(bytes) else { return "is neither JSON nor a form" }
        return JSONComparison.missing(wanted.root, in: body.root)?.description
    }

    private static func document(_ body: [UInt8]) -> JSONDocument? {
        if let document = try? JSONDocument(body) { return document }
        guard let pairs = Percent.form(body), !pairs.isEmpty else { return nil }
        return try? JSONDocument(JSON.object(pairs.map { JSON.Member($0.name.text, .text($0.value)) }).bytes)
    }

    /// For a pattern that is not asked often: an expression is compiled anew.
    static func matches(_ pattern: PathPattern, _ path: ArraySlice<UInt8>) -> Bool {
        guard let expression = pattern.regex else { return pattern.matches(path) }
        guard let regex = (try? Regex(expression))?.matchingSemantics(.unicodeScalar) else { return false }
        return (try? regex.firstMatch(in: String(decoding: path, as: UTF8.self))) ?? nil != nil
    }

    private static func key(_ per: Condition.Per, _ call: Call) -> Key {
        switch per {
        case .rule: []
        case .token: call.facts.token ?? []
        case .account: call.facts.account ?? []
        case .subscriber: call.facts.subscriber ?? []
        case .header(let name): call.head.values(name).first ?? []
        }
    }

    private func count(_ rule: Profile.Rule, _ index: Int, _ key: Key, _ now: Int64) {
        counters[index][key, default: Counter()].calls += 1
        guard rule.when.countsWindows else { return }
        // One rule has one window: that of its first quota.
        let window = Self.quota(rule.when).map { (now - start) / $0.window } ?? 0
        if counters[index][key]?.window != window {
            counters[index][key]?.window = window
            counters[index][key]?.callsInWindow = 0
        }
        counters[index][key]?.callsInWindow += 1
    }

    private static func quota(_ when: Condition) -> (limit: Int, window: Int64)? {
        when.quota ?? (when.all + when.any + when.not).lazy.compactMap { quota($0) }.first
    }

    private func fire(_ rule: Profile.Rule, _ index: Int, _ key: Key) {
        counters[index][key, default: Counter()].firings += 1
        for move in rule.setStates { states[move.name] = move.value }
    }

    private func holds(
        _ rule: Profile.Rule, _ index: Int, _ key: Key, _ now: Int64, _ draws: Draws
    ) -> (holds: Bool, draw: Double?) {
        let counter = counters[index][key] ?? Counter()
        if let times = rule.when.times, counter.firings >= times { return (false, nil) }
        let moment = Moment(
            rule: rule.id, key: key, call: counter.calls, callsInWindow: counter.callsInWindow,
            elapsed: now - start, states: states, draws: draws)
        return moment.holds(rule.when)
    }
}

/// All that a condition is judged by.
private struct Moment {
    let rule: String
    let key: [UInt8]
    let call: Int
    let callsInWindow: Int
    let elapsed: Int64
    let states: [String: String]
    let draws: Draws

    func holds(_ when: Condition) -> (holds: Bool, draw: Double?) {
        if let calls = when.calls, !calls.contains(call) { return (false, nil) }
        if let after = when.after, elapsed < after { return (false, nil) }
        if let until = when.until, elapsed >= until { return (false, nil) }
        if let quota = when.quota, callsInWindow <= quota.limit { return (false, nil) }
        for state in when.states where states[state.name] != state.value { return (false, nil) }
        var draw: Double?
        for part in when.all {
            let outcome = holds(part)
            draw = draw ?? outcome.draw
            if !outcome.holds { return (false, draw) }
        }
        for part in when.not {
            let outcome = holds(part)
            draw = draw ?? outcome.draw
            if outcome.holds { return (false, draw) }
        }
        if !when.any.isEmpty {
            let outcomes = when.any.map { holds($0) }
            draw = draw ?? outcomes.lazy.compactMap(\.draw).first
            if !outcomes.contains(where: \.holds) { return (false, draw) }
        }
        guard let probability = when.probability else { return (true, draw) }
        let own = draws.unit("fault", [Array(rule.utf8), key], index: call)
        return (own < probability, own)
    }
}
