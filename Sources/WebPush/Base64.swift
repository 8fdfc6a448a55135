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
    package static func decodeLeniently(_ text: [UInt8]) -> [UInt8]? {
        var bare = text
        while bare.last == 61 { bare.removeLast() }
        var out: [UInt8] = []
        out.reserveCapacity(bare.count * 3 / 4)
        var word: UInt32 = 0
        var bits = 0
        for byte in bare {
            guard let value = value(byte == 43 ? 45 : byte == 47 ? 95 : byte) else { return nil }
            word = word << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                out.append(UInt8(truncatingIfNeeded: word >> UInt32(bits)))
            }
        }
        return bits < 6 ? out : nil
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
