import PushSimJSONText
import PushSimWire

/// What is a secret beside what always is: `header:NAME`, `query:NAME`, `form:NAME`, `json:PATH`, `regex:PATTERN`.
package struct RedactionRule: Sendable {
    enum Place: Sendable {
        case header([UInt8])
        case query([UInt8])
        case form([UInt8])
        /// The path's steps; `*` is every element or member.
        case json([JSONPath.Step])
        case regex(String)
    }

    /// As it was given.
    package let text: String
    let place: Place

    /// - Throws: a message that says what rules look like.
    package init(_ text: String) throws(CassetteError) {
        self.text = text
        let colon = text.firstIndex(of: ":") ?? text.endIndex
        let rest = colon == text.endIndex ? "" : String(text[text.index(after: colon)...])
        guard !rest.isEmpty else { throw Self.mistake(text) }
        switch text[..<colon] {
        case "header": place = .header(Array(rest.utf8))
        case "query": place = .query(Array(rest.utf8))
        case "form": place = .form(Array(rest.utf8))
        case "json":
            guard let path = JSONPath(rest.replacing("[*]", with: ".*")) else {
                throw CassetteError("--redact \(text): \"\(rest)\" is no path such as $.user.pin or $.items[*].key")
            }
            place = .json(path.steps)
        case "regex":
            // Rules are written into the file, so that a replay knows them.
            guard rest.utf8.contains(where: { "^$.*+?()[]{}|\\".utf8.contains($0) }) else {
                throw CassetteError(
                    "--redact \(text) is the secret itself, and rules are kept in the file: give a pattern that "
                        + "describes it, or name its place with header:, query:, form: or json:")
            }
            guard !Self.isUnbounded(rest) else {
                throw CassetteError(
                    "--redact \(text): a repetition within a repetition may take for ever; write it without")
            }
            do {
                _ = try Regex(rest)
            } catch {
                throw CassetteError("--redact \(text): this is no regular expression: \(error)")
            }
            place = .regex(rest)
        default: throw Self.mistake(text)
        }
    }

    /// Whether a group that repeats holds something that repeats: such expressions take exponential time.
    private static func isUnbounded(_ pattern: String) -> Bool {
        var open: [Bool] = []
        var closed = false
        var isEscaped = false
        var isInSet = false
        let bytes = Array(pattern.utf8)
        for (index, byte) in bytes.enumerated() {
            defer { isEscaped = byte == 92 && !isEscaped }
            if isEscaped { continue }
            switch byte {
            case 91: isInSet = true
            case 93: isInSet = false
            case _ where isInSet: break
            case 40: open.append(false)
            case 41:
                closed = open.popLast() ?? false
                if closed, !open.isEmpty { open[open.count - 1] = true }
                continue
            case 42, 43, 123:
                if closed { return true }
                // So many times and no other is one way to match.
                let rest = bytes[(index + 1)...]
                let end = rest.firstIndex { !(48...57).contains($0) }
                let isFixed = byte == 123 && end.map { $0 > rest.startIndex && bytes[$0] == 125 } ?? false
                if !isFixed, !open.isEmpty { open[open.count - 1] = true }
            default: break
            }
            closed = false
        }
        return false
    }

    private static func mistake(_ text: String) -> CassetteError {
        CassetteError(
            "--redact takes header:NAME, query:NAME, form:NAME, json:PATH or regex:PATTERN, not \"\(text)\"")
    }

    /// The name of the field that the rule is about; nil where it is about no name.
    var fieldName: [UInt8]? {
        switch place {
        case .header(let name), .query(let name), .form(let name): name
        case .json(let steps): if case .member(let name) = steps.last, name != "*" { Array(name.utf8) } else { nil }
        case .regex: nil
        }
    }

    /// What placeholders are called that stand for what the rule finds.
    var kind: String {
        switch place {
        case .header(let name), .query(let name), .form(let name): Self.plain(name)
        case .json(let steps):
            steps.reversed().lazy.compactMap { step -> String? in
                if case .member(let name) = step, name != "*" { Self.plain(Array(name.utf8)) } else { nil }
            }.first ?? "json"
        case .regex: "secret"
        }
    }

    private static func plain(_ name: [UInt8]) -> String {
        let kept = name.map(Byte.lowercased).map { byte -> UInt8 in
            (97...122).contains(byte) || (48...57).contains(byte) ? byte : 45
        }
        return kept.text
    }
}

