import PushSimWire

/// Whether a host is an address, and one that the public internet routes (contract fluxer.md, "Publicly routable").
/// Shape only: no name is looked up.
enum PublicAddress {
    enum Kind: Hashable {
        case name
        case routable
        case unroutable
        /// A number at the end that is no address, or brackets around none.
        case malformed
    }

    /// - Parameter host: lower case, percent-decoded, with brackets where it has them.
    static func kind(_ host: [UInt8]) -> Kind {
        if host.first == 91 {
            guard host.last == 93, let words = ipv6(Array(host.dropFirst().dropLast())) else { return .malformed }
            return isRoutable(words) ? .routable : .unroutable
        }
        guard endsInNumber(host) else { return .name }
        guard let address = ipv4(host) else { return .malformed }
        return isRoutable(address) ? .routable : .unroutable
    }

    // MARK: IPv4

    /// The last label is a number, in any notation (WHATWG URL, "ends in a number").
    private static func endsInNumber(_ host: [UInt8]) -> Bool {
        var labels = host.split(separator: 46, omittingEmptySubsequences: false)
        if labels.count > 1, labels.last?.isEmpty == true { labels.removeLast() }
        guard let last = labels.last, !last.isEmpty else { return false }
        if last.allSatisfy({ $0 >= 48 && $0 <= 57 }) { return true }
        return number(last) != nil
    }

    /// One to four parts, each decimal, octal or hexadecimal; the last fills what is left.
    static func ipv4(_ host: [UInt8]) -> UInt32? {
        var labels = host.split(separator: 46, omittingEmptySubsequences: false)
        if labels.count > 1, labels.last?.isEmpty == true { labels.removeLast() }
        guard labels.count <= 4 else { return nil }
        var numbers: [UInt64] = []
        for label in labels {
            guard let number = number(label) else { return nil }
            numbers.append(number)
        }
        guard let last = numbers.last, numbers.dropLast().allSatisfy({ $0 < 256 }),
            last < 1 << UInt64(8 * (5 - numbers.count))
        else { return nil }
        var address = last
        for (index, part) in numbers.dropLast().enumerated() { address += part << UInt64(8 * (3 - index)) }
        return UInt32(truncatingIfNeeded: address)
    }

    private static func number(_ label: ArraySlice<UInt8>) -> UInt64? {
        guard let first = label.first else { return nil }
        var digits = label
        var base: UInt64 = 10
        if first == 48, label.count > 1 {
            let second = label[label.startIndex + 1] | 32
            if second == 120 {
                base = 16
                digits = label.dropFirst(2)
            } else {
                base = 8
                digits = label.dropFirst()
            }
        }
        var value: UInt64 = 0
        for byte in digits {
            guard let digit = Byte.hexValue(byte), UInt64(digit) < base, value < 1 << 40 else { return nil }
            value = value * base + UInt64(digit)
        }
        return value
    }

    private static let closed: [(network: UInt32, bits: UInt32)] = [
        (0x0000_0000, 8), (0x0A00_0000, 8), (0x6440_0000, 10), (0x7F00_0000, 8), (0xA9FE_0000, 16),
        (0xAC10_0000, 12), (0xC000_0000, 24), (0xC000_0200, 24), (0xC058_6300, 24), (0xC0A8_0000, 16),
        (0xC612_0000, 15), (0xC633_6400, 24), (0xCB00_7100, 24), (0xE000_0000, 4), (0xF000_0000, 4),
    ]

    static func isRoutable(_ address: UInt32) -> Bool {
        !closed.contains { address >> (32 - $0.bits) == $0.network >> (32 - $0.bits) }
    }

    // MARK: IPv6

    /// Eight words; nil where it is no address (RFC 4291 section 2.2).
    static func ipv6(_ text: [UInt8]) -> [UInt16]? {
        // A zone is for the machine's own links.
        guard !text.contains(37) else { return nil }
        var halves: [[UInt16]] = [[]]
        var rest = text[...]
        if rest.starts(with: [58, 58]) {
            halves.append([])
            rest = rest.dropFirst(2)
        }
        while let first = rest.first {
            let piece = rest.prefix { $0 != 58 }
            if piece.contains(46) {
                guard piece.count == rest.count, let address = dotted(piece) else { return nil }
                halves[halves.count - 1] += [UInt16(address >> 16), UInt16(address & 0xFFFF)]
                rest = []
                continue
            }
            guard first != 58, (1...4).contains(piece.count) else { return nil }
            var word: UInt16 = 0
            for byte in piece {
                guard let digit = Byte.hexValue(byte) else { return nil }
                word = word << 4 | UInt16(digit)
            }
            halves[halves.count - 1].append(word)
            rest = rest.dropFirst(piece.count)
            guard !rest.isEmpty else { break }
            if rest.starts(with: [58, 58]) {
                guard halves.count == 1 else { return nil }
                halves.append([])
                rest = rest.dropFirst(2)
            } else {
                rest = rest.dropFirst()
                guard !rest.isEmpty else { return nil }
            }
        }
        let count = halves.reduce(0) { $0 + $1.count }
        if halves.count == 1 { return count == 8 ? halves[0] : nil }
        guard count < 8 else { return nil }
        return halves[0] + [UInt16](repeating: 0, count: 8 - count) + halves[1]
    }

    /// The strict form of an IPv4 address, as it may end an IPv6 one.
    private static func dotted(_ text: ArraySlice<UInt8>) -> UInt32? {
        let parts = text.split(separator: 46, omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var address: UInt32 = 0
        for part in parts {
            guard let number = decimalDigits(part), number < 256, part.count == String(number).utf8.count else {
                return nil
            }
            address = address << 8 | UInt32(number)
        }
        return address
    }

    static func isRoutable(_ words: [UInt16]) -> Bool {
        let low = UInt32(words[6]) << 16 | UInt32(words[7])
        let isMapped = words[..<5].allSatisfy { $0 == 0 } && words[5] == 0xFFFF
        let isTranslated = words[0] == 0x64 && words[1] == 0xFF9B && words[2..<6].allSatisfy { $0 == 0 }
        let isCompatible = words[..<6].allSatisfy { $0 == 0 }
        // This covers :: and ::1 as well: they are 0.0.0.0 and 0.0.0.1.
        if isMapped || isTranslated || isCompatible { return isRoutable(low) }
        if words[0] == 0x2002 { return isRoutable(UInt32(words[1]) << 16 | UInt32(words[2])) }
        if words[0] == 0x2001, words[1] == 0x0DB8 { return false }
        return words[0] & 0xFE00 != 0xFC00 && words[0] & 0xFFC0 != 0xFE80 && words[0] & 0xFF00 != 0xFF00
    }
}
