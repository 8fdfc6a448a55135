/// Base64 (RFC 4648 section 4) and base64url (section 5).
package enum Base64 {
    package enum Alphabet: Sendable {
        case standard, url
    }

    /// Base64url comes without padding, as every part of Web Push writes it.
    package static func encode(_ bytes: [UInt8], _ alphabet: Alphabet = .url) -> String {
        let digits = Array(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789\(alphabet == .url ? "-_" : "+/")".utf8)
        var out: [UInt8] = []
        out.reserveCapacity((bytes.count + 2) / 3 * 4)
        var index = 0
        while index < bytes.count {
            let left = bytes.count - index
            let word =
                UInt32(bytes[index]) << 16 | (left > 1 ? UInt32(bytes[index + 1]) << 8 : 0)
                | (left > 2 ? UInt32(bytes[index + 2]) : 0)
            out.append(digits[Int(word >> 18 & 63)])
            out.append(digits[Int(word >> 12 & 63)])
            if left > 1 { out.append(digits[Int(word >> 6 & 63)]) }
            if left > 2 { out.append(digits[Int(word & 63)]) }
            index += 3
        }
        if alphabet == .standard { while out.count % 4 != 0 { out.append(61) } }
        return String(decoding: out, as: UTF8.self)
    }

    /// Reads base64url strictly: no padding, no other alphabet, no bits left over in the last character.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        var out: [UInt8] = []
        out.reserveCapacity(text.count * 3 / 4)
        var word: UInt32 = 0
        var bits = 0
        for byte in text {
            guard let value = value(byte) else { return nil }
            word = word << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                out.append(UInt8(truncatingIfNeeded: word >> UInt32(bits)))
                word &= (1 << UInt32(bits)) - 1
            }
        }
        return word == 0 && bits < 6 ? out : nil
    }

    /// Reads either alphabet, with or without padding, whatever bits are left over; nil for other characters and for a
    /// single last character.
    /// - Parameter skipsSpace: whether spaces and control characters are passed over.
    package static func decodeLeniently(_ text: [UInt8], skipsSpace: Bool = false) -> [UInt8]? {
        var isGood = true
        let out = [UInt8](unsafeUninitializedCapacity: text.count / 4 * 3 + 3) { buffer, count in
            guard let target = buffer.baseAddress else { return }
            text.withUnsafeBufferPointer { text in
                values.withUnsafeBufferPointer { values in
                    isGood = decode(text, values, skipsSpace, target, &count)
                }
            }
        }
        return isGood ? out : nil
    }

    private static func decode(
        _ text: UnsafeBufferPointer<UInt8>, _ values: UnsafeBufferPointer<UInt8>, _ skipsSpace: Bool,
        _ target: UnsafeMutablePointer<UInt8>, _ count: inout Int
    ) -> Bool {
        var end = text.count
        while end > 0, text[end - 1] == 61 || skipsSpace && text[end - 1] <= 32 { end -= 1 }
        var (index, written, bits) = (0, 0, 0)
        var word: UInt32 = 0
        while index < end {
            if bits == 0, index + 4 <= end {
                let (a, b) = (values[Int(text[index])], values[Int(text[index + 1])])
                let (c, d) = (values[Int(text[index + 2])], values[Int(text[index + 3])])
                if a | b | c | d < 64 {
                    target[written] = a << 2 | b >> 4
                    target[written + 1] = b << 4 | c >> 2
                    target[written + 2] = c << 6 | d
                    written += 3
                    index += 4
                    continue
                }
            }
            let byte = text[index]
            index += 1
            if skipsSpace, byte <= 32 { continue }
            let value = values[Int(byte)]
            if value > 63 { return false }
            word = word << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                target[written] = UInt8(truncatingIfNeeded: word >> UInt32(bits))
                written += 1
            }
        }
        count = written
        return bits < 6
    }

    /// What each octet stands for in either alphabet; 255 for those that are in neither.
    private static let values: [UInt8] = (0...255).map { byte in
        value(byte == 43 ? 45 : byte == 47 ? 95 : byte) ?? 255
    }

    private static func value(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 65...90: byte - 65
        case 97...122: byte - 71
        case 48...57: byte + 4
        case 45: 62
        case 95: 63
        default: nil
        }
    }
}
