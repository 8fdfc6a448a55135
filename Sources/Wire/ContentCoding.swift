import CPushSimZlib

/// The content codings that can be undone here (RFC 9110 section 8.4.1).
package enum ContentCoding: String, Sendable {
    case gzip, deflate

    /// Nil for none, for one that is not known here, and for several.
    package init?(_ name: [UInt8]) {
        switch name.trimmed.map(Byte.lowercased).text {
        case "gzip", "x-gzip": self = .gzip
        case "deflate": self = .deflate
        default: return nil
        }
    }

    package func decode(_ coded: [UInt8], limit: Int) throws(Inflate.Failure) -> [UInt8] {
        switch self {
        case .gzip: try Inflate.gzip(coded, limit: limit)
        case .deflate: try Inflate.deflate(coded, limit: limit)
        }
    }

    /// The coding with nothing made smaller: the same octets with every version of every library.
    package func encodeStored(_ plain: [UInt8]) -> [UInt8] {
        var out: [UInt8] = self == .gzip ? [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF] : [0x78, 0x01]
        var start = 0
        repeat {
            let count = min(0xFFFF, plain.count - start)
            out.append(start + count == plain.count ? 1 : 0)
            for number in [count, ~count & 0xFFFF] { out += [UInt8(number & 0xFF), UInt8(number >> 8)] }
            out += plain[start..<(start + count)]
            start += count
        } while start < plain.count
        let length = UInt32(truncatingIfNeeded: plain.count)
        if self == .gzip {
            let check = UInt32(truncatingIfNeeded: crc32(0, plain, length))
            for number in [check, length] { for shift in [0, 8, 16, 24] { out.append(UInt8(number >> shift & 0xFF)) } }
        } else {
            let check = UInt32(truncatingIfNeeded: adler32(1, plain, length))
            for shift in [24, 16, 8, 0] { out.append(UInt8(check >> shift & 0xFF)) }
        }
        return out
    }
}
