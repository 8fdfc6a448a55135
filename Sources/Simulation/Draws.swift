import CPushSimSystem
package import PushSimWebPush
import PushSimWire

/// What looks like chance: a pure function of seed, seed name, purpose, natural key and index (DESIGN.md, decision 5).
package struct Draws: Hashable, Sendable {
    package let seed: UInt64
    package let seedName: [UInt8]
    /// What every message begins with.
    private let opening: [UInt8]

    package init(seed: UInt64, seedName: String) { self.init(seed: seed, seedName: Array(seedName.utf8)) }

    package init(seed: UInt64, seedName: [UInt8]) {
        self.seed = seed
        self.seedName = seedName
        var opening = [UInt8](zeros: 12 + 4 + seedName.count)
        Self.write(seed, seedName, &opening)
        self.opening = opening
    }

    private static func write(_ seed: UInt64, _ name: [UInt8], _ target: UnsafeMutableRawPointer) {
        var writer = PartWriter(next: target)
        writer.put(seed)
        writer.put(name, name.count)
    }

    /// 32 octets: SHA-256 over the parts, each behind its length in four octets, most significant first.
    package func octets(_ purpose: StaticString, _ key: [[UInt8]], index: Int = 0) -> [UInt8] {
        var size = opening.count + 4 + purpose.utf8CodeUnitCount + 12
        var number = 0
        while number < key.count {
            size += 4 + key[number].count
            number += 1
        }
        var message = [UInt8](zeros: size)
        write(purpose, key, index, &message)
        return Digest.sha256(message)
    }

    private func write(
        _ purpose: StaticString, _ key: [[UInt8]], _ index: Int, _ target: UnsafeMutableRawPointer
    ) {
        memcpy(target, opening, opening.count)
        var writer = PartWriter(next: target + opening.count)
        writer.put(purpose.utf8Start, purpose.utf8CodeUnitCount)
        var number = 0
        while number < key.count {
            writer.put(key[number], key[number].count)
            number += 1
        }
        writer.put(UInt64(truncatingIfNeeded: index))
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
        var raw = octets(purpose, key, index: index)
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        var text = Array<UInt8>(Self.dashes)
        Self.write(raw, &text)
        return text
    }

    private static let dashes: StaticString = "------------------------------------"

    /// The digits of a UUID's octets, where it has no dash.
    private static func write(_ octets: UnsafePointer<UInt8>, _ text: UnsafeMutablePointer<UInt8>) {
        let digits = ("0123456789abcdef" as StaticString).utf8Start
        var target = text
        var index = 0
        while index < 16 {
            if index == 4 || index == 6 || index == 8 || index == 10 { target += 1 }
            target[0] = digits[Int(octets[index] >> 4)]
            target[1] = digits[Int(octets[index] & 15)]
            target += 2
            index += 1
        }
    }

    /// A P-256 key pair for one record.
    package func keyPair(_ purpose: StaticString, _ key: [[UInt8]], index: Int = 0) -> KeyPair? {
        // One draw in four thousand million is no scalar of the curve; then the next is taken.
        for attempt in 0..<8 {
            if let pair = KeyPair(scalar: octets(purpose, key, index: index << 3 | attempt)) { return pair }
        }
        return nil
    }

    /// A P-256 key pair.
    package func signingKey(_ purpose: StaticString, _ key: [[UInt8]]) -> SigningKey? {
        // One draw in four thousand million is no scalar of the curve; then the next is taken.
        for index in 0..<8 {
            if let key = SigningKey(scalar: octets(purpose, key, index: index)) { return key }
        }
        return nil
    }
}

/// Writes parts, each behind its length, into memory whose size was reckoned beforehand.
private struct PartWriter {
    var next: UnsafeMutableRawPointer

    mutating func put(_ part: UnsafePointer<UInt8>, _ count: Int) {
        next.storeBytes(of: UInt32(truncatingIfNeeded: count).bigEndian, as: UInt32.self)
        memcpy(next + 4, part, count)
        next += 4 + count
    }

    mutating func put(_ number: UInt64) {
        next.storeBytes(of: UInt32(8).bigEndian, as: UInt32.self)
        (next + 4).storeBytes(of: number.bigEndian, as: UInt64.self)
        next += 12
    }
}
