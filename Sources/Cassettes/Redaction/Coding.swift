import PushSimJSONText
import PushSimSimulation
import PushSimWebPush
import PushSimWire

/// How a value is written in a text.
package enum Coding: String, Sendable, CaseIterable {
    case percent, json, base64, base64url, hex
    /// Of JSON: what the text of a placeholder stands for.
    case number, boolean, null

    /// Of a kind that JSON has without quotes: what stands for one.
    var literal: [UInt8]? {
        switch self {
        case .number: Array("0".utf8)
        case .boolean: Array("false".utf8)
        case .null: Array("null".utf8)
        default: nil
        }
    }

    func encode(_ value: [UInt8]) -> [UInt8] {
        switch self {
        case .percent: Self.percentEncode(value)
        case .json: Array(JSON.text(value).bytes.dropFirst().dropLast())
        case .base64: Array(Base64.encode(value, .standard).utf8)
        case .base64url: Array(Base64.encode(value, .url).utf8)
        case .hex: Hex.bytes(value)
        case .number, .boolean, .null: value
        }
    }

    func decode(_ text: [UInt8]) -> [UInt8]? {
        switch self {
        case .percent: Percent.decode(text)
        case .json: (try? JSONDocument([34] + text + [34]))?.root.stringBytes
        case .base64, .base64url: Base64.decodeLeniently(text)
        case .hex: Self.unhex(text)
        case .number, .boolean, .null: text
        }
    }

    /// All but the unreserved characters (RFC 3986 section 2.3).
    static func percentEncode(_ value: [UInt8]) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return value.flatMap { byte -> [UInt8] in
            switch byte {
            case 48...57, 65...90, 97...122, 45, 46, 95, 126: [byte]
            default: [37, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
    }

    static func unhex(_ text: [UInt8]) -> [UInt8]? {
        guard text.count % 2 == 0 else { return nil }
        var out: [UInt8] = []
        var index = 0
        while index < text.count {
            guard let high = Byte.hexValue(text[index]), let low = Byte.hexValue(text[index + 1]) else { return nil }
            out.append(high << 4 | low)
            index += 2
        }
        return out
    }
}

/// A text decoded, with where each octet came from.
struct DecodedText {
    var bytes: [UInt8]
    /// Where each octet of `bytes` begins in the source, and where the source ends.
    var starts: [Int]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        starts = Array(0...bytes.count)
    }

    /// Nothing yet, with room for what may come of another.
    private init(room: Int) {
        (bytes, starts) = ([], [])
        bytes.reserveCapacity(room)
        starts.reserveCapacity(room + 1)
    }

    /// Undoes percent-encoding; an escape that is none stays as it is. Nil where there is nothing to undo.
    func percentDecoded(plusIsSpace: Bool = false) -> DecodedText? {
        guard bytes.contains(37) || plusIsSpace && bytes.contains(43) else { return nil }
        var out = DecodedText(room: bytes.count)
        var index = 0
        while index < bytes.count {
            out.starts.append(starts[index])
            if bytes[index] == 37, index + 2 < bytes.count, let high = Byte.hexValue(bytes[index + 1]),
                let low = Byte.hexValue(bytes[index + 2])
            {
                out.bytes.append(high << 4 | low)
                index += 3
            } else {
                out.bytes.append(plusIsSpace && bytes[index] == 43 ? 32 : bytes[index])
                index += 1
            }
        }
        if out.bytes.count == bytes.count, !(plusIsSpace && bytes.contains(43)) { return nil }
        out.starts.append(starts[bytes.count])
        return out
    }

    /// Undoes the escapes of JSON strings. Nil where there are none.
    func jsonDecoded() -> DecodedText? {
        guard bytes.contains(92) else { return nil }
        var out = DecodedText(room: bytes.count)
        var index = 0
        while index < bytes.count {
            let length = escapeLength(index)
            if length == 1 {
                out.bytes.append(bytes[index])
                out.starts.append(starts[index])
            } else {
                let escape = Array(bytes[index..<(index + length)])
                for byte in Coding.json.decode(escape) ?? escape {
                    out.bytes.append(byte)
                    out.starts.append(starts[index])
                }
            }
            index += length
        }
        if out.bytes.count == bytes.count { return nil }
        out.starts.append(starts[bytes.count])
        return out
    }

    /// How many octets the escape at `index` takes; a pair of surrogates is one.
    private func escapeLength(_ index: Int) -> Int {
        guard bytes[index] == 92, index + 1 < bytes.count else { return 1 }
        guard bytes[index + 1] == 117 else { return 2 }
        let left = bytes.count - index
        if left >= 12, bytes[index + 2] | 32 == 100, let second = Byte.hexValue(bytes[index + 3]), second >= 8,
            second < 12, bytes[index + 6] == 92, bytes[index + 7] == 117
        {
            return 12
        }
        return min(6, left)
    }
}
