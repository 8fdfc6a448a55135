/// SHA-256 (FIPS 180-4).
package enum Digest {
    package static func sha256(_ message: [UInt8]) -> [UInt8] { message.withUnsafeBytes { PlatformCrypto.sha256($0) } }
}

/// Lower-case hexadecimal text.
package enum Hex {
    private static let digits = Array("0123456789abcdef".utf8)

    package static func bytes(_ raw: some Sequence<UInt8>) -> [UInt8] {
        var out: [UInt8] = []
        for byte in raw {
            out.append(digits[Int(byte >> 4)])
            out.append(digits[Int(byte & 15)])
        }
        return out
    }

    package static func text(_ raw: some Sequence<UInt8>) -> String { String(decoding: bytes(raw), as: UTF8.self) }
}
