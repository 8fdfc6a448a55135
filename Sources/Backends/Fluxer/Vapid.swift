import PushSimJSONText
import PushSimWebPush
import PushSimWire
import Synchronization

/// The fake's application server identification (RFC 8292).
final class Vapid: Sendable {
    private struct Key: Hashable {
        let origin: String
        let expires: Int64
    }

    /// How long a token holds, in seconds.
    private static let lifetime: Int64 = 12 * 3600
    private let key: SigningKey
    private let fields = Mutex<[Key: [UInt8]]>([:])

    init(_ key: SigningKey) { self.key = key }

    var publicKey: [UInt8] { key.publicKey }

    /// The Authorization field. Deliveries of one second to one origin share a token: a signature costs as much as a
    /// third of a record.
    /// - Parameter now: seconds since 1970.
    func authorization(_ origin: String, now: Int64) -> [UInt8]? {
        let wanted = Key(origin: origin, expires: now + Self.lifetime)
        if let known = fields.withLock({ $0[wanted] }) { return known }
        let claims: JSON = [
            "aud": .string(origin), "exp": .int(wanted.expires), "sub": "mailto:pushsim@pushsim.example",
        ]
        guard let token = JSONWebToken.make(claims: claims, key: key) else { return nil }
        let field = Array("vapid t=\(token), k=\(Base64.encode(key.publicKey))".utf8)
        fields.withLock { fields in
            if fields.count >= 1024 { fields.removeAll() }
            fields[wanted] = field
        }
        return field
    }
}
