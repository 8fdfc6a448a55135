/// The inside of JSON strings.
enum JSONString {
    static func decode(_ source: ArraySlice<UInt8>) -> [UInt8] {
        source.withUnsafeBufferPointer { source in
            let isQuoted = source.first == 34 || source.first == 39
            let bytes = isQuoted ? UnsafeBufferPointer(rebasing: source.dropFirst().dropLast()) : source
            // No escape stands for more octets than it takes.
            return [UInt8](unsafeUninitializedCapacity: bytes.count) { buffer, count in
                guard let target = buffer.baseAddress else { return }
                count = decode(bytes, target)
            }
        }
    }

    /// - Returns: how many octets were written.
    private static func decode(_ bytes: UnsafeBufferPointer<UInt8>, _ target: UnsafeMutablePointer<UInt8>) -> Int {
        var out = Output(target: target)
        var index = 0
        guard let base = bytes.baseAddress else { return 0 }
        while index < bytes.count {
            let end = JSONRun.end(base, index, bytes.count, quote: 92)
            out.append(base + index, end - index)
            index = end
            guard index < bytes.count else { break }
            if bytes[index] == 92, index + 1 < bytes.count {
                if bytes[index + 1] == 34 {
                    out.append(34)
                    index += 2
                    continue
                }
                index = unescape(bytes, index + 1, &out)
            } else {
                out.append(bytes[index])
                index += 1
            }
        }
        return out.count
    }

    private struct Output {
        let target: UnsafeMutablePointer<UInt8>
        var count = 0

        mutating func append(_ run: UnsafePointer<UInt8>, _ length: Int) {
            (target + count).update(from: run, count: length)
            count += length
        }

        mutating func append(_ byte: UInt8) {
            target[count] = byte
            count += 1
        }

        mutating func append(scalar: UInt32) {
            switch scalar {
            case ..<0x80: append(UInt8(scalar))
            case ..<0x800:
                append(UInt8(0xC0 | scalar >> 6))
                append(UInt8(0x80 | scalar & 63))
            case ..<0x10000:
                append(UInt8(0xE0 | scalar >> 12))
                append(UInt8(0x80 | scalar >> 6 & 63))
                append(UInt8(0x80 | scalar & 63))
            default:
                append(UInt8(0xF0 | scalar >> 18 & 7))
                append(UInt8(0x80 | scalar >> 12 & 63))
                append(UInt8(0x80 | scalar >> 6 & 63))
                append(UInt8(0x80 | scalar & 63))
            }
        }
    }

    /// Appends what the escape after the backslash stands for; answers where the text goes on.
    private static func unescape(_ bytes: UnsafeBufferPointer<UInt8>, _ start: Int, _ out: inout Output) -> Int {
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
            out.append(scalar: hex(bytes, start + 1, 2))
            return start + 3
        case 117:
            let unit = hex(bytes, start + 1, 4)
            if unit >= 0xD800, unit < 0xDC00, start + 10 < bytes.count, bytes[start + 5] == 92, bytes[start + 6] == 117
            {
                let low = hex(bytes, start + 7, 4)
                if low >= 0xDC00, low < 0xE000 {
                    out.append(scalar: 0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
                    return start + 11
                }
            }
            out.append(scalar: unit)
            return start + 5
        case 13:
            // A continued line: CR, LF or both are not part of the text.
            return start + 1 < bytes.count && bytes[start + 1] == 10 ? start + 2 : start + 1
        case 10: break
        case 0xE2 where start + 2 < bytes.count && bytes[start + 1] == 0x80 && bytes[start + 2] & 0xFE == 0xA8:
            return start + 3
        default: out.append(byte)
        }
        return start + 1
    }

    private static func hex(_ bytes: UnsafeBufferPointer<UInt8>, _ start: Int, _ count: Int) -> UInt32 {
        var value: UInt32 = 0
        for index in start..<min(start + count, bytes.count) {
            value = value << 4 | UInt32(JSONScanner.hexValue(bytes[index]) ?? 0)
        }
        return value
    }
}
