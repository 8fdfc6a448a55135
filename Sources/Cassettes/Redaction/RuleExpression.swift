import PushSimWire

/// A regular expression of a rule: what it finds, or its first group, is a secret.
///
/// `@unchecked Sendable`: `Regex` is not marked so, but holds only its own program, which matching does not change.
struct Pattern: @unchecked Sendable {
    private let regex: Regex<AnyRegexOutput>

    init(_ regex: Regex<AnyRegexOutput>) { self.regex = regex }

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
