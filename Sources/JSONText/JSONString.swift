/// The inside of JSON strings.
enum JSONString {
    static func decode(_ source: ArraySlice<UInt8>) -> [UInt8] {
        let isQuoted = source.first == 34 || source.first == 39
        let bytes = isQuoted ? source.dropFirst().dropLast() : source
        var out: [UInt8] = []
        out.reserveCapacity(bytes.count)
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let byte = bytes[index]
            guard byte == 92, index + 1 < bytes.endIndex else {
                out.append(byte)
                index += 1
                continue
            }
            index = unescape(bytes, index + 1, &out)
        }
        return out
    }

    /// Appends what the escape after the backslash stands for; answers where the text goes on.
    private static func unescape(_ bytes: ArraySlice<UInt8>, _ start: Int, _ out: inout [UInt8]) -> Int {
        let byte = bytes[start]
        switch byte {
        case 98: out.append(8)
        case 102: out.append(12)
        case 110: out.append(10)
        case 114: out.append(13)
        case 116: out.append(9)
        case 118: out.append(11)
        case 48: out.append(0)
        case 120:
            append(hex(bytes, start + 1, 2), &out)
            return start + 3
        case 117:
            let unit = hex(bytes, start + 1, 4)
            if unit >= 0xD800, unit < 0xDC00, start + 10 < bytes.endIndex + 0, bytes[start + 5] == 92,
                bytes[start + 6] == 117
            {
                let low = hex(bytes, start + 7, 4)
                if low >= 0xDC00, low < 0xE000 {
                    append(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00), &out)
                    return start + 11
                }
            }
            append(unit, &out)
            return start + 5
        case 13:
            // A continued line: CR, LF or both are not part of the text.
            return start + 1 < bytes.endIndex && bytes[start + 1] == 10 ? start + 2 : start + 1
        case 10: break
        case 0xE2 where start + 2 < bytes.endIndex && bytes[start + 1] == 0x80 && bytes[start + 2] & 0xFE == 0xA8:
            return start + 3
        default: out.append(byte)
        }
        return start + 1
    }

    private static func hex(_ bytes: ArraySlice<UInt8>, _ start: Int, _ count: Int) -> UInt32 {
        var value: UInt32 = 0
        for index in start..<min(start + count, bytes.endIndex) {
            value = value << 4 | UInt32(JSONScanner.hexValue(bytes[index]) ?? 0)
        }
        return value
    }

    private static func append(_ scalar: UInt32, _ out: inout [UInt8]) {
        switch scalar {
        case ..<0x80: out.append(UInt8(scalar))
        case ..<0x800: out += [UInt8(0xC0 | scalar >> 6), UInt8(0x80 | scalar & 63)]
        case ..<0x10000: out += [UInt8(0xE0 | scalar >> 12), UInt8(0x80 | scalar >> 6 & 63), UInt8(0x80 | scalar & 63)]
        default:
            out += [
                UInt8(0xF0 | scalar >> 18 & 7), UInt8(0x80 | scalar >> 12 & 63), UInt8(0x80 | scalar >> 6 & 63),
                UInt8(0x80 | scalar & 63),
            ]
        }
    }
}
