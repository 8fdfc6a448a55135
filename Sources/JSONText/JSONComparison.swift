/// Comparison by value: the order of members, white space and the spelling of numbers and strings do not count.
/// An object with a duplicate name has no agreed value, so it equals only the same bytes.
package enum JSONComparison {
    package struct Difference: Hashable, Sendable, CustomStringConvertible {
        package let path: JSONPath
        package let left: String?
        package let right: String?

        package var description: String { "\(path): \(left ?? "nothing") against \(right ?? "nothing")" }
    }

    package static func areEqual(_ left: JSONValue, _ right: JSONValue) -> Bool { difference(left, right) == nil }

    /// The first place where the two differ.
    package static func difference(_ left: JSONValue, _ right: JSONValue) -> Difference? {
        var path = JSONPath()
        return compare(left, right, &path, subset: false)
    }

    /// The first place where `value` lacks something of `subset`: every member of an object, every element of an array.
    package static func missing(_ subset: JSONValue, in value: JSONValue) -> Difference? {
        var path = JSONPath()
        return compare(subset, value, &path, subset: true)
    }

    private static func compare(
        _ left: JSONValue, _ right: JSONValue, _ path: inout JSONPath, subset: Bool
    ) -> Difference? {
        let same: Bool
        switch (left.kind, right.kind) {
        case (.null, .null), (.true, .true), (.false, .false): same = true
        case (.number, .number): same = JSONNumber(left.source) == JSONNumber(right.source)
        case (.string, .string): same = left.stringBytes == right.stringBytes
        case (.array, .array): return elements(left, right, &path, subset)
        case (.object, .object): return members(left, right, &path, subset)
        default: same = false
        }
        return same ? nil : Difference(path: path, left: brief(left), right: brief(right))
    }

    private static func elements(
        _ left: JSONValue, _ right: JSONValue, _ path: inout JSONPath, _ subset: Bool
    ) -> Difference? {
        let (own, other) = (left.elements, right.elements)
        for index in 0..<max(own.count, other.count) {
            path.steps.append(.element(index))
            defer { path.steps.removeLast() }
            guard index < own.count, index < other.count else {
                if subset, index >= own.count { return nil }
                return Difference(
                    path: path, left: index < own.count ? brief(own[index]) : nil,
                    right: index < other.count ? brief(other[index]) : nil)
            }
            if let difference = compare(own[index], other[index], &path, subset: subset) { return difference }
        }
        return nil
    }

    private static func members(
        _ left: JSONValue, _ right: JSONValue, _ path: inout JSONPath, _ subset: Bool
    ) -> Difference? {
        if left.firstDuplicate != nil || right.firstDuplicate != nil {
            let same = left.source.elementsEqual(right.source)
            return same ? nil : Difference(path: path, left: brief(left), right: brief(right))
        }
        for member in left.members {
            path.steps.append(.member(member.name))
            defer { path.steps.removeLast() }
            guard let other = right.member(member.key.stringBytes ?? []) else {
                return Difference(path: path, left: brief(member.value), right: nil)
            }
            if let difference = compare(member.value, other, &path, subset: subset) { return difference }
        }
        if subset { return nil }
        for member in right.members where left.member(member.key.stringBytes ?? []) == nil {
            path.steps.append(.member(member.name))
            defer { path.steps.removeLast() }
            return Difference(path: path, left: nil, right: brief(member.value))
        }
        return nil
    }

    /// The value's text, cut where it is long.
    private static func brief(_ value: JSONValue) -> String {
        let source = value.source
        guard source.count > 80 else { return value.sourceText }
        var cut = source.prefix(77)
        while let last = cut.last, last & 0xC0 == 0x80 { cut = cut.dropLast() }
        if let last = cut.last, last >= 0xC0 { cut = cut.dropLast() }
        return String(decoding: cut, as: UTF8.self) + "..."
    }

    /// The same octets for values that are equal.
    package static func canonical(_ value: JSONValue) -> [UInt8] {
        var out: [UInt8] = []
        write(value, &out)
        return out
    }

    private static func write(_ value: JSONValue, _ out: inout [UInt8]) {
        switch value.kind {
        case .null: out.append(110)
        case .true: out.append(116)
        case .false: out.append(102)
        case .number: out += JSONNumber(value.source)?.canonical ?? Array(value.source)
        case .string:
            let text = value.stringBytes ?? []
            out += Array("\(text.count)\"".utf8) + text
        case .array:
            out.append(91)
            for element in value.elements {
                write(element, &out)
                out.append(44)
            }
            out.append(93)
        case .object:
            // With a name twice the order counts, as it does in `difference`.
            guard value.firstDuplicate == nil else {
                out.append(33)
                out += value.source
                return
            }
            out.append(123)
            let members = value.members.map { (name: $0.key.stringBytes ?? [], value: $0.value) }
            for member in members.sorted(by: { $0.name.lexicographicallyPrecedes($1.name) }) {
                out += Array("\(member.name.count)\"".utf8) + member.name
                write(member.value, &out)
            }
            out.append(125)
        }
    }
}
