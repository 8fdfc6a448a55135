import PushSimWire

/// The secrets of a recording: what was found, and what each is called.
package struct Secrets: Sendable {
    package struct Secret: Sendable {
        package let value: [UInt8]
        package fileprivate(set) var kind: String
    }

    package private(set) var all: [Secret] = []
    private var numbers: [ByteKey: Int] = [:]

    package init() {}

    /// The same value is the same secret; of two kinds the weightier names it.
    @discardableResult
    mutating func add(_ value: [UInt8], _ kind: String) -> Int? {
        guard !value.isEmpty, !Template(value).isPlaceholder else { return nil }
        if let known = numbers[ByteKey(value)] {
            if SecretNames.isBefore(kind, all[known].kind) { all[known].kind = kind }
            return known
        }
        numbers[ByteKey(value)] = all.count
        all.append(Secret(value: value, kind: kind))
        return all.count - 1
    }

    func number(_ value: [UInt8]) -> Int? { numbers[ByteKey(value)] }
}

/// Finds many values in one pass.
struct SecretSearch {
    /// Shorter values are replaced where they stand and not looked for elsewhere; those under `wordLength` are found as
    /// whole words only. Otherwise a token such as `1` would be found all over a file.
    static let leastLength = 4
    static let wordLength = 8

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
            secrets.all.enumerated().map { ($1.value, $0, $1.value.count < Self.wordLength) })
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
