/// SHA-256 (FIPS 180-4).
package enum Digest {
    package static func sha256(_ message: [UInt8]) -> [UInt8] { message.withUnsafeBytes { PlatformCrypto.sha256($0) } }

    package static func sha256(_ message: ArraySlice<UInt8>) -> [UInt8] {
        message.withUnsafeBytes { PlatformCrypto.sha256($0) }
    }
}

/// Lower-case hexadecimal text.
package enum Hex {
    package static func bytes(_ raw: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: raw.count * 2) { buffer, count in
            raw.withUnsafeBufferPointer { raw in
                guard let source = raw.baseAddress, let target = buffer.baseAddress else { return }
                let digits = ("0123456789abcdef" as StaticString).utf8Start
                var index = 0
                while index < raw.count {
                    target[index * 2] = digits[Int(source[index] >> 4)]
                    target[index * 2 + 1] = digits[Int(source[index] & 15)]
                    index += 1
                }
            }
            count = raw.count * 2
        }
    }

    package static func text(_ raw: [UInt8]) -> String { String(decoding: bytes(raw), as: UTF8.self) }
}
