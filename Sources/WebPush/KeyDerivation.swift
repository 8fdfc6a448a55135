/// HKDF with SHA-256 (RFC 5869).
package enum HKDF {
    /// - Parameter count: at most 255 blocks of 32 octets; nil for more.
    package static func derive(salt: [UInt8], input: [UInt8], info: [UInt8], count: Int) -> [UInt8]? {
        guard count >= 0, count <= 255 * 32 else { return nil }
        let pseudorandomKey = PlatformCrypto.hmac(
            key: salt.isEmpty ? [UInt8](repeating: 0, count: 32) : salt, input)
        var output: [UInt8] = []
        var block: [UInt8] = []
        var number: UInt8 = 1
        while output.count < count {
            block = PlatformCrypto.hmac(key: pseudorandomKey, block + info + [number])
            output += block
            number &+= 1
        }
        return Array(output.prefix(count))
    }
}

/// AES-128 in GCM with nonces of 12 and tags of 16 octets.
package enum AESGCM {
    /// The ciphertext with the tag behind it. Nil only for a key or nonce of another length.
    package static func seal(
        key: [UInt8], nonce: [UInt8], additional: [UInt8] = [], _ plaintext: [UInt8]
    ) -> [UInt8]? {
        PlatformCrypto.seal(key: key, nonce: nonce, additional: additional, plaintext)
    }

    /// Nil where the tag is not the text's.
    package static func open(
        key: [UInt8], nonce: [UInt8], additional: [UInt8] = [], _ sealed: [UInt8]
    ) -> [UInt8]? {
        PlatformCrypto.open(key: key, nonce: nonce, additional: additional, sealed)
    }
}

/// What a record is encrypted with (RFC 8291 section 3.4): each step one block of HKDF.
package struct ContentKeys: Hashable, Sendable {
    package var key: [UInt8]
    package var nonce: [UInt8]

    private static let infoPrefix = Array("WebPush: info\0".utf8)
    private static let keyInfo = Array("Content-Encoding: aes128gcm\0".utf8)
    private static let nonceInfo = Array("Content-Encoding: nonce\0".utf8)

    /// - Parameters:
    ///   - secret: the x coordinate of the agreed point, 32 octets.
    ///   - receiver: the receiver's public point, 65 octets.
    ///   - sender: the sender's public point, 65 octets.
    package init?(secret: [UInt8], auth: [UInt8], receiver: [UInt8], sender: [UInt8], salt: [UInt8]) {
        guard
            let input = HKDF.derive(
                salt: auth, input: secret, info: Self.infoPrefix + receiver + sender, count: 32),
            let key = HKDF.derive(salt: salt, input: input, info: Self.keyInfo, count: 16),
            let nonce = HKDF.derive(salt: salt, input: input, info: Self.nonceInfo, count: 12)
        else { return nil }
        self.key = key
        self.nonce = nonce
    }
}
