// Rows F, P and D: the frame of the record, the sender's point, the padding.
extension RecordForge {
    func framing(_ id: String, _ plaintext: [UInt8]) -> [UInt8]? {
        // Long enough that what is cut off leaves a ciphertext.
        let text = plaintext.count < 24 ? plaintext + [UInt8](repeating: 32, count: 24 - plaintext.count) : plaintext
        switch id {
        case "F11": return record(text, size: .octets(0))
        case "F12": return record(text, size: .octets(17))
        case "F14": return record(text, size: .octets(0x0010_0000))
        case "F20", "F21", "F22", "F23": return twoRecords(id, text)
        default: return record(text).map { cut(id, $0) }
        }
    }

    private func cut(_ id: String, _ body: [UInt8]) -> [UInt8] {
        var body = body
        let header = Record.headerLength
        switch id {
        case "F01": return []
        case "F02": return Array(body.prefix(15))
        case "F03": return Array(body.prefix(21))
        case "F04": return Array(body.prefix(60))
        case "F05": return Array(body.prefix(header))
        case "F06": return Array(body.prefix(header + 1))
        case "F07": return tagOnly(body)
        case "F08": return Array(body.dropLast(16))
        case "F09": return Array(body.dropLast())
        case "F10": return body + [0]
        case "F13": return resized(body, UInt32(truncatingIfNeeded: body.count - header - 1))
        case "F15": return Array(body[..<20]) + [0] + body[header...]
        case "F16": body[20] = 0
        case "F17": body[20] = 64
        case "F18": body[20] = 66
        case "F19": body[20] = 255
        case "F24":
            let size = UInt32(truncatingIfNeeded: max(4096, body.count * 2))
            return resized(body, size) + body
        case "F25": body[0] ^= 1
        // A bit of y: the point leaves the curve.
        case "F26": body[header - 1] ^= 1
        case "F27": body[header] ^= 1
        default: body[body.count - 1] ^= 1
        }
        return body
    }

    private func resized(_ body: [UInt8], _ size: UInt32) -> [UInt8] {
        Record.header(salt: Array(body[..<16]), recordSize: size, keyID: Array(body[21..<Record.headerLength]))
            + body[Record.headerLength...]
    }

    private func tagOnly(_ body: [UInt8]) -> [UInt8] {
        guard let sender, let secret = sender.agree(with: receiver.publicKey), let keys = keys(secret),
            let tag = AESGCM.seal(key: keys.key, nonce: keys.nonce, [])
        else { return Array(body.prefix(Record.headerLength)) }
        return body[..<Record.headerLength] + tag
    }

    /// RFC 8188 section 2: the nonce of each record is XORed with its number; all but the last end in 0x01.
    private func twoRecords(_ id: String, _ text: [UInt8]) -> [UInt8]? {
        guard let sender, let secret = sender.agree(with: receiver.publicKey), let keys = keys(secret) else {
            return nil
        }
        let half = (text.count + 1) / 2
        var second = keys.nonce
        second[11] ^= 1
        guard
            let first = AESGCM.seal(key: keys.key, nonce: keys.nonce, text[..<half] + [id == "F23" ? 2 : 1]),
            let last = AESGCM.seal(key: keys.key, nonce: second, text[half...] + [2])
        else { return nil }
        let isSmall = id == "F20" || id == "F23"
        let size: UInt32 = isSmall ? UInt32(truncatingIfNeeded: first.count) : 4096
        let header = Record.header(salt: salt(), recordSize: size, keyID: sender.publicKey)
        return id == "F22" ? header + first : header + first + last
    }

    // MARK: P

    func point(_ id: String, _ plaintext: [UInt8]) -> [UInt8]? {
        if id == "P11" { return ownKey(plaintext) }
        guard let sender, let body = record(plaintext) else { return nil }
        let key = Self.keyID(id, sender.publicKey)
        return Record.header(salt: salt(), recordSize: 4096, keyID: key) + body[Record.headerLength...]
    }

    private static func keyID(_ id: String, _ point: [UInt8]) -> [UInt8] {
        var point = point
        let parity = point[64] & 1
        switch id {
        case "P01": return [2 + parity] + point[1...32]
        case "P02": point[0] = 6 + parity
        case "P03": return Array(point.dropFirst())
        case "P04": return derPrefix + point
        case "P05": return [0]
        case "P06": return [4] + [UInt8](repeating: 0, count: 64)
        case "P07": point[64] ^= 1
        case "P08": point.replaceSubrange(1...32, with: prime)
        case "P09": return secp256k1
        default: point[0] = 5
        }
        return point
    }

    /// SubjectPublicKeyInfo of a P-256 key up to the point (RFC 5480).
    private static let derPrefix: [UInt8] = [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48,
        0xCE,
        0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
    ]

    /// The prime of P-256 (FIPS 186-4, D.1.2.3).
    private static let prime: [UInt8] =
        [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 1] + [UInt8](repeating: 0, count: 12) + [UInt8](repeating: 0xFF, count: 12)

    /// The base point of secp256k1 (SEC 2, 2.4.1).
    private static let secp256k1: [UInt8] = [
        0x04, 0x79, 0xBE, 0x66, 0x7E, 0xF9, 0xDC, 0xBB, 0xAC, 0x55, 0xA0, 0x62, 0x95, 0xCE, 0x87, 0x0B, 0x07, 0x02,
        0x9B,
        0xFC, 0xDB, 0x2D, 0xCE, 0x28, 0xD9, 0x59, 0xF2, 0x81, 0x5B, 0x16, 0xF8, 0x17, 0x98, 0x48, 0x3A, 0xDA, 0x77,
        0x26,
        0xA3, 0xC4, 0x65, 0x5D, 0xA4, 0xFB, 0xFC, 0x0E, 0x11, 0x08, 0xA8, 0xFD, 0x17, 0xB4, 0x48, 0xA6, 0x85, 0x54,
        0x19,
        0x9C, 0x47, 0xD0, 0x8F, 0xFB, 0x10, 0xD4, 0xB8,
    ]

    private func ownKey(_ plaintext: [UInt8]) -> [UInt8]? {
        if let device, device.publicKey == receiver.publicKey {
            return Record.encrypt(plaintext, to: receiver, sender: device, salt: salt())
        }
        guard let body = record(plaintext) else { return nil }
        return Record.header(salt: salt(), recordSize: 4096, keyID: receiver.publicKey)
            + body[Record.headerLength...]
    }

    // MARK: D

    func padding(_ id: String, _ plaintext: [UInt8]) -> [UInt8]? {
        // What stands last must be no delimiter by chance, nor a zero.
        let text = plaintext.isEmpty || plaintext[plaintext.count - 1] <= 2 ? plaintext + [32] : plaintext
        switch id {
        case "D01": return raw(text)
        case "D02": return raw([UInt8](repeating: 0, count: text.count + 1))
        case "D03": return raw(text + [1])
        case "D04": return raw(text + [3])
        case "D05": return raw(text + [2, 0, 0, 1, 0])
        case "D06": return raw([0, 0] + text)
        case "D07": return raw([2])
        default: return raw(text + [0, 0, 2])
        }
    }
}
