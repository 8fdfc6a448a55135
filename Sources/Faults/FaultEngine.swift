import PushSimJSONText
package import PushSimSimulation
import PushSimWire

/// Decides, once for each call, what goes wrong with it.
///
/// The outcome is a pure function of seed, seed name, rule, key and the call's number under that key: threads, load and
/// the order of other keys do not change it (contract faults.md, "Determinism").
package final class FaultEngine: Decider {
    package let profile: Profile
    private let rules: [RunningRule]
    private var states: [String: String] = [:]
    package private(set) var start: Int64
    /// By the backend's name: the rules that may be about its deliveries.
    private var deliveryRules: [String: [RunningRule]] = [:]
    /// By the place's number: the rules that may be about it.
    private var candidates: [RuleFilter?] = []
    /// By the rule's number: the calls of those that ask nothing of a call.
    private var bareCalls: [Int]

    /// - Parameter now: when the profile starts, on the simulation clock.
    package init(_ profile: Profile, now: Int64) {
        self.profile = profile
        rules = profile.rules.map(RunningRule.init)
        start = now
        bareCalls = Array(repeating: 0, count: rules.count)
    }

    package var source: [UInt8]? { profile.source }
    package var profileName: String { profile.name }
    /// A profile's own seed goes before the scope's.
    package var seed: UInt64? { profile.seed }

    package func reset(now: Int64) {
        for rule in rules { rule.forget() }
        bareCalls = Array(repeating: 0, count: rules.count)
        states = [:]
        start = now
    }

    package func needsBody(_ call: Call) -> Bool { candidates(call.place).needsBody }

    private func own(_ draws: Draws) -> Draws {
        profile.seed.map { Draws(seed: $0, seedName: draws.seedName) } ?? draws
    }

    // MARK: calls

    package func decide(_ call: Call, now: Int64, draws: Draws) -> Decision? {
        var rules: [String] = []
        var draw: Double?
        var actions = Actions()
        var isOpen = true
        let elapsed = now - start
        let filter = candidates(call.place)
        let glance = filter.glance(call)
        // One access for all of them: each is looked after at run time.
        bareCalls.withUnsafeMutableBufferPointer { counts in
            filter.entries.withUnsafeBufferPointer { entries in
                for entry in entries {
                    if entry.isBare {
                        counts[entry.rule] += 1
                        let number = counts[entry.rule]
                        guard number >= entry.firstCall, elapsed >= entry.after, elapsed < entry.until, isOpen else {
                            continue
                        }
                        self.rules[entry.rule].count(to: number)
                    } else if !entry.mayBe(glance) {
                        continue
                    }
                    let running = self.rules[entry.rule]
                    guard entry.isBare || running.matches(call) && running.mayHold(call, elapsed), isOpen else {
                        continue
                    }
                    let key = running.key(call)
                    let draws = own(draws)
                    let outcome = running.holds(key, elapsed, states, draws)
                    guard outcome.holds else { continue }
                    fire(running, key)
                    rules.append(running.rule.id)
                    draw = draw ?? outcome.draw
                    actions.merge(
                        running.rule.then, Chance(draws, rule: running.rule.id, key: key, call: running.number(key)))
                    isOpen = running.rule.continues
                }
            }
        }
        return rules.isEmpty ? nil : Decision(rules: rules, draw: draw, actions: actions)
    }

    private func fire(_ running: RunningRule, _ key: [UInt8]) {
        running.fire(key)
        for move in running.rule.setStates { states[move.name] = move.value }
    }

    private func candidates(_ place: Place) -> RuleFilter {
        if place.number < candidates.count, let known = candidates[place.number] { return known }
        let found = RuleFilter(
            rules.enumerated().filter { Self.isAbout(place, $0.element.rule.on) }.map { ($0.offset, $0.element) })
        while candidates.count <= place.number { candidates.append(nil) }
        candidates[place.number] = found
        return found
    }

    private static func isAbout(_ place: Place, _ on: Matcher) -> Bool {
        guard on.side == .request else { return false }
        // A route has one method, so that a rule for another is never about it.
        if let method = on.method, let own = place.method, own != method { return false }
        if let wanted = on.backend, wanted != place.backend?.name { return false }
        if let wanted = on.route, wanted != place.route { return false }
        // A path that no backend owns is answered by rules that say what to answer there.
        return place.backend != nil || on.path != nil
    }

    // MARK: deliveries

    package func decide(_ delivery: Delivery, isRetry: Bool, now: Int64, draws: Draws) -> DeliveryDecision? {
        let draws = own(draws)
        var decision: DeliveryDecision?
        var isOpen = true
        for running in rules(aboutDeliveriesOf: delivery.backend) where running.matches(delivery) {
            let actions = running.rule.deliver
            if isRetry, !actions.isAboutAttempts { continue }
            let key = running.key(delivery)
            guard running.count(key, now - start), isOpen else { continue }
            // A record fault never fires on a raw registration.
            if actions.record != nil, delivery.transport != "webpush" { continue }
            // Nor a fault of rings on what is none.
            if actions.ring != nil, delivery.kind != "ring" { continue }
            guard running.holds(key, now - start, states, draws).holds else { continue }
            fire(running, key)
            var fired = decision ?? DeliveryDecision()
            fired.rules.append(running.rule.id)
            fired.actions.merge(
                isRetry ? actions.ofAttempt : actions,
                Chance(draws, rule: running.rule.id, key: key, call: running.number(key)))
            decision = fired
            isOpen = running.rule.continues
        }
        return decision
    }

    private func rules(aboutDeliveriesOf backend: String) -> [RunningRule] {
        if let known = deliveryRules[backend] { return known }
        let found = rules.filter { running in
            let on = running.rule.on
            return on.side == .delivery && (on.backend == nil || on.backend == backend)
        }
        deliveryRules[backend] = found
        return found
    }

    // MARK: explaining

    package struct Outcome: Sendable {
        package let call: Int
        package let fires: Bool
        package let draw: Double?
        /// Nanoseconds that the answer waits, where the rule delays it.
        package let delay: Int64?
    }

    /// The outcomes of the first calls that a rule's `on` matches under one key, where no earlier rule decides.
    package func explain(_ index: Int, key: String, calls: Int, draws: Draws) -> [Outcome] {
        let rule = profile.rules[index]
        let key = Array(key.utf8)
        var firings = 0
        return (0..<calls).map { number in
            let call = number + 1
            if let times = rule.when.times, firings >= times {
                return Outcome(call: call, fires: false, draw: nil, delay: nil)
            }
            let moment = Moment(
                rule: rule.id, key: key, call: call, callsInWindow: call, elapsed: rule.when.after ?? 0,
                states: [:], draws: draws)
            let outcome = moment.holds(rule.when)
            if outcome.holds { firings += 1 }
            let chance = Chance(draws, rule: rule.id, key: key, call: call)
            return Outcome(
                call: call, fires: outcome.holds, draw: outcome.draw,
                delay: outcome.holds ? rule.then.delay?.draw(chance) : nil)
        }
    }
}
