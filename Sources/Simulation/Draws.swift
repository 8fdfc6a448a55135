package import PushSimWebPush

/// What looks like chance: a pure function of seed, seed name, purpose, natural key and index (DESIGN.md, decision 5).
package struct Draws: Hashable, Sendable {
    package let seed: UInt64
    package let seedName: [UInt8]

    package init(seed: UInt64, seedName: String) {
        self.seed = seed
        self.seedName = Array(seedName.utf8)
    }

    /// 32 octets: SHA-256 over the parts, each behind its length in four octets, most significant first.
    package func octets(_ purpose: StaticString, _ key: [[UInt8]], index: Int = 0) -> [UInt8] {
        var message: [UInt8] = []
        message.reserveCapacity(128)
        Self.append(Self.octets(of: seed), &message)
        Self.append(seedName, &message)
        Self.append(Array(UnsafeBufferPointer(start: purpose.utf8Start, count: purpose.utf8CodeUnitCount)), &message)
        for part in key { Self.append(part, &message) }
        Self.append(Self.octets(of: UInt64(truncatingIfNeeded: index)), &message)
        return Digest.sha256(message)
    }

    /// A number from 0 up to, but not, 1, of the first 53 bits.
    package func unit(_ purpose: StaticString, _ key: [[UInt8]], index: Int = 0) -> Double {
        let bits = octets(purpose, key, index: index).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Double(bits >> 11) / 9_007_199_254_740_992
    }

    /// The first `count` digits, at most 64, of the octets in lower-case hexadecimal.
    package func hex(_ purpose: StaticString, _ key: [[UInt8]], index: Int = 0, count: Int) -> [UInt8] {
        Array(Hex.bytes(octets(purpose, key, index: index)).prefix(count))
    }

    /// A version 4 UUID (RFC 9562), lower case.
    package func uuid(_ purpose: StaticString, _ key: [[UInt8]], index: Int = 0) -> [UInt8] {
        var raw = Array(octets(purpose, key, index: index).prefix(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        var text = Hex.bytes(raw)
        for position in [20, 16, 12, 8] { text.insert(45, at: position) }
        return text
    }

    /// A P-256 key pair.
    package func signingKey(_ purpose: StaticString, _ key: [[UInt8]]) -> SigningKey? {
        // One draw in four thousand million is no scalar of the curve; then the next is taken.
        for index in 0..<8 {
            if let key = SigningKey(scalar: octets(purpose, key, index: index)) { return key }
        }
        return nil
    }

    private static func append(_ part: [UInt8], _ message: inout [UInt8]) {
        let count = UInt32(truncatingIfNeeded: part.count)
        message.append(UInt8(truncatingIfNeeded: count >> 24))
        message.append(UInt8(truncatingIfNeeded: count >> 16))
        message.append(UInt8(truncatingIfNeeded: count >> 8))
        message.append(UInt8(truncatingIfNeeded: count))
        message.append(contentsOf: part)
    }

    private static func octets(of number: UInt64) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 8) { buffer, count in
            var index = 0
            while index < 8 {
                buffer[index] = UInt8(truncatingIfNeeded: number >> UInt64(56 - index * 8))
                index += 1
            }
            count = 8
        }
    }
}
