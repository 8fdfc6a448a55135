import CPushSimZlib

/// The content codings that can be undone here (RFC 9110 section 8.4.1).
package struct ContentCoding: Hashable, Sendable {
    private enum Kind: Hashable {
        case gzip, deflate
    }

    /// In the order in which they were applied.
    private let kinds: [Kind]

    package static let gzip = ContentCoding([.gzip])
    package static let deflate = ContentCoding([.deflate])

    private init(_ kinds: [Kind]) { self.kinds = kinds }

    /// Nil for none, and where one is not known here.
    package init?(_ name: [UInt8]) {
        var kinds: [Kind] = []
        for part in name.split(separator: Byte.comma) {
            switch Array(part).trimmed.map(Byte.lowercased).text {
            case "gzip", "x-gzip": kinds.append(.gzip)
            case "deflate": kinds.append(.deflate)
            case "identity", "": continue
            default: return nil
            }
        }
        guard !kinds.isEmpty else { return nil }
        self.kinds = kinds
    }

    package func decode(_ coded: [UInt8], limit: Int) throws(Inflate.Failure) -> [UInt8] {
        var bytes = coded
        for kind in kinds.reversed() {
            switch kind {
            case .gzip: bytes = try Inflate.gzip(bytes, limit: limit)
            case .deflate: bytes = try Inflate.deflate(bytes, limit: limit)
            }
        }
        return bytes
    }

    /// As far as it goes, of what is cut or damaged.
    package func decodePrefix(_ coded: [UInt8], limit: Int) -> [UInt8] {
        kinds.reversed().reduce(coded) { Inflate.prefix($0, isGzip: $1 == .gzip, limit: limit) }
    }

    /// The coding with nothing made smaller: the same octets with every version of every library.
    package func encodeStored(_ plain: [UInt8]) -> [UInt8] { kinds.reduce(plain) { Self.stored($0, $1) } }

    private static func stored(_ plain: [UInt8], _ kind: Kind) -> [UInt8] {
        var out: [UInt8] = kind == .gzip ? [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF] : [0x78, 0x01]
        var start = 0
        repeat {
            let count = min(0xFFFF, plain.count - start)
            out.append(start + count == plain.count ? 1 : 0)
            for number in [count, ~count & 0xFFFF] { out += [UInt8(number & 0xFF), UInt8(number >> 8)] }
            out += plain[start..<(start + count)]
            start += count
        } while start < plain.count
        let length = UInt32(truncatingIfNeeded: plain.count)
        if kind == .gzip {
            let check = UInt32(truncatingIfNeeded: crc32(0, plain, length))
            for number in [check, length] { for shift in [0, 8, 16, 24] { out.append(UInt8(number >> shift & 0xFF)) } }
        } else {
            let check = UInt32(truncatingIfNeeded: adler32(1, plain, length))
            for shift in [24, 16, 8, 0] { out.append(UInt8(check >> shift & 0xFF)) }
        }
        return out
    }
}
