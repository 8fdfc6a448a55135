package import PushSimJSONText

/// What the fault engine decided for one call: the rules that fired and what they want done.
package final class Decision: Sendable {
    /// In the order in which they acted.
    package let rules: [String]
    /// The number drawn, where a probability was asked.
    package let draw: Double?
    package let actions: Actions

    package init(rules: [String], draw: Double?, actions: Actions) {
        self.rules = rules
        self.draw = draw
        self.actions = actions
    }
}

/// When something was decided: under which profile of the scope, and as which decision.
package struct Decided: Hashable, Sendable {
    package let profile: Int
    package let number: Int
}

extension Decision {
    package func json(call: Int) -> JSON {
        [
            "call": .int(call), "rules": .array(rules.map { .string($0) }),
            "draw": draw.map { .number(String($0)) } ?? .null,
        ]
    }
}

/// What was decided for one delivery, or for one more attempt at it.
package struct DeliveryDecision: Sendable {
    package var rules: [String] = []
    package var actions = DeliveryActions()

    package init() {}
}

/// What decides about faults. It is part of the world of its scope, and asked under the scope's lock.
package protocol Decider: AnyObject {
    /// Whether the decision for this call can only fall once the body is there.
    func needsBody(_ call: Call) -> Bool
    /// Decides, once for each call.
    func decide(_ call: Call, now: Int64, draws: Draws) -> Decision?
    /// Decides on a delivery.
    /// - Parameter isRetry: one more attempt: then only what concerns attempts is decided.
    func decide(_ delivery: Delivery, isRetry: Bool, now: Int64, draws: Draws) -> DeliveryDecision?
    var profileName: String { get }
    /// The profile's own.
    var seed: UInt64? { get }
    /// When the profile was loaded, or the scope reset, on the simulation clock.
    var start: Int64 { get }
    /// Forgets counters, quotas and states; the profile stays.
    func reset(now: Int64)
    /// The profile's text, for GET `/profile`; nil where there is none.
    var source: [UInt8]? { get }
}
