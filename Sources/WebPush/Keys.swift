/// What is wrong with a key or secret.
package enum KeyError: Error, Hashable, Sendable, CustomStringConvertible {
    case notBase64URL(String)
    case wrongLength(String, got: Int, wanted: Int)
    case notUncompressed(String)
    case notOnCurve(String)
    case notAScalar(String)

    package var description: String {
        switch self {
        case .notBase64URL(let what):
            "\(what) is not base64url (RFC 4648 section 5, no padding, no bits left over)"
        case .wrongLength(let what, let got, let wanted): "\(what) has \(got) octets, not \(wanted)"
        case .notUncompressed(let what): "\(what) does not begin with 0x04: it is no uncompressed point"
        case .notOnCurve(let what): "\(what) is no point of P-256"
        case .notAScalar(let what): "\(what) is no private key of P-256"
        }
    }
}

/// How keys are read: as RFC 8291 writes them, or as some clients do.
package enum KeyReading: Sendable {
    /// Base64url without padding, in its one canonical form.
    case strict
    /// Also the standard alphabet, padding, and bits left over in the last character.
    case lenient

    func octets(_ text: [UInt8], _ what: String, count: Int) throws(KeyError) -> [UInt8] {
        let decoded = self == .strict ? Base64.decode(text) : Base64.decodeLeniently(text)
        guard let decoded else { throw .notBase64URL(what) }
        guard decoded.count == count else { throw .wrongLength(what, got: decoded.count, wanted: count) }
        return decoded
    }
}

/// Where a record goes: a device's public point and its auth secret (RFC 8291 section 2).
package struct ReceiverKeys: Hashable, Sendable {
    /// Uncompressed, 65 octets, on the curve.
    package let publicKey: [UInt8]
    /// 16 octets.
    package let authSecret: [UInt8]

    package init(publicKey: [UInt8], authSecret: [UInt8]) throws(KeyError) {
        guard publicKey.count == 65 else {
            throw .wrongLength("encryption_key", got: publicKey.count, wanted: 65)
        }
        guard publicKey[0] == 4 else { throw .notUncompressed("encryption_key") }
        guard PlatformCrypto.isPoint(publicKey) else { throw .notOnCurve("encryption_key") }
        guard authSecret.count == 16 else { throw .wrongLength("auth_secret", got: authSecret.count, wanted: 16) }
        self.publicKey = publicKey
        self.authSecret = authSecret
    }

    package init(
        encryptionKey: [UInt8], authSecret: [UInt8], _ reading: KeyReading = .strict
    ) throws(KeyError) {
        try self.init(
            publicKey: reading.octets(encryptionKey, "encryption_key", count: 65),
            authSecret: reading.octets(authSecret, "auth_secret", count: 16))
    }
}

/// A P-256 private key and its public point.
package struct KeyPair: Hashable, Sendable {
    /// 32 octets.
    package let scalar: [UInt8]
    /// Uncompressed, 65 octets.
    package let publicKey: [UInt8]

    /// Nil where the scalar is no number from 1 to the order of the curve less 1.
    package init?(scalar: [UInt8]) {
        guard let publicKey = PlatformCrypto.publicKey(scalar: scalar) else { return nil }
        self.scalar = scalar
        self.publicKey = publicKey
    }

    /// A private key as base64url.
    package init(text: [UInt8]) throws(KeyError) {
        let scalar = try KeyReading.strict.octets(text, "private_key", count: 32)
        guard let pair = KeyPair(scalar: scalar) else { throw .notAScalar("private_key") }
        self = pair
    }

    /// The x coordinate of the agreed point, 32 octets; nil where the point is not on the curve.
    package func agree(with publicKey: [UInt8]) -> [UInt8]? {
        PlatformCrypto.sharedSecret(scalar: scalar, point: publicKey)
    }
}

/// What a device holds to open records.
package struct DeviceKeys: Hashable, Sendable {
    package let pair: KeyPair
    /// 16 octets.
    package let authSecret: [UInt8]

    /// Both as base64url.
    package init(privateKey: [UInt8], authSecret: [UInt8]) throws(KeyError) {
        try self.init(
            pair: KeyPair(text: privateKey), authSecret: KeyReading.strict.octets(authSecret, "auth_secret", count: 16))
    }

    package init(pair: KeyPair, authSecret: [UInt8]) throws(KeyError) {
        guard authSecret.count == 16 else { throw .wrongLength("auth_secret", got: authSecret.count, wanted: 16) }
        self.pair = pair
        self.authSecret = authSecret
    }
}
