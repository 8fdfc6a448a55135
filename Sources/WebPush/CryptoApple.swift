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

        static func hmac(key: [UInt8], _ message: [UInt8]) -> [UInt8] {
            Array(HMAC<SHA256>.authenticationCode(for: message, using: SymmetricKey(data: key)))
        }

        /// Whether 65 octets are an uncompressed point of the curve other than infinity.
        static func isPoint(_ octets: [UInt8]) -> Bool {
            octets.count == 65 && octets[0] == 4
                && (try? P256.KeyAgreement.PublicKey(x963Representation: octets)) != nil
        }

        /// The x coordinate, 32 octets, of the product; nil where the scalar is out of range or the point is none.
        static func sharedSecret(scalar: [UInt8], point octets: [UInt8]) -> [UInt8]? {
            guard octets.count == 65, octets[0] == 4,
                let key = try? P256.KeyAgreement.PrivateKey(rawRepresentation: scalar),
                let peer = try? P256.KeyAgreement.PublicKey(x963Representation: octets)
            else { return nil }
            return (try? key.sharedSecretFromKeyAgreement(with: peer))?.withUnsafeBytes { Array($0) }
        }

        /// The ciphertext and, behind it, the tag of 16 octets.
        static func seal(key: [UInt8], nonce: [UInt8], additional: [UInt8], _ plaintext: [UInt8]) -> [UInt8]? {
            guard key.count == 16, let nonce = try? AES.GCM.Nonce(data: nonce),
                let box = try? AES.GCM.seal(
                    plaintext, using: SymmetricKey(data: key), nonce: nonce, authenticating: additional)
            else { return nil }
            return Array(box.ciphertext) + Array(box.tag)
        }

        /// Nil where the tag is not the text's.
        static func open(key: [UInt8], nonce: [UInt8], additional: [UInt8], _ sealed: [UInt8]) -> [UInt8]? {
            guard key.count == 16, sealed.count >= 16, let nonce = try? AES.GCM.Nonce(data: nonce),
                let box = try? AES.GCM.SealedBox(
                    nonce: nonce, ciphertext: sealed.dropLast(16), tag: sealed.suffix(16))
            else { return nil }
            return (try? AES.GCM.open(box, using: SymmetricKey(data: key), authenticating: additional)).map {
                Array($0)
            }
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
