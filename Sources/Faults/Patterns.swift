import PushSimWire

/// A text in which `*` stands for any bytes.
///
/// A class, since a rule that is passed by is not to cost a count of all its parts.
package final class TextPattern: Hashable, Sendable {
    private let parts: [[UInt8]]
    /// What every text of the pattern begins with.
    let first: [UInt8]
    private let last: [UInt8]
    /// Without a star.
    private let isLiteral: Bool
    /// As written.
    package let text: String

    package init(_ text: String) {
        self.text = text
        parts = text.utf8.split(separator: 42, omittingEmptySubsequences: false).map(Array.init)
        first = parts.first ?? []
        last = parts.last ?? []
        isLiteral = parts.count == 1
    }

    package static func == (left: TextPattern, right: TextPattern) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(text) }

    package func matches(_ text: [UInt8]) -> Bool {
        if isLiteral { return text.isSame(as: first) }
        guard text.count >= first.count + last.count, text.begins(with: first) else { return false }
        guard last.isEmpty || text.suffix(last.count).elementsEqual(last) else { return false }
        var rest = text[first.count..<(text.count - last.count)]
        for part in parts.dropFirst().dropLast() where !part.isEmpty {
            guard let found = Self.find(part, in: rest) else { return false }
            rest = rest[(found + part.count)...]
        }
        return true
    }

    private static func find(_ part: [UInt8], in text: ArraySlice<UInt8>) -> Int? {
        guard text.count >= part.count else { return nil }
        return (text.startIndex...(text.endIndex - part.count)).first {
            text[$0..<($0 + part.count)].elementsEqual(part)
        }
    }
}

/// `path`: exact, with `*` within a segment and `**` for any number of segments, or `/regex/`. Segments compare on
/// their raw bytes. A text between slashes is an expression where it has `.*` or one of `^$[]()+?\|{}`: without them it is
/// a path that ends with a slash.
package struct PathPattern: Sendable {
    private enum Form: Sendable {
        case segments([Segment])
        case regex(String)
    }

    private enum Segment: Hashable, Sendable {
        case text(TextPattern)
        case any
    }

    private let form: Form
    /// As written.
    package let text: String
    /// The path itself, where nothing in it is a pattern.
    private let literal: [UInt8]?
    /// What every path begins with that matches; empty for an expression.
    let prefix: [UInt8]

    /// What is wrong with a pattern.
    package struct Mistake: Error, Sendable {
        package let message: String
    }

    package init(_ text: String) throws(Mistake) {
        self.text = text
        let bytes = Array(text.utf8)
        literal = bytes.contains(42) ? nil : bytes
        if text.utf8.count > 2, text.hasPrefix("/"), text.hasSuffix("/"), !text.hasPrefix("//"),
            Self.looksLikeRegex(text)
        {
            let pattern = String(text.dropFirst().dropLast())
            do { _ = try Regex(pattern) } catch {
                throw Mistake(message: "\(text) is no regular expression")
            }
            form = .regex(pattern)
            prefix = []
            return
        }
        if text == "*" { throw Mistake(message: "for any path leave \"path\" out, or write \"/**\"") }
        if let byte = bytes.first(where: { $0 <= 32 || $0 >= 127 || $0 == 63 || $0 == 35 }) {
            throw Mistake(
                message: byte == 63
                    ? "a path ends before \"?\": give its items in \"query\""
                    : "a path is compared as it stands on the wire, where this is written with % and two digits")
        }
        guard text.hasPrefix("/") else {
            throw Mistake(
                message:
                    "a path begins with \"/\"; for any beginning write \"/**\(text.hasPrefix("*") ? "" : "/")\(text)\"")
        }
        // Up to the segment in which the first star stands.
        let star = bytes.firstIndex(of: 42) ?? bytes.count
        prefix = star == bytes.count ? bytes : Array(bytes[..<(bytes[..<star].lastIndex(of: 47) ?? 0)])
        form = .segments(
            text.utf8.dropFirst().split(separator: 47, omittingEmptySubsequences: false).map { part in
                part.elementsEqual("**".utf8) ? .any : .text(TextPattern(String(decoding: part, as: UTF8.self)))
            })
    }

    /// `/regex/` and a path that ends in a slash look alike: what has a character that only expressions have is one.
    private static func looksLikeRegex(_ text: String) -> Bool {
        text.contains(".*") || text.utf8.contains { "^$[]()+?\\|{}".utf8.contains($0) }
    }

    /// The expression to compile, where it is one.
    package var regex: String? {
        if case .regex(let pattern) = form { pattern } else { nil }
    }

    func matches(_ head: RequestHead, _ path: RequestHead.Span) -> Bool {
        guard case .segments(let wanted) = form else { return false }
        if let literal { return head.equals(path, literal) }
        if !head.begins(path, prefix) { return false }
        let bytes = head.bytes[path.range]
        guard bytes.first == 47 else { return false }
        return Self.match(wanted, bytes.dropFirst().split(separator: 47, omittingEmptySubsequences: false))
    }

    /// Of the stars that stand for any number of segments only the last needs to be tried again: what the earlier ones took
    /// was the least that leads to it. So a path costs no more than its segments times the pattern's.
    private static func match(_ wanted: [Segment], _ given: [ArraySlice<UInt8>]) -> Bool {
        var (next, place) = (0, 0)
        var star: (next: Int, place: Int)?
        while place < given.count {
            if next < wanted.count, case .any = wanted[next] {
                next += 1
                star = (next, place)
            } else if next < wanted.count, case .text(let pattern) = wanted[next], pattern.matches(Array(given[place]))
            {
                (next, place) = (next + 1, place + 1)
            } else if let last = star {
                star = (last.next, last.place + 1)
                (next, place) = (last.next, last.place + 1)
            } else {
                return false
            }
        }
        return wanted[next...].allSatisfy { $0 == .any }
    }
}
