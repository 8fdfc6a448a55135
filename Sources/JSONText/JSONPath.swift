/// A place in a value: `$.items[2].id`, or the same without `$.`.
package struct JSONPath: Hashable, Sendable, CustomStringConvertible {
    package enum Step: Hashable, Sendable {
        case member(String)
        case element(Int)
    }

    package var steps: [Step]

    package init(_ steps: [Step] = []) { self.steps = steps }

    /// Reads a path; nil where it is none. A name with a dot or bracket in it is written `["a.b"]`.
    package init?(_ text: String) {
        var rest = Array(text.utf8)[...]
        if rest.first == 36 { rest = rest.dropFirst() }
        var steps: [Step] = []
        var needsDot = text.utf8.first == 36
        while let first = rest.first {
            if first == 91 {
                guard let step = Self.bracket(&rest) else { return nil }
                steps.append(step)
            } else {
                if first == 46 { rest = rest.dropFirst() } else if needsDot { return nil }
                let name = rest.prefix { $0 != 46 && $0 != 91 }
                guard !name.isEmpty else { return nil }
                steps.append(.member(String(decoding: name, as: UTF8.self)))
                rest = rest.dropFirst(name.count)
            }
            needsDot = true
        }
        self.steps = steps
    }

    private static func bracket(_ rest: inout ArraySlice<UInt8>) -> Step? {
        guard rest.count > 2 else { return nil }
        let second = rest[rest.startIndex + 1]
        if second == 34 || second == 39 {
            let inner = rest.dropFirst(2).prefix { $0 != second }
            let after = rest.dropFirst(2 + inner.count)
            guard after.count >= 2, after[after.startIndex + 1] == 93 else { return nil }
            rest = after.dropFirst(2)
            return .member(String(decoding: inner, as: UTF8.self))
        }
        let inner = rest.dropFirst().prefix { $0 != 93 }
        guard !inner.isEmpty, inner.count < 10, inner.allSatisfy({ $0 >= 48 && $0 <= 57 }) else { return nil }
        rest = rest.dropFirst(inner.count + 1)
        guard rest.first == 93 else { return nil }
        rest = rest.dropFirst()
        return .element(inner.reduce(0) { $0 * 10 + Int($1 - 48) })
    }

    package func find(in value: JSONValue) -> JSONValue? {
        var current = value
        for step in steps {
            switch step {
            case .member(let name):
                guard let next = current.member(name) else { return nil }
                current = next
            case .element(let index):
                let elements = current.elements
                guard elements.indices.contains(index) else { return nil }
                current = elements[index]
            }
        }
        return current
    }

    package var description: String {
        steps.reduce("$") { text, step in
            switch step {
            case .element(let index): "\(text)[\(index)]"
            case .member(let name): Self.isPlain(name) ? "\(text).\(name)" : "\(text)[\"\(name)\"]"
            }
        }
    }

    private static func isPlain(_ name: String) -> Bool {
        !name.isEmpty && !name.utf8.contains { $0 == 46 || $0 == 91 || $0 == 93 || $0 <= 32 || $0 == 34 }
    }
}
