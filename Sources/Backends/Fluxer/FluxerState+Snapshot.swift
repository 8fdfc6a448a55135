import PushSimJSONText
import PushSimSimulation
import PushSimWire

extension FluxerState {
    func reset() {
        accounts = [:]
        accountOrder = []
        sessions = [:]
        revoked = []
        limits = RateLimits()
        penalties = [:]
        calls = [:]
        sendings = [:]
        sessionsMinted = 0
        rung = []
    }

    var snapshot: JSON {
        [
            "accounts": .array(accountOrder.map(Self.describe)),
            "revoked_sessions": .array(
                revoked.sorted { $0.lexicographicallyPrecedes($1) }.map { .text($0) }),
            "calls": .array(
                calls.sorted { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }.map { channel, call in
                    [
                        "channel_id": .text(channel.bytes), "message_id": .string(call.messageID),
                        "expires": .string(TimeText.rfc3339(call.expires)),
                    ]
                }),
            "sendings": .array(
                sendings.sorted { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }.map {
                    ["message": .text($0.key.bytes), "count": .int($0.value)]
                }),
            "limits": .array(
                limits.full.sorted { ($0.key.bucket, $0.key.who.text) < ($1.key.bucket, $1.key.who.text) }.map {
                    [
                        "bucket": .string($0.key.bucket), "for": .text($0.key.who),
                        "until": .string(TimeText.rfc3339($0.value)),
                    ]
                }),
            "sessions_minted": .int(sessionsMinted),
        ]
    }

    private static func describe(_ account: Account) -> JSON {
        [
            "id": .text(account.id), "name": account.name.map { .string($0) } ?? .null,
            "flags": .array(account.flags.map { .string($0) }),
            "sessions": .array(account.sessions.map { .text($0) }), "badge_count": .int(account.badgeCount),
            "registrations": .array(account.registrations.map(describe)),
            "gone": .array(account.gone.sorted { $0.lexicographicallyPrecedes($1) }.map { .text($0) }),
        ]
    }

    private static func describe(_ registration: Registration) -> JSON {
        [
            "device_id": .text(registration.deviceID), "platform": .string(registration.platform.rawValue),
            "app_id": .string(registration.appID), "provider_environment": .string(registration.environment),
            "token": .string(registration.token),
            "encryption_key": registration.encryptionKey.map { .string($0) } ?? .null,
            "auth_secret": registration.authSecret.map { .string($0) } ?? .null,
            "user_agent": registration.userAgent.map { .string($0) } ?? .null,
            "features": .array(registration.features.map { .string($0) }), "session": .text(registration.session),
        ]
    }

    func restore(_ snapshot: JSONValue) throws(ControlError) {
        let fresh = FluxerState(firstObligation)
        fresh.options = options
        var reader = try MemberReader(snapshot, path: "$.fluxer")
        for (index, entry) in try reader.elements("accounts").enumerated() {
            try fresh.restoreAccount(entry, "$.fluxer.accounts[\(index)]")
        }
        fresh.revoked = Set((try reader.strings("revoked_sessions") ?? []).map { Array($0.utf8) })
        for (index, entry) in try reader.elements("calls").enumerated() {
            var call = try MemberReader(entry, path: "$.fluxer.calls[\(index)]")
            let channel = try call.required("channel_id")
            let message = try call.required("message_id")
            guard let expires = TimeText.instant(try call.required("expires")) else {
                throw ControlError("is no RFC 3339 time", path: "$.fluxer.calls[\(index)].expires")
            }
            try call.finish()
            fresh.calls[ByteKey(Array(channel.utf8))] = LiveCall(messageID: message, expires: expires)
        }
        for (index, entry) in try reader.elements("sendings").enumerated() {
            var sending = try MemberReader(entry, path: "$.fluxer.sendings[\(index)]")
            let message = try sending.required("message")
            fresh.sendings[ByteKey(Array(message.utf8))] = try sending.count("count")
            try sending.finish()
        }
        for (index, entry) in try reader.elements("limits").enumerated() {
            var limit = try MemberReader(entry, path: "$.fluxer.limits[\(index)]")
            let key = RateLimits.Key(
                bucket: try limit.required("bucket"), who: Array(try limit.required("for").utf8))
            guard let until = TimeText.instant(try limit.required("until")) else {
                throw ControlError("is no RFC 3339 time", path: "$.fluxer.limits[\(index)].until")
            }
            try limit.finish()
            fresh.limits.full[key] = until
        }
        fresh.sessionsMinted = try reader.count("sessions_minted")
        try reader.finish()
        take(fresh)
    }

