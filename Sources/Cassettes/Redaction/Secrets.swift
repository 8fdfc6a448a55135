import PushSimWire

/// The secrets of a recording: what was found, and what each is called.
package struct Secrets: Sendable {
    package struct Secret: Sendable {
        package let value: [UInt8]
        package fileprivate(set) var kind: String
        fileprivate(set) var reach: SecretReach
    }

    package private(set) var all: [Secret] = []
    private var numbers: [ByteKey: Int] = [:]

    package init() {}

    /// The same value is the same secret; of two kinds the weightier names it.
    /// - Parameter isRuled: whether somebody has named it a secret, who may know better.
    @discardableResult
    mutating func add(_ value: [UInt8], _ kind: String, isRuled: Bool = false) -> Int? {
        guard !value.isEmpty, !Template(value).isPlaceholder else { return nil }
        let reach = SecretReach(value, isRuled: isRuled)
        if let known = numbers[ByteKey(value)] {
            all[known].reach = max(all[known].reach, reach)
            if SecretNames.isBefore(kind, all[known].kind) { all[known].kind = kind }
            return known
        }
        numbers[ByteKey(value)] = all.count
        all.append(Secret(value: value, kind: kind, reach: reach))
        return all.count - 1
    }

    func number(_ value: [UInt8]) -> Int? { numbers[ByteKey(value)] }
}

/// How far a secret is looked for beside the place that names it. A cookie `1`, a password `text` or a number would else be
/// found, and replaced, all over a file that has nothing to do with it.
enum SecretReach: Int, Comparable, Sendable {
    /// Replaced where it stands.
    case place
    /// Elsewhere too, as a whole word.
    case word
    /// Elsewhere too, also within words.
    case anywhere

    /// Words that stand in nearly every exchange.
    private static let common: Set<String> = [
        "application", "multipart", "javascript", "urlencoded", "keep-alive", "localhost", "127.0.0.1", "identity",
        "max-age=0", "no-cache", "no-store", "example.com", "production", "development", "notification",
    ]

    static func < (left: SecretReach, right: SecretReach) -> Bool { left.rawValue < right.rawValue }

    init(_ value: [UInt8], isRuled: Bool) {
        let isLiteral = ["true", "false", "null", "undefined"].contains(value.text)
        if isRuled {
            self = isLiteral ? .place : value.count < 8 ? .word : .anywhere
            return
        }
        let isNumber = value.allSatisfy { (48...57).contains($0) }
        let isWord = value.allSatisfy { (97...122).contains($0 | 32) }
        switch value.count {
        case ..<4: self = .place
        case ..<8 where isNumber || isWord: self = .place
        case ..<6: self = .word
        default: self = isNumber ? .word : .anywhere
        }
        if SecretNames.field(value) != nil || isLiteral || Self.common.contains(value.map(Byte.lowercased).text) {
            self = .place
        }
    }
}

/// Finds many values in one pass.
struct SecretSearch {
    static let leastLength = 4

    struct Match {
        let range: Range<Int>
        let secret: Int
    }

    private struct Pattern {
        let bytes: [UInt8]
        let secret: Int
        let isWord: Bool
    }

    private var patterns: [Pattern] = []
    /// By the first two octets: where in `patterns` those begin, longest first.
    private var table: [UInt16: [Int]] = [:]
    private var isFirst = [Bool](repeating: false, count: 65_536)

    init(_ forms: [(bytes: [UInt8], secret: Int, isWord: Bool)]) {
        for form in forms where form.bytes.count >= Self.leastLength {
            let key = UInt16(form.bytes[0]) << 8 | UInt16(form.bytes[1])
            table[key, default: []].append(patterns.count)
            isFirst[Int(key)] = true
            patterns.append(Pattern(bytes: form.bytes, secret: form.secret, isWord: form.isWord))
        }
        for key in table.keys { table[key]?.sort { patterns[$0].bytes.count > patterns[$1].bytes.count } }
    }

    init(_ secrets: Secrets) {
        self.init(
            secrets.all.enumerated().compactMap { number, secret in
                switch secret.reach {
                case .place: nil
                case .word: (secret.value, number, true)
                case .anywhere: (secret.value, number, false)
                }
            })
    }

    /// From left to right, without overlaps; at one place the longest.
    func matches(_ text: [UInt8]) -> [Match] {
        guard !patterns.isEmpty, text.count >= Self.leastLength else { return [] }
        var found: [Match] = []
        var index = 0
        let last = text.count - Self.leastLength
        while true {
            index = skip(text, index, last)
            if index > last { return found }
            if let match = match(text, index) {
                found.append(match)
                index = match.range.upperBound
            } else {
                index += 1
            }
        }
    }

    private func skip(_ text: [UInt8], _ start: Int, _ last: Int) -> Int {
        text.withUnsafeBufferPointer { text in
            isFirst.withUnsafeBufferPointer { isFirst in
                var index = start
                while index <= last, !isFirst[Int(text[index]) << 8 | Int(text[index + 1])] { index += 1 }
                return index
            }
        }
    }

    private func match(_ text: [UInt8], _ start: Int) -> Match? {
        for number in table[UInt16(text[start]) << 8 | UInt16(text[start + 1])] ?? [] {
            let pattern = patterns[number]
            let end = start + pattern.bytes.count
            guard end <= text.count, Self.equals(text, start, pattern.bytes) else { continue }
            if pattern.isWord,
                start > 0 && Self.isWordByte(text[start - 1]) || end < text.count && Self.isWordByte(text[end])
            {
                continue
            }
            return Match(range: start..<end, secret: pattern.secret)
        }
        return nil
    }

    private static func equals(_ text: [UInt8], _ start: Int, _ pattern: [UInt8]) -> Bool {
        var index = 0
        while index < pattern.count {
            if text[start + index] != pattern[index] { return false }
            index += 1
        }
        return true
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || (97...122).contains(byte | 32) || byte == 95
    }
}
