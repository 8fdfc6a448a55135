import PushSimJSONText
import PushSimSimulation

/// What a test can make the fake Fluxer do.
public struct FluxerControl: Sendable {
    private let control: BackendControl

    init(_ service: Service) { control = BackendControl(service: service, backend: "fluxer") }

    /// A session token and whose it is.
    public struct Session: Hashable, Sendable {
        /// For the Authorization field, bare.
        public let token: String
        /// The account's id.
        public let account: String
    }

    /// Makes a session.
    /// - Parameter account: an id or a session token; nil makes a new account.
    /// - Throws: `PushSimError` that names the mistake.
    public func session(account: String? = nil) throws -> Session {
        let body: JSON = account.map { ["account": .string($0)] } ?? .object([])
        let answer = try control.answer("POST", "sessions", body).body
        return Session(token: answer?["session"]?.string ?? "", account: answer?["account"]?.string ?? "")
    }

    /// Sends a notification to every registration that it concerns; returns when each has been tried.
    /// - Parameters:
    ///   - account: an id or a session token; nil is every account with registrations.
    ///   - channel: a decimal id.
    ///   - isThread: goes only to clients that know threads.
    /// - Returns: what became of each delivery.
    /// - Throws: `PushSimError` that names the mistake.
    @discardableResult
    public func notify(
        account: String? = nil, channel: String, message: String? = nil, guild: String? = nil, title: String,
        body: String, icon: String? = nil, imageURL: String? = nil, isThread: Bool = false
    ) async throws -> [SentPush] {
        var call: JSON = ["channel_id": .string(channel), "title": .string(title), "body": .string(body)]
        Self.set(
            [
                ("account", account), ("message_id", message), ("guild_id", guild), ("icon", icon),
                ("image_url", imageURL),
            ], &call)
        if isThread { call.set("thread", true) }
        return SentPush.list(try await control.call("POST", "notifications", call))
    }

    /// Takes a channel's notifications back.
    /// - Throws: `PushSimError` that names the mistake.
    @discardableResult
    public func clear(
        account: String? = nil, channel: String, message: String? = nil, badgeCount: Int = 0
    ) async throws -> [SentPush] {
        var call: JSON = ["channel_id": .string(channel), "badge_count": .int(badgeCount)]
        Self.set([("account", account), ("message_id", message)], &call)
        return SentPush.list(try await control.call("POST", "clears", call))
    }

    /// Rings for a call, which lives 30 s unless it is ended.
    /// - Parameter startedAtMilliseconds: since 1970; nil is now, on the simulation clock.
    /// - Throws: `PushSimError` that names the mistake.
    @discardableResult
    public func ring(
        account: String? = nil, channel: String, message: String, callerID: String? = nil, callerName: String? = nil,
        callerAvatarURL: String? = nil, startedAtMilliseconds: Int? = nil
    ) async throws -> [SentPush] {
        var call: JSON = ["channel_id": .string(channel), "message_id": .string(message)]
        if let startedAtMilliseconds { call.set("started_at_ms", .int(startedAtMilliseconds)) }
        Self.set(
            [
                ("account", account), ("caller_id", callerID), ("caller_name", callerName),
                ("caller_avatar_url", callerAvatarURL),
            ], &call)
        return SentPush.list(try await control.call("POST", "rings", call))
    }

    /// Ends a channel's call. No push tells of it.
    /// - Throws: `PushSimError` where there is no live call.
    public func endCall(channel: String) throws { _ = try control.answer("DELETE", "calls/\(channel)", nil) }

    private static func set(_ values: [(name: String, value: String?)], _ json: inout JSON) {
        for (name, value) in values {
            if let value { json.set(name, .string(value)) }
        }
    }
}

/// What became of a delivery.
public struct SentPush: Hashable, Sendable {
    /// Of the scope, such as `d1`.
    public let id: String
    /// Of Fluxer: the registration it went to.
    public let deviceID: String
    /// Of NTM: the subscriber it went to.
    public let subscriber: String
    /// `webpush`, `apns`, `fcm` or `xmpp`.
    public let transport: String
    /// `accepted`, `removed`, `retrying`, `gave_up`, `rejected`, `invalid_keys`, `endpoint_rejected`, `dropped`, or
    /// `pending` while it is held back or under way.
    public let outcome: String

    static func list(_ answer: JSON) -> [SentPush] {
        (answer["deliveries"]?.elements ?? []).map { entry in
            SentPush(
                id: entry["id"]?.string ?? "", deviceID: entry["device_id"]?.string ?? "",
                subscriber: entry["subscriber"]?.string ?? "",
                transport: entry["transport"]?.string ?? "", outcome: entry["outcome"]?.string ?? "")
        }
    }
}
