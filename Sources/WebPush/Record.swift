package import PushSimJSONText

/// One Web Push record (RFC 8188 section 2, RFC 8291): header, ciphertext and tag.
package enum Record {
    package static let saltLength = 16
    package static let headerLength = 86
    package static let tagLength = 16
    /// Header, delimiter and tag: what a record has beside its plaintext.
    package static let overhead = 103
    /// The largest body that every push service takes (RFC 8030 section 7.2).
    package static let largest = 4096

    /// How long a body is to be at least; shorter ones are padded.
    package enum Padding: Hashable, Sendable {
        case none
        /// Octets of the whole body.
        case to(Int)
    }

    /// What the header says of the record's size.
    package enum Size: Hashable, Sendable {
        case octets(UInt32)
        /// Equal to the ciphertext with its tag: fine in RFC 8188, but RFC 8291 wants more.
        case exact
        /// One more than that: the least that RFC 8291 allows.
        case tight
    }

    /// Encrypts. The same salt and sender key must never serve for two plaintexts.
    /// - Returns: the body, or nil where the salt is not 16 octets or the crypto library fails.
    package static func encrypt(
        _ plaintext: [UInt8], to receiver: ReceiverKeys, sender: KeyPair, salt: [UInt8],
        padding: Padding = .none, size: Size = .octets(4096)
    ) -> [UInt8]? {
        guard salt.count == saltLength, let secret = sender.agree(with: receiver.publicKey),
            let keys = ContentKeys(
                secret: secret, auth: receiver.authSecret, receiver: receiver.publicKey, sender: sender.publicKey,
                salt: salt)
        else { return nil }
        return assemble(
            padded(plaintext, padding), keys, salt: salt, size: size, keyID: sender.publicKey)
    }

    /// Plaintext, delimiter 0x02, zeros.
    static func padded(_ plaintext: [UInt8], _ padding: Padding) -> [UInt8] {
        var text = plaintext
        text.append(2)
        if case .to(let length) = padding {
            let zeros = length - headerLength - tagLength - text.count
            if zeros > 0 { text += [UInt8](repeating: 0, count: zeros) }
        }
        return text
    }

    static func assemble(
        _ text: [UInt8], _ keys: ContentKeys, salt: [UInt8], size: Size, keyID: [UInt8], additional: [UInt8] = []
    ) -> [UInt8]? {
        guard let sealed = AESGCM.seal(key: keys.key, nonce: keys.nonce, additional: additional, text) else {
            return nil
        }
        return header(salt: salt, recordSize: value(of: size, sealed.count), keyID: keyID) + sealed
    }

    static func value(of size: Size, _ ciphertext: Int) -> UInt32 {
        switch size {
        case .octets(let value): value
        case .exact: UInt32(truncatingIfNeeded: ciphertext)
        case .tight: UInt32(truncatingIfNeeded: ciphertext + 1)
        }
    }

    static func header(salt: [UInt8], recordSize: UInt32, keyID: [UInt8]) -> [UInt8] {
        var header = salt
        header.reserveCapacity(salt.count + 5 + keyID.count)
        for shift in [24, 16, 8, 0] as [UInt32] { header.append(UInt8(truncatingIfNeeded: recordSize >> shift)) }
        header.append(UInt8(truncatingIfNeeded: keyID.count))
        return header + keyID
    }

    /// Where the opening of a record fails.
    package enum Stage: String, Error, Hashable, Sendable {
        case framing, point, tag, padding, content
    }

    /// Opens a record, strictly: exactly one, an uncompressed point, the delimiter checked.
    package static func decrypt(_ body: [UInt8], with keys: DeviceKeys) throws(Stage) -> [UInt8] {
        guard body.count >= 21 else { throw .framing }
        let recordSize = body[16..<20].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        guard recordSize >= 18, body[20] == 65, body.count >= headerLength else {
            throw .framing
        }
        let sealed = Array(body[headerLength...])
        guard sealed.count > tagLength, Int(recordSize) >= sealed.count else { throw .framing }
        let sender = Array(body[21..<headerLength])
        guard sender[0] == 4, PlatformCrypto.isPoint(sender), let secret = keys.pair.agree(with: sender) else {
            throw .point
        }
        guard
            let content = ContentKeys(
                secret: secret, auth: keys.authSecret, receiver: keys.pair.publicKey, sender: sender,
                salt: Array(body[..<saltLength])),
            let text = AESGCM.open(key: content.key, nonce: content.nonce, sealed)
        else { throw .tag }
        var end = text.count
        while end > 0, text[end - 1] == 0 { end -= 1 }
        guard end > 0, text[end - 1] == 2 else { throw .padding }
        return Array(text[..<(end - 1)])
    }

    /// Opens a record whose plaintext must be one JSON object: UTF-8, no name twice, no lone surrogate.
    package static func decryptJSON(_ body: [UInt8], with keys: DeviceKeys) throws(Stage) -> JSONDocument {
        let text = try decrypt(body, with: keys)
        guard let document = try? JSONDocument(text), document.root.kind == .object, isSound(document.root) else {
            throw .content
        }
        return document
    }

    private static func isSound(_ value: JSONValue) -> Bool {
        switch value.kind {
        case .string: value.stringBytes?.isUTF8Text ?? false
        case .array: value.elements.allSatisfy(isSound)
        case .object:
            value.firstDuplicate == nil && value.members.allSatisfy { isSound($0.key) && isSound($0.value) }
        default: true
        }
    }
}

extension [UInt8] {
    fileprivate var isUTF8Text: Bool { String(validating: self, as: UTF8.self) != nil }
}
