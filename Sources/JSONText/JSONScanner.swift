/// Goes over a text once and lists its values. Nothing recurses, so depth costs no stack.
struct JSONScanner {
    /// What may come next.
    private enum Expectation {
        case value, valueOrEnd, keyOrEnd, key, commaOrEnd, end
    }

    private let base: UnsafePointer<UInt8>
    private let count: Int
    private let isJSON5: Bool
    private let depth: Int
    /// Containers that stand in so many others are listed without what is in them.
    private let levels: Int
    private var index = 0
    private var tape: JSONTape
    /// How many containers are open, and what the innermost is.
    private var around = 0
    private var isInObject = false
    /// The innermost open container that is listed. While it is open, its `next` is the one that it stands in.
    private var innermost = JSONScanner.none
    /// Of the open containers within it, which are not listed: whether they are objects.
    private var unlisted: [Bool] = []

    private static let none = UInt32.max

    private struct Mistake: Error {
        let message: String
        let offset: Int
    }

    /// - Returns: the nodes of the text, which the caller frees.
    static func scan(
        _ bytes: [UInt8], _ dialect: JSONDocument.Dialect, depth: Int, levels: Int
    ) throws(JSONError) -> UnsafePointer<JSONDocument.Node> {
        guard bytes.count < Int(UInt32.max) else {
            throw JSONError(message: "the text is larger than 4 GiB", offset: 0, position: .init(line: 1, column: 1))
        }
        do throws(Mistake) {
            return try scan(bytes, bytes.count, dialect == .json5, depth, levels)
        } catch {
            throw JSONError(
                message: error.message, offset: error.offset,
                position: JSONPosition(offset: error.offset, in: bytes))
        }
    }

    private static func scan(
        _ base: UnsafePointer<UInt8>, _ count: Int, _ isJSON5: Bool, _ depth: Int, _ levels: Int
    ) throws(Mistake) -> UnsafePointer<JSONDocument.Node> {
        var scanner = JSONScanner(base, count, isJSON5, depth, levels)
        do throws(Mistake) {
            try scanner.run()
        } catch {
            scanner.tape.nodes.deallocate()
            throw error
        }
        return UnsafePointer(scanner.tape.nodes)
    }

    private init(_ base: UnsafePointer<UInt8>, _ count: Int, _ isJSON5: Bool, _ depth: Int, _ levels: Int) {
        self.base = base
        self.count = count
        self.isJSON5 = isJSON5
        self.depth = depth
        self.levels = levels
        tape = JSONTape(room: min(count / 8 + 4, 1 << 20))
    }

    private mutating func run() throws(Mistake) {
        var expected = Expectation.value
        while true {
            if index < count, base[index] <= 32 || isJSON5 { try skipSpace() }
            guard index < count else {
                if expected == .end { return }
                throw mistake(tape.count == 0 ? "the text is empty" : "the text ends before the value does")
            }
            let byte = base[index]
            switch expected {
            case .end: throw mistake("something follows the value")
            case .commaOrEnd: expected = try commaOrEnd(byte)
            case .key, .keyOrEnd: expected = try key(byte, expected)
            case .value, .valueOrEnd: expected = try value(byte, expected)
            }
        }
    }

