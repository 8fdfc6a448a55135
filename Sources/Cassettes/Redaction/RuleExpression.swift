import PushSimWire

/// A rule's regular expression: what it finds, or its first group, is a secret.
struct RuleExpression {
    /// What placeholders for it are called.
    let kind: String
    private let regex: Regex<AnyRegexOutput>

    /// Nil for a rule of another kind.
    init?(_ rule: RedactionRule) {
        guard case .regex(let text) = rule.place, let regex = try? Regex(text) else { return nil }
        kind = rule.kind
        // By characters, CR LF would be one and match neither CR nor LF.
        self.regex = regex.matchingSemantics(.unicodeScalar)
    }

    /// In octets of a text; none in what is no UTF-8.
    func ranges(_ bytes: [UInt8]) -> [Range<Int>] {
        guard let text = String(validating: bytes, as: UTF8.self) else { return [] }
        return text.matches(of: regex).compactMap { match in
            let range = match.output.count > 1 ? match.output[1].range : match.range
            guard let range, !range.isEmpty else { return nil }
            let start = text.utf8.distance(from: text.utf8.startIndex, to: range.lowerBound)
            return start..<(start + text.utf8.distance(from: range.lowerBound, to: range.upperBound))
        }
    }
}
