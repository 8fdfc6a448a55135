/// Writes JSON in the order in which it is told: compact, UTF-8, only what must be escaped escaped.
package struct JSONWriter {
    package private(set) var bytes: [UInt8] = []
    /// Whether a comma comes before the next value or name of the current container.
    private var needsComma = false

    package init() {}

    package mutating func beginObject() { begin(123) }
    package mutating func endObject() { end(125) }
    package mutating func beginArray() { begin(91) }
    package mutating func endArray() { end(93) }

    package mutating func name(_ name: StaticString) {
        comma()
        bytes.append(34)
        bytes.append(contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
        bytes.append(34)
        bytes.append(58)
        needsComma = false
    }

    package mutating func name(_ name: String) {
        comma()
        quote(Array(name.utf8))
        bytes.append(58)
        needsComma = false
    }

    package mutating func string(_ text: String) { string(Array(text.utf8)) }

    package mutating func string(_ text: [UInt8]) {
        comma()
        quote(text)
    }

    package mutating func int(_ number: some BinaryInteger) { raw(Array(String(number).utf8)) }

    package mutating func bool(_ value: Bool) { raw(value ? Array("true".utf8) : Array("false".utf8)) }

    package mutating func null() { raw(Array("null".utf8)) }

    /// A value that is JSON text already.
    package mutating func raw(_ text: some Sequence<UInt8>) {
        comma()
        bytes.append(contentsOf: text)
    }

    package mutating func write(_ value: JSON) {
        switch value {
        case .null: null()
        case .bool(let value): bool(value)
        case .number(let text): raw(Array(text.utf8))
        case .string(let text): string(text)
        case .array(let elements):
            beginArray()
            for element in elements { write(element) }
            endArray()
        case .object(let members):
            beginObject()
            for member in members {
                name(member.name)
                write(member.value)
            }
            endObject()
        }
    }

    private mutating func begin(_ bracket: UInt8) {
        comma()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func end(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func comma() {
        if needsComma { bytes.append(44) }
        needsComma = true
    }

    private mutating func quote(_ text: [UInt8]) {
        bytes.append(34)
        var start = 0
        var index = 0
        while index < text.count {
            let byte = text[index]
            if byte >= 32, byte != 34, byte != 92 {
                index += 1
                continue
            }
            bytes.append(contentsOf: text[start..<index])
            escape(byte)
            index += 1
            start = index
        }
        bytes.append(contentsOf: text[start...])
        bytes.append(34)
    }

    private mutating func escape(_ byte: UInt8) {
        bytes.append(92)
        switch byte {
        case 34, 92: bytes.append(byte)
        case 8: bytes.append(98)
        case 9: bytes.append(116)
        case 10: bytes.append(110)
        case 12: bytes.append(102)
        case 13: bytes.append(114)
        default:
            let digits = Array("0123456789abcdef".utf8)
            bytes += [117, 48, 48, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
    }
}

extension JSONWriter {
    /// A text with each member and element on a line of its own, two spaces in for each level.
    package static func pretty(_ value: JSON) -> [UInt8] {
        var out: [UInt8] = []
        lay(value, 0, &out)
        out.append(10)
        return out
    }

    private static func lay(_ value: JSON, _ level: Int, _ out: inout [UInt8]) {
        switch value {
        case .array(let elements) where !elements.isEmpty:
            block(elements, 91, 93, level, &out) { lay($0, level + 1, &$1) }
        case .object(let members) where !members.isEmpty:
            block(members, 123, 125, level, &out) { member, out in
                out += JSON.string(member.name).bytes + [58, 32]
                lay(member.value, level + 1, &out)
            }
        default: out += value.bytes
        }
    }

    private static func block<Item>(
        _ items: [Item], _ opening: UInt8, _ closing: UInt8, _ level: Int, _ out: inout [UInt8],
        _ each: (Item, inout [UInt8]) -> Void
    ) {
        out.append(opening)
        for (index, item) in items.enumerated() {
            out += [10] + [UInt8](repeating: 32, count: (level + 1) * 2)
            each(item, &out)
            if index + 1 < items.count { out.append(44) }
        }
        out += [10] + [UInt8](repeating: 32, count: level * 2) + [closing]
    }
}
