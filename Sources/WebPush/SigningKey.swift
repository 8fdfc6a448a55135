/// A P-256 key pair for ES256 (RFC 7518 section 3.4).
package struct SigningKey: Hashable, Sendable {
    private let scalar: [UInt8]
    /// The uncompressed point, 65 octets.
    package let publicKey: [UInt8]

    /// - Parameter scalar: 32 octets; nil where they are no number from 1 to the order of the curve less 1.
    package init?(scalar: [UInt8]) {
        guard scalar.count == 32, let point = PlatformCrypto.publicKey(scalar: scalar) else { return nil }
        self.scalar = scalar
        publicKey = point
    }

    /// r and s, 32 octets each. Nil only where the crypto library fails.
    package func sign(_ message: [UInt8]) -> [UInt8]? {
        PlatformCrypto.sign(digest: Digest.sha256(message), scalar: scalar)
    }

    package static func isValid(_ signature: [UInt8], of message: [UInt8], by publicKey: [UInt8]) -> Bool {
        PlatformCrypto.verify(signature: signature, digest: Digest.sha256(message), publicKey: publicKey)
    }
}