    private func take(_ other: FluxerState) {
        accounts = other.accounts
        accountOrder = other.accountOrder
        sessions = other.sessions
        revoked = other.revoked
        limits = other.limits
        calls = other.calls
        sendings = other.sendings
        sessionsMinted = other.sessionsMinted
        penalties = [:]
    }

    private func restoreAccount(_ entry: JSONValue, _ path: String) throws(ControlError) {
        var reader = try MemberReader(entry, path: path)
        let id = try reader.required("id")
        guard Self.isID(id) else { throw ControlError("must be a decimal id", path: "\(path).id") }
        guard accounts[ByteKey(Array(id.utf8))] == nil else {
            throw ControlError("stands twice", path: "\(path).id")
        }
        let account = account(id: Array(id.utf8))
        account.name = try reader.string("name")
        account.flags = try reader.strings("flags") ?? []
        for (index, session) in (try reader.strings("sessions") ?? []).enumerated() {
            let token = Array(session.utf8)
            guard Credential.isSession(token) else {
                throw ControlError(
                    "is no session token: flx_ and 36 letters or digits, or another text without blanks",
                    path: "\(path).sessions[\(index)]")
            }
            guard sessions[ByteKey(token)] == nil else {
                throw ControlError("stands twice", path: "\(path).sessions[\(index)]")
            }
            add(token, account)
        }
        account.badgeCount = try reader.count("badge_count")
        for (index, element) in try reader.elements("registrations").enumerated() {
            account.add(try registration(element, "\(path).registrations[\(index)]"))
        }
        account.gone = Set((try reader.strings("gone") ?? []).map { Array($0.utf8) })
        try reader.finish()
    }

    private func registration(_ entry: JSONValue, _ path: String) throws(ControlError) -> Registration {
        var reader = try MemberReader(entry, path: path)
        let name = try reader.required("platform")
        guard let platform = Registration.Platform(rawValue: name) else {
            throw ControlError("\"\(name)\" is no platform", path: "\(path).platform")
        }
        let token = try reader.required("token")
        let encryptionKey = try reader.string("encryption_key")
        let authSecret = try reader.string("auth_secret")
        let endpoint = try endpoint(platform, token, (encryptionKey, authSecret), path)
        let registration = Registration(
            platform: platform, appID: try reader.string("app_id") ?? (platform == .web ? "" : "stable"),
            environment: try reader.string("provider_environment") ?? Registration.usualEnvironment(platform),
            token: token, encryptionKey: encryptionKey, authSecret: authSecret,
            userAgent: try reader.string("user_agent"), features: try reader.strings("features") ?? [],
            session: Array((try reader.string("session") ?? "").utf8), endpoint: endpoint)
        if let id = try reader.string("device_id"), !registration.deviceID.elementsEqual(id.utf8) {
            throw ControlError("is not the id of this registration", path: "\(path).device_id")
        }
        try reader.finish()
        return registration
    }

    /// What a registration must be by its platform, as at the route that makes it.
    private func endpoint(
        _ platform: Registration.Platform, _ token: String, _ keys: (encryption: String?, auth: String?), _ path: String
    ) throws(ControlError) -> EndpointURL? {
        guard !token.isEmpty, token.utf16.count <= 4096 else {
            throw ControlError("must have 1 to 4096 characters", path: "\(path).token")
        }
        guard platform.needsKeys || keys.encryption != nil || keys.auth != nil else {
            if EndpointURL.isURL(token) {
                throw ControlError("is a URL, but the registration has no keys", path: "\(path).token")
            }
            return nil
        }
        for (name, key) in [("encryption_key", keys.encryption), ("auth_secret", keys.auth)] where key == nil {
            throw ControlError("is missing: a Web Push registration has both keys", path: "\(path).\(name)")
        }
        do throws(EndpointURL.Problem) {
            return try EndpointURL(token, allowsPrivate: true)
        } catch {
            switch error {
            case .notAURL(let why): throw ControlError("is no endpoint: \(why)", path: "\(path).token")
            case .notRoutable: throw ControlError("is not publicly routable", path: "\(path).token")
            }
        }
    }
}
