import PushSimWire

/// Percent-encoding (RFC 3986 section 2.1) and the form encoding of URLs.
package enum Percent {
    /// The decoded bytes, or nil where a `%` is not followed by two hexadecimal digits.
    package static func decode(_ bytes: some Collection<UInt8>, plusIsSpace: Bool = false) -> [UInt8]? {
        var out: [UInt8] = []
        out.reserveCapacity(bytes.count)
        var rest = bytes.makeIterator()
        while let byte = rest.next() {
            if byte == 43, plusIsSpace {
                out.append(32)
            } else if byte == 37 {
                guard let first = rest.next(), let second = rest.next(), let high = Byte.hexValue(first),
                    let low = Byte.hexValue(second)
                else { return nil }
                out.append(high << 4 | low)
            } else {
                out.append(byte)
            }
        }
        return out
    }

    /// The pairs of a query or form body, in order; nil where an escape is bad.
    package static func form(_ bytes: some Collection<UInt8>) -> [(name: [UInt8], value: [UInt8])]? {
        var pairs: [(name: [UInt8], value: [UInt8])] = []
        for (name, value) in raw(bytes) {
            guard let name = decode(name, plusIsSpace: true), let value = decode(value, plusIsSpace: true) else {
                return nil
            }
            pairs.append((name, value))
        }
        return pairs
    }

    /// The same, where a name or value with a bad escape stands for itself.
    package static func lenientForm(_ bytes: some Collection<UInt8>) -> [(name: [UInt8], value: [UInt8])] {
        raw(bytes).map { name, value in
            (decode(name, plusIsSpace: true) ?? Array(name), decode(value, plusIsSpace: true) ?? Array(value))
        }
    }

    private static func raw(
        _ bytes: some Collection<UInt8>
    ) -> [(name: ArraySlice<UInt8>, value: ArraySlice<UInt8>)] {
        Array(bytes).split(separator: 38).map { part in
            let equals = part.firstIndex(of: 61) ?? part.endIndex
            return (part[..<equals], part[min(equals + 1, part.endIndex)...])
        }
    }
}
