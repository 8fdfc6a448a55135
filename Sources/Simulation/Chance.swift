/// What a rule draws by for one call: nothing else has a say in what the call comes to (contract faults.md,
/// "Determinism").
package struct Chance: Sendable {
    package let draws: Draws
    package let rule: String
    package let key: [UInt8]
    /// Which call of this key it is for the rule, from 1.
    package let call: Int

    package init(_ draws: Draws, rule: String, key: [UInt8], call: Int) {
        self.draws = draws
        self.rule = rule
        self.key = key
        self.call = call
    }

    /// The natural key of each draw.
    package var parts: [[UInt8]] { [Array(rule.utf8), key, Array(String(call).utf8)] }
}
