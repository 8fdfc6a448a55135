#if canImport(CryptoKit)
    import CryptoKit
#elseif PUSHSIM_SWIFT_CRYPTO
    import Crypto
#endif

#if canImport(CryptoKit) || PUSHSIM_SWIFT_CRYPTO
    /// The primitives, by CryptoKit.
    enum PlatformCrypto {
        static func sha256(_ message: UnsafeRawBufferPointer) -> [UInt8] {
            var hash = SHA256()
            hash.update(bufferPointer: message)
            return Array(hash.finalize())
        }

        /// The uncompressed public point of a scalar, or nil where the scalar is out of range.
        static func publicKey(scalar: [UInt8]) -> [UInt8]? {
            guard let key = try? P256.Signing.PrivateKey(rawRepresentation: scalar) else { return nil }
            return Array(key.publicKey.x963Representation)
        }

        static func sign(digest: [UInt8], scalar: [UInt8]) -> [UInt8]? {
            guard let key = try? P256.Signing.PrivateKey(rawRepresentation: scalar), let signed = Prehashed(digest)
            else {
                return nil
            }
            return (try? key.signature(for: signed)).map { Array($0.rawRepresentation) }
        }

        static func verify(signature: [UInt8], digest: [UInt8], publicKey: [UInt8]) -> Bool {
            guard let key = try? P256.Signing.PublicKey(x963Representation: publicKey), let signed = Prehashed(digest),
                let parsed = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
            else { return false }
            return key.isValidSignature(parsed, for: signed)
        }
    }

    /// A digest that was reckoned before.
    private struct Prehashed: Digest {
        static var byteCount: Int { 32 }
        private let bytes: [UInt8]

        init?(_ bytes: [UInt8]) {
            guard bytes.count == 32 else { return nil }
            self.bytes = bytes
        }

        func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
            try bytes.withUnsafeBytes(body)
        }
        func makeIterator() -> Array<UInt8>.Iterator { bytes.makeIterator() }
        static func == (left: Self, right: Self) -> Bool { left.bytes == right.bytes }
        func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
        var description: String { "SHA-256 digest" }
    }
#endif
