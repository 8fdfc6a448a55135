import PushSimWire

/// Who calls, by the Authorization field alone (contract fluxer.md, "Credentials").
enum Credential: Hashable {
    case none
    /// A session token, whether or not the account is known.
    case session([UInt8])
    /// A bot or an OAuth2 bearer.
    case other
    /// Not to be made sense of, or of an administrator.
    case refused

    /// - Parameter strict: takes only tokens of the form `flx_` and 36 letters or digits.
    init(_ head: RequestHead, strict: Bool) {
        guard let value = head.value(.authorization), !value.isEmpty else {
            self = .none
            return
        }
        if value.starts(with: "Bearer ") {
            let token = Array(value.dropFirst(7)).trimmed
            self = token.starts(with: "flx_") ? (Self.isWellFormed(token) ? .session(token) : .refused) : .other
        } else if value.starts(with: "Bot ") {
            self = .other
        } else if Self.schemes.contains(where: value.equalsIgnoringCase) {
            // A scheme with nothing behind it: the client had no token.
            self = .refused
        } else if value.contains(Byte.space) || value.contains(Byte.tab) {
            self = .refused
        } else if value.starts(with: "flx_") {
            self = Self.isWellFormed(value) ? .session(value) : .refused
        } else {
            self = strict ? .refused : .session(value)
        }
    }

    /// Whether a client can send this text as its session token.
    static func isSession(_ token: [UInt8]) -> Bool {
        if token.starts(with: "flx_") { return isWellFormed(token) }
        return !token.isEmpty && token.allSatisfy { $0 > 32 && $0 != 127 }
            && !schemes.contains(where: token.equalsIgnoringCase)
    }

    private static let schemes: [[UInt8]] = ["Bearer", "Bot", "Admin", "Basic"].map { Array($0.utf8) }

    static func isWellFormed(_ token: [UInt8]) -> Bool {
        token.count == 40
            && token.dropFirst(4).allSatisfy { byte in
                (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
            }
    }
}