    private mutating func commaOrEnd(_ byte: UInt8) throws(Mistake) -> Expectation {
        if byte == 44 {
            index += 1
            return isJSON5 ? (isInObject ? .keyOrEnd : .valueOrEnd) : (isInObject ? .key : .value)
        }
        if byte == (isInObject ? 125 : 93) { return close() }
        throw mistake("a comma or \(isInObject ? "}" : "]") is missing")
    }

    private mutating func key(_ byte: UInt8, _ expected: Expectation) throws(Mistake) -> Expectation {
        if byte == 125, expected == .keyOrEnd { return close() }
        let start = tape.count
        if byte == 34 || byte == 39 && isJSON5 {
            try string(byte)
        } else if isJSON5, Self.beginsName(byte) {
            bareKey()
        } else {
            throw mistake(byte == 125 ? "a comma stands before }" : "a member has no name")
        }
        if around <= levels { tape.nodes[start].next = UInt32(tape.count) }
        if index < count, base[index] <= 32 || isJSON5 { try skipSpace() }
        guard index < count, base[index] == 58 else { throw mistake("the colon after a member's name is missing") }
        index += 1
        return .value
    }

    private mutating func value(_ byte: UInt8, _ expected: Expectation) throws(Mistake) -> Expectation {
        switch byte {
        case 123, 91:
            guard around < depth else { throw mistake("more than \(depth) levels of nesting") }
            isInObject = byte == 123
            open(isInObject ? .object : .array)
            around += 1
            index += 1
            return byte == 123 ? .keyOrEnd : .valueOrEnd
        case 93 where expected == .valueOrEnd: return close()
        case 34: try string(byte)
        case 39 where isJSON5: try string(byte)
        case 45, 48...57: try number()
        case 43 where isJSON5, 46 where isJSON5: try number()
        case 116: try word("true", .true)
        case 102: try word("false", .false)
        case 110: try word("null", .null)
        case 73 where isJSON5, 78 where isJSON5: try number()
        case 93: throw mistake("a comma stands before ]")
        default: throw mistake("no value begins with \(describe(byte))")
        }
        return around == 0 ? .end : .commaOrEnd
    }

    private mutating func open(_ kind: JSONDocument.Kind) {
        guard around <= levels else { return unlisted.append(kind == .object) }
        let node = UInt32(tape.count)
        append(kind, from: index)
        tape.nodes[Int(node)].next = innermost
        innermost = node
    }

    /// Only within a container.
    private mutating func close() -> Expectation {
        index += 1
        around -= 1
        if around > levels {
            unlisted.removeLast()
        } else {
            let node = tape.nodes + Int(innermost)
            innermost = node.pointee.next
            node.pointee.length = UInt32(index) - node.pointee.offset
            node.pointee.next = UInt32(tape.count)
        }
        if around == 0 { return .end }
        isInObject = around - 1 > levels ? unlisted[around - levels - 2] : tape.nodes[Int(innermost)].kind == .object
        return .commaOrEnd
    }

    private mutating func append(_ kind: JSONDocument.Kind, from start: Int, isEscaped: Bool = false) {
        guard around <= levels else { return }
        tape.append(kind, start, index, isEscaped)
    }

    private mutating func word(_ text: StaticString, _ kind: JSONDocument.Kind) throws(Mistake) {
        let start = index
        for offset in 0..<text.utf8CodeUnitCount {
            guard index < count, base[index] == text.utf8Start[offset] else {
                index = start
                throw mistake("no value begins with \(describe(base[start]))")
            }
            index += 1
        }
        if index < count, Self.beginsName(base[index]) { throw mistake("a word follows \(text) without a comma") }
        append(kind, from: start)
    }

    private mutating func string(_ quote: UInt8) throws(Mistake) {
        let start = index
        var isEscaped = false
        index += 1
        while true {
            index = JSONRun.end(base, index, count, quote: quote)
            guard index < count else { break }
            let byte = base[index]
            if byte == quote {
                index += 1
                append(.string, from: start, isEscaped: isEscaped)
                return
            }
            if byte == 92 {
                isEscaped = true
                // Most escapes are of quotes and line ends.
                let next = index + 1 < count ? base[index + 1] : 0
                if next == 34 || next == 92 || next == 110 { index += 2 } else { try escape() }
            } else if byte < 32, !(isJSON5 && byte == 9) {
                throw mistake("a control character stands in a string")
            } else if byte < 128 {
                // A tab, which JSON5 allows.
                index += 1
            } else {
                try multibyte()
            }
        }
        throw Mistake(message: "the string is not closed", offset: start)
    }

    private mutating func escape() throws(Mistake) {
        let start = index
        guard index + 1 < count else { throw mistake("the string is not closed") }
        index += 2
        switch base[start + 1] {
        case 34, 92, 47, 98, 102, 110, 114, 116: return
        case 117: try digits(4)
        case 120 where isJSON5: try digits(2)
        case 48 where isJSON5:
            if index < count, base[index] >= 48, base[index] <= 57 {
                throw Mistake(message: "octal escape", offset: start)
            }
        case 49...57 where isJSON5: throw Mistake(message: "octal escape", offset: start)
        case 13 where isJSON5: if index < count, base[index] == 10 { index += 1 }
        case 128... where isJSON5:
            index -= 1
            try multibyte()
        default: if !isJSON5 { throw Mistake(message: "no such escape in a string", offset: start) }
        }
    }

    private mutating func digits(_ number: Int) throws(Mistake) {
        for _ in 0..<number {
            guard index < count, Self.hexValue(base[index]) != nil else {
                throw mistake("an escape has too few hexadecimal digits")
            }
            index += 1
        }
    }

    /// One scalar of UTF-8 (RFC 3629): no overlong form, no surrogate, nothing above U+10FFFF.
    private mutating func multibyte() throws(Mistake) {
        let first = base[index]
        let length: Int
        var least: UInt8 = 0x80
        var most: UInt8 = 0xBF
        switch first {
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, least) = (3, 0xA0)
        case 0xED: (length, most) = (3, 0x9F)
        case 0xE1...0xEF: length = 3
        case 0xF0: (length, least) = (4, 0x90)
        case 0xF1...0xF3: length = 4
        case 0xF4: (length, most) = (4, 0x8F)
        default: throw mistake("the text is not UTF-8")
        }
        guard index + length <= count, base[index + 1] >= least, base[index + 1] <= most else {
            throw mistake("the text is not UTF-8")
        }
        for offset in 2..<max(2, length) where base[index + offset] & 0xC0 != 0x80 {
            throw mistake("the text is not UTF-8")
        }
        index += length
    }

    private mutating func bareKey() {
        let start = index
        while index < count, Self.beginsName(base[index]) || (base[index] >= 48 && base[index] <= 57) { index += 1 }
        append(.string, from: start)
    }

    private mutating func number() throws(Mistake) {
        let start = index
        if base[index] == 45 || base[index] == 43 { index += 1 }
        if isJSON5, try special(start) { return }
        if isJSON5, index + 1 < count, base[index] == 48, base[index + 1] | 32 == 120 {
            index += 2
            let first = index
            while index < count, Self.hexValue(base[index]) != nil { index += 1 }
            if index == first { throw mistake("a hexadecimal number has no digits") }
            return try finishNumber(start)
        }
        let whole = digitRun()
        if whole == 0, !isJSON5 { throw mistake("a number has no digits") }
        if whole > 1, base[index - whole] == 48 { throw Mistake(message: "a number begins with 0", offset: start) }
        var fraction = 0
        if index < count, base[index] == 46 {
            index += 1
            fraction = digitRun()
            if fraction == 0, !isJSON5 { throw mistake("a number has no digits after its point") }
        }
        if whole + fraction == 0 { throw Mistake(message: "a number has no digits", offset: start) }
        if index < count, base[index] | 32 == 101 {
            index += 1
            if index < count, base[index] == 43 || base[index] == 45 { index += 1 }
            if digitRun() == 0 { throw mistake("a number has no digits in its exponent") }
        }
        try finishNumber(start)
    }

    private mutating func special(_ start: Int) throws(Mistake) -> Bool {
        for text: StaticString in ["Infinity", "NaN"] {
            let length = text.utf8CodeUnitCount
            guard index + length <= count else { continue }
            var same = true
            for offset in 0..<length where base[index + offset] != text.utf8Start[offset] { same = false }
            if same {
                index += length
                try finishNumber(start)
                return true
            }
        }
        return false
    }

    private mutating func finishNumber(_ start: Int) throws(Mistake) {
        if index < count, Self.beginsName(base[index]) || base[index] == 46 {
            throw mistake("\(describe(base[index])) stands in a number")
        }
        append(.number, from: start)
    }

    private mutating func digitRun() -> Int {
        let start = index
        while index < count, base[index] >= 48, base[index] <= 57 { index += 1 }
        return index - start
    }

    private mutating func skipSpace() throws(Mistake) {
        while index < count {
            switch base[index] {
            case 32, 9, 10, 13: index += 1
            case 47 where isJSON5: try comment()
            case 11 where isJSON5, 12 where isJSON5: index += 1
            case 0xC2 where isJSON5 && index + 1 < count && base[index + 1] == 0xA0: index += 2
            case 0xEF where isJSON5 && index + 2 < count && base[index + 1] == 0xBB && base[index + 2] == 0xBF:
                index += 3
            case 0xE1...0xE3 where isJSON5 && isWideSpace: index += 3
            default: return
            }
        }
    }

    /// U+2028, U+2029, and the spaces of category Zs that take three octets.
    private var isWideSpace: Bool {
        guard index + 2 < count else { return false }
        switch (base[index], base[index + 1], base[index + 2]) {
        case (0xE1, 0x9A, 0x80), (0xE2, 0x80, 0x80...0x8A), (0xE2, 0x80, 0xA8), (0xE2, 0x80, 0xA9), (0xE2, 0x80, 0xAF),
            (0xE2, 0x81, 0x9F), (0xE3, 0x80, 0x80):
            return true
        default: return false
        }
    }

    private mutating func comment() throws(Mistake) {
        let start = index
        guard index + 1 < count, base[index + 1] == 47 || base[index + 1] == 42 else {
            throw mistake("no value begins with \"/\"")
        }
        if base[index + 1] == 47 {
            while index < count, base[index] != 10, base[index] != 13 { index += 1 }
            return
        }
        index += 2
        while index + 1 < count {
            if base[index] == 42, base[index + 1] == 47 {
                index += 2
                return
            }
            index += 1
        }
        throw Mistake(message: "the comment is not closed", offset: start)
    }

    private func mistake(_ message: String) -> Mistake { Mistake(message: message, offset: index) }

    private func describe(_ byte: UInt8) -> String {
        byte > 32 && byte < 127 ? "\"\(Character(UnicodeScalar(byte)))\"" : "byte \(byte)"
    }

    private static func beginsName(_ byte: UInt8) -> Bool {
        (byte | 32 >= 97 && byte | 32 <= 122) || byte == 95 || byte == 36 || byte >= 128
    }

    static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 48...57: byte - 48
        case 65...70: byte - 55
        case 97...102: byte - 87
        default: nil
        }
    }
}
