import PushSimJSONText
import PushSimWire

/// JSON by value, with placeholders in its texts.
enum JSONMeaning {
    /// Where the two differ first, and how.
    static func difference(
        _ own: JSONValue, _ other: JSONValue, _ ignored: [JSONPath], _ bound: inout [ByteKey: [UInt8]]
    ) -> String? {
        // The common case needs no templates.
        guard !ignored.isEmpty || Template.mayHavePlaceholders(own.document.bytes) else {
            return JSONComparison.difference(own, other)?.description
        }
        var path = JSONPath()
        return compare(own, other, &path, ignored, &bound)
    }

    private static func compare(
        _ own: JSONValue, _ other: JSONValue, _ path: inout JSONPath, _ ignored: [JSONPath],
        _ bound: inout [ByteKey: [UInt8]]
    ) -> String? {
        if isIgnored(path, ignored) { return nil }
        switch (own.kind, other.kind) {
        case (.string, .number), (.string, .true), (.string, .false), (.string, .null):
            // What was redacted of these is the text of a placeholder.
            let template = Template(own.stringBytes ?? [])
            if template.isPlaceholder, template.matches(Array(other.source), &bound) { return nil }
        case (.string, .string):
            if Template(own.stringBytes ?? []).matches(other.stringBytes ?? [], &bound) { return nil }
        case (.object, .object):
            if own.firstDuplicate != nil || other.firstDuplicate != nil {
                if Template(Array(own.source), in: .json).matches(Array(other.source), &bound) { return nil }
                break
            }
            for member in own.members {
                path.steps.append(.member(member.name))
                defer { path.steps.removeLast() }
                if isIgnored(path, ignored) { continue }
                guard let value = other.member(member.key.stringBytes ?? []) else {
                    return "\(path): \(member.value.sourceText) against nothing"
                }
                if let difference = compare(member.value, value, &path, ignored, &bound) { return difference }
            }
            for member in other.members where own.member(member.key.stringBytes ?? []) == nil {
                path.steps.append(.member(member.name))
                defer { path.steps.removeLast() }
                if isIgnored(path, ignored) { continue }
                return "\(path): nothing against \(member.value.sourceText)"
            }
            return nil
        case (.array, .array):
            let (left, right) = (own.elements, other.elements)
            guard left.count == right.count else { break }
            for index in left.indices {
                path.steps.append(.element(index))
                defer { path.steps.removeLast() }
                if let difference = compare(left[index], right[index], &path, ignored, &bound) { return difference }
            }
            return nil
        default: if JSONComparison.areEqual(own, other) { return nil }
        }
        return "\(path): \(own.sourceText) against \(other.sourceText)"
    }

    /// A star in a rule is any member or element.
    private static func isIgnored(_ path: JSONPath, _ ignored: [JSONPath]) -> Bool {
        ignored.contains { rule in
            rule.steps.count == path.steps.count
                && zip(rule.steps, path.steps).allSatisfy { $0 == $1 || $0 == .member("*") }
        }
    }
}