/// What always is a secret, by the names of fields and headers.
enum SecretNames {
    private static let headers: [String: String] = [
        "authorization": "authorization", "proxy-authorization": "authorization", "x-api-key": "api-key",
        "api-key": "api-key", "apikey": "api-key", "x-goog-api-key": "api-key", "x-auth-token": "token",
        "x-access-token": "token", "x-csrf-token": "token", "x-xsrf-token": "token", "x-session-token": "token",
        "x-token": "token",
    ]

    /// What a header holds, by its name in lower case.
    static func header(_ name: String) -> String? {
        if let known = headers[name] { return known }
        let parts: [(text: String, kind: String)] = [
            ("device-token", "device-token"), ("push-token", "device-token"), ("token", "token"),
            ("session-id", "token"), ("api-key", "api-key"), ("apikey", "api-key"), ("subscription-key", "api-key"),
            ("password", "password"), ("secret", "secret"), ("signature", "secret"), ("credential", "secret"),
        ]
        return parts.first { name.contains($0.text) }?.kind
    }

    /// By the name in lower case without `-` and `_`.
    private static let fields: [String: String] = {
        var table: [String: String] = [:]
        for name in [
            "token", "accesstoken", "refreshtoken", "idtoken", "sessiontoken", "authtoken", "csrftoken", "bearertoken",
            "session", "sessionid", "xtoken", "bearer",
        ] { table[name] = "token" }
        for name in [
            "devicetoken", "pushtoken", "fcmtoken", "apnstoken", "voiptoken", "registrationtoken", "pushkittoken",
            "registrationids",
        ] { table[name] = "device-token" }
        for name in ["apikey", "xapikey", "accesskey"] { table[name] = "api-key" }
        for name in ["password", "passwd", "pwd", "passphrase", "newpassword", "oldpassword"] {
            table[name] = "password"
        }
        for name in ["pin", "pincode", "otp"] { table[name] = "pin" }
        for name in ["secret", "clientsecret", "credential", "credentials"] { table[name] = "secret" }
        for name in ["authsecret", "auth"] { table[name] = "auth-secret" }
        // Public, but another one for each installation: a replay must take any.
        for name in ["encryptionkey", "p256dh"] { table[name] = "encryption-key" }
        table["privatekey"] = "private-key"
        table["authorization"] = "authorization"
        for name in ["endpoint", "pushendpoint"] { table[name] = "endpoint" }
        for name in ["email", "emailaddress", "mail"] { table[name] = "email" }
        return table
    }()

    static func field(_ name: [UInt8]) -> String? {
        let plain = name.filter { $0 != 45 && $0 != 95 }.map(Byte.lowercased).text
        if let known = fields[plain] { return known }
        // Lists of tokens.
        return plain.hasSuffix("tokens") ? fields[String(plain.dropLast())] : nil
    }

    /// What a query item is by names that say as much nowhere else: API keys, signatures, codes of a login.
    static func query(_ name: [UInt8]) -> String? {
        switch name.map(Byte.lowercased).text {
        case "key": "api-key"
        case "sig", "signature", "x-amz-signature": "secret"
        case "x-amz-security-token": "token"
        case "pass": "password"
        case "code": "token"
        default: nil
        }
    }

    /// Of several kinds that a value was found as, the first of these names it.
    private static let order = [
        "authorization", "private-key", "password", "auth-secret", "encryption-key", "api-key", "device-token",
        "endpoint", "cookie",
        "token", "jwt", "secret", "routing-id", "email",
    ]

    static func isBefore(_ left: String, _ right: String) -> Bool {
        let (first, second) = (order.firstIndex(of: left) ?? order.count, order.firstIndex(of: right) ?? order.count)
        return first != second ? first < second : left < right
    }
}
