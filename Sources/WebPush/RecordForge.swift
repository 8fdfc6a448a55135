import PushSimJSONText
import Synchronization

/// Makes the records of the catalogue. What it makes is a pure function of what it is given.
package struct RecordForge: Sendable {
    package let receiver: ReceiverKeys
    /// The key pair that the device had before; nil takes a derived one.
    package var previous: ReceiverKeys?
    /// The receiver's private key, where it is known: P11 opens only with it.
    package var device: KeyPair?
    /// 32 octets that look like chance, by purpose and number.
    let octets: @Sendable (StaticString, Int) -> [UInt8]

    package init(_ receiver: ReceiverKeys, octets: @escaping @Sendable (StaticString, Int) -> [UInt8]) {
        self.receiver = receiver
        self.octets = octets
    }

    /// The body; nil only where the crypto library fails.
    package func make(_ fault: RecordFault, _ plaintext: [UInt8]) -> [UInt8]? {
        switch fault.id.utf8.first {
        case 86: valid(fault.id, plaintext)
        case 75: key(fault.id, plaintext)
        case 70: framing(fault.id, plaintext)
        case 80: point(fault.id, plaintext)
        case 68: padding(fault.id, plaintext)
        case 67: content(fault.id, plaintext)
        case 82: record(plaintext)
        default: transport(fault.id, plaintext)
        }
    }

    // MARK: what all rows use

    /// - Parameter attempt: another salt, where the first one makes a body that fails elsewhere.
    func salt(_ attempt: Int = 0) -> [UInt8] { Array(octets("forge salt", attempt).prefix(16)) }

    func pair(_ purpose: StaticString) -> KeyPair? {
        for index in 0..<8 {
            if let pair = KeyPair(scalar: octets(purpose, index)) { return pair }
        }
        return nil
    }

    var sender: KeyPair? { pair("forge sender") }

    func stranger(_ purpose: StaticString) -> ReceiverKeys? {
        guard let pair = pair(purpose) else { return nil }
        return try? ReceiverKeys(publicKey: pair.publicKey, authSecret: receiver.authSecret)
    }

    func record(
        _ plaintext: [UInt8], to other: ReceiverKeys? = nil, padding: Record.Padding = .none,
        size: Record.Size = .octets(4096), attempt: Int = 0
    ) -> [UInt8]? {
        guard let sender else { return nil }
        return Record.encrypt(
            plaintext, to: other ?? receiver, sender: sender, salt: salt(attempt), padding: padding, size: size)
    }

    /// A record of this text as it stands, delimiter and padding included.
    func raw(_ text: [UInt8], size: Record.Size = .octets(4096)) -> [UInt8]? {
        guard let sender, let secret = sender.agree(with: receiver.publicKey), let keys = keys(secret) else {
            return nil
        }
        return Record.assemble(text, keys, salt: salt(), size: size, keyID: sender.publicKey)
    }

    func keys(_ secret: [UInt8]) -> ContentKeys? {
        guard let sender else { return nil }
        return ContentKeys(
            secret: secret, auth: receiver.authSecret, receiver: receiver.publicKey, sender: sender.publicKey,
            salt: salt())
    }

    var small: JSON { ["web_push": 8030, "title": "PushSim", "body": "", "data": .object([])] }

    /// The plaintext as an object; one that is none gives a small notification.
    func object(_ plaintext: [UInt8]) -> JSON {
        guard let root = try? JSONDocument(plaintext).root, root.kind == .object else {
            return small
        }
        return JSON(root)
    }

    // MARK: V

    private func valid(_ id: String, _ plaintext: [UInt8]) -> [UInt8]? {
        switch id {
        case "V02": return record(plaintext, padding: .to(2816))
        case "V03": return record(plaintext, size: .exact)
        case "V04": return record(plaintext, size: .tight)
        case "V05": return record(filled(["web_push": 8030, "title": "PushSim"], 2713), padding: .to(2816))
        case "V06": return record(plaintext, padding: .to(4096))
        case "V07": return zeroSecret(plaintext, dropsZero: false)
        case "V08": return record(plaintext, size: .octets(.max))
        case "V09":
            var json = object(plaintext)
            json.set("title", "Žluťoučký 日本語 😀 \u{202E}abc")
            return record(json.bytes)
        case "V10":
            let data: JSON = ["type": "notification_clear", "action": "clear_channel", "channel_id": "42"]
            return record(
                JSON.object([
                    .init("web_push", 8030), .init("type", "notification_clear"), .init("action", "clear_channel"),
                    .init("silent", true), .init("tag", "channel:42"), .init("data", data),
                ]).bytes)
        case "V11":
            let data: JSON = [
                "type": "call_ring", "channel_id": "42", "message_id": "7", "started_at_ms": 1_767_225_600_000,
                "expires_at_ms": 1_767_225_630_000,
            ]
            return record(
                JSON.object([.init("web_push", 8030), .init("type", "call_ring"), .init("data", data)]).bytes)
        default: return record(plaintext)
        }
    }

    /// The object with a member that fills it up to so many octets.
    func filled(_ json: JSON, _ count: Int) -> [UInt8] {
        var json = json
        json.set("fill", "")
        let missing = count - json.bytes.count
        if missing > 0 { json.set("fill", .string(String(repeating: "x", count: missing))) }
        return json.bytes
    }

    // MARK: K

    private func key(_ id: String, _ plaintext: [UInt8]) -> [UInt8]? {
        switch id {
        case "K01":
            var secret = receiver.authSecret
            secret[0] ^= 1
            return (try? ReceiverKeys(publicKey: receiver.publicKey, authSecret: secret))
                .flatMap { record(plaintext, to: $0) }
        case "K02": return stranger("forge other receiver").flatMap { record(plaintext, to: $0) }
        case "K03":
            if let previous { return record(plaintext, to: previous) }
            return stranger("forge previous receiver").flatMap { record(plaintext, to: $0) }
        case "K12": return zeroSecret(plaintext, dropsZero: true)
        default: return derived(id, plaintext)
        }
    }

    /// Rows that derive the keys in a wrong way, step by step.
    private func derived(_ id: String, _ plaintext: [UInt8]) -> [UInt8]? {
        guard let sender, let secret = sender.agree(with: receiver.publicKey) else { return nil }
        var (first, second) = (receiver.publicKey, sender.publicKey)
        if id == "K04" { first = pair("forge other receiver")?.publicKey ?? first }
        if id == "K05" { swap(&first, &second) }
        let prefix = Array((id == "K06" ? "WebPush: info" : "WebPush: info\0").utf8)
        let salt = salt()
        let (outer, inner) = id == "K13" ? (salt, receiver.authSecret) : (receiver.authSecret, salt)
        var keyInfo = Array("Content-Encoding: aes128gcm\0".utf8)
        var nonceInfo = Array("Content-Encoding: nonce\0".utf8)
        if id == "K07" { keyInfo.removeLast() }
        if id == "K08" { keyInfo = Array("Content-Encoding: aesgcm\0".utf8) }
        if id == "K10" {
            keyInfo.append(1)
            nonceInfo.append(1)
        }
        guard
            let input = HKDF.derive(salt: outer, input: secret, info: prefix + first + second, count: 32),
            let key = HKDF.derive(salt: inner, input: input, info: keyInfo, count: 16),
            var nonce = HKDF.derive(salt: inner, input: input, info: nonceInfo, count: 12),
            var keys = keys(secret)
        else { return nil }
        if id == "K09" { nonce[11] ^= 1 }
        keys.key = key
        keys.nonce = nonce
        return Record.assemble(
            Record.padded(plaintext, .none), keys, salt: salt, size: .octets(4096), keyID: sender.publicKey,
            additional: id == "K11" ? Array("aad".utf8) : [])
    }

    /// Sender keys with which the agreed x coordinate begins with a zero octet: one in 256, found once for a receiver.
    private static let zeroSenders = Mutex<[[UInt8]: KeyPair]>([:])

    /// Whether making the row needs a long search, which is not for the loop.
    package func isSlow(_ fault: RecordFault) -> Bool {
        guard fault.id == "K12" || fault.id == "V07" else { return false }
        return Self.zeroSenders.withLock { $0[receiver.publicKey] } == nil
    }

    private func zeroSecret(_ plaintext: [UInt8], dropsZero: Bool) -> [UInt8]? {
        guard let sender = zeroSender(), var secret = sender.agree(with: receiver.publicKey) else { return nil }
        if dropsZero { secret.removeFirst() }
        let salt = salt()
        guard
            let keys = ContentKeys(
                secret: secret, auth: receiver.authSecret, receiver: receiver.publicKey, sender: sender.publicKey,
                salt: salt)
        else { return nil }
        return Record.assemble(
            Record.padded(plaintext, .none), keys, salt: salt, size: .octets(4096), keyID: sender.publicKey)
    }

    /// A function of the receiver's key alone, so that it can be kept.
    private func zeroSender() -> KeyPair? {
        if let known = Self.zeroSenders.withLock({ $0[receiver.publicKey] }) { return known }
        for number in 0..<20_000 {
            let text = Array("zero sender \(number) ".utf8) + receiver.publicKey
            guard let pair = KeyPair(scalar: Digest.sha256(text)),
                pair.agree(with: receiver.publicKey)?.first == 0
            else { continue }
            Self.zeroSenders.withLock { senders in
                if senders.count >= 4096 { senders.removeAll() }
                senders[receiver.publicKey] = pair
            }
            return pair
        }
        return nil
    }
}
