import PushSimWire

/// Finds what the placeholders of a template stand for in a value.
///
/// Each takes the shortest run with which the rest still matches. Where a template has no placeholder twice, what the
/// earlier ones took has no say in whether the rest matches, and no place is looked at twice; else the search ends after so
/// many steps, without a match.
struct TemplateMatching {
    private static let mostSteps = 100_000

    private let parts: [Template.Part]
    private let place: Template.Place
    private let value: [UInt8]
    private(set) var bound: [ByteKey: [UInt8]]
    private let isPlain: Bool
    private var failed: Set<Int> = []
    private var steps = 0

    init(_ parts: [Template.Part], _ place: Template.Place, _ value: [UInt8], _ bound: [ByteKey: [UInt8]]) {
        self.parts = parts
        self.place = place
        self.value = value
        self.bound = bound
        let names = parts.compactMap { if case .placeholder(let name, _) = $0 { ByteKey(name) } else { nil } }
        let free = names.filter { bound[$0] == nil }
        isPlain = Set(free).count == free.count
    }

    mutating func run() -> Bool { match(0, 0) }

    private mutating func match(_ part: Int, _ offset: Int) -> Bool {
        guard part < parts.count else { return offset == value.count }
        switch parts[part] {
        case .text(let text):
            guard value[offset...].starts(with: text) else { return false }
            return match(part + 1, offset + text.count)
        case .placeholder(let name, let codings):
            if isPlain, failed.contains(part * (value.count + 1) + offset) { return false }
            var end = firstEnd(part, offset)
            while let last = end, steps < Self.mostSteps {
                steps += 1
                if bind(name, codings, offset..<last, thenMatch: part + 1) { return true }
                end = nextEnd(part, last)
            }
            if isPlain { failed.insert(part * (value.count + 1) + offset) }
            return false
        }
    }

    /// Where a placeholder that begins at `offset` may end: before the text that follows it, or with the value.
    private func firstEnd(_ part: Int, _ offset: Int) -> Int? {
        guard offset < value.count else { return nil }
        return part + 1 == parts.count ? value.count : nextEnd(part, offset)
    }

    private func nextEnd(_ part: Int, _ end: Int) -> Int? {
        guard end < value.count else { return nil }
        guard part + 1 < parts.count, case .text(let text) = parts[part + 1], let first = text.first else {
            return end + 1
        }
        var index = end + 1
        while let found = value[index...].firstIndex(of: first) {
            if value[found...].starts(with: text) { return found }
            index = found + 1
        }
        return nil
    }

    private mutating func bind(
        _ name: [UInt8], _ codings: [Coding], _ range: Range<Int>, thenMatch part: Int
    ) -> Bool {
        var plain = Array(value[range])
        if case .url = place { plain = Coding.percent.decode(plain) ?? plain }
        for coding in codings {
            guard let decoded = coding.decode(plain) else { return false }
            plain = decoded
        }
        guard !plain.isEmpty else { return false }
        let key = ByteKey(name)
        if let known = bound[key] { return known.isSame(as: plain) && match(part, range.upperBound) }
        bound[key] = plain
        if match(part, range.upperBound) { return true }
        bound[key] = nil
        return false
    }
}
