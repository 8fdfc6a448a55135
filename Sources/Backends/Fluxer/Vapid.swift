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
    static let lifetime: Int64 = 12 * 3600
    private let key: SigningKey
    private let tokens = Mutex<[Key: String]>([:])

    init(_ key: SigningKey) { self.key = key }

    var publicKey: [UInt8] { key.publicKey }

    /// The signed token. Deliveries of one second to one origin share it: a signature costs as much as a third of a
    /// record.
    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - lifetime: in seconds.
    func token(_ origin: String, now: Int64, lifetime: Int64 = lifetime) -> String? {
        let wanted = Key(origin: origin, expires: now + lifetime)
        if let known = tokens.withLock({ $0[wanted] }) { return known }
        let claims: JSON = [
            "aud": .string(origin), "exp": .int(wanted.expires), "sub": "mailto:pushsim@pushsim.example",
        ]
        guard let token = JSONWebToken.make(claims: claims, key: key) else { return nil }
        tokens.withLock { tokens in
            if tokens.count >= 1024 { tokens.removeAll() }
            tokens[wanted] = token
        }
        return token
    }
}
