public import PushSimJSONText
import PushSimSimulation

/// What a test can make the fake Sunbird do.
public struct SunbirdControl: Sendable {
    private let control: BackendControl

    init(_ service: Service) { control = BackendControl(service: service, backend: "sunbird") }

    /// A broadcast and what became of its first run.
    public struct Broadcast: Hashable, Sendable {
        /// Of the scope, such as `b1`.
        public let id: String
        /// Empty where its first run is still to come, and where it has expired.
        public let deliveries: [SentPush]
    }

    /// Sends a notification to all tokens on a topic; returns when each delivery has been tried.
    /// - Parameters:
    ///   - topic: nil is the topic that `sunbird.defaultTopic` names.
    ///   - payload: in the form that `sunbird.payload` names.
    ///   - repeats: whole minutes such as `15m`, at once and then again, or five fields such as `0 8 * * 1-5`, from the
    ///     next time that they name; until the notification expires.
    ///   - timeZone: of the five fields: a name such as `Asia/Kolkata`, which the system's zoneinfo must have, or an offset such as
    ///     `+05:30`; nil is UTC.
    /// - Throws: `PushSimError` that names the mistake.
    @discardableResult
    public func broadcast(
        topic: String? = nil, payload: JSON, repeats: String? = nil, timeZone: String? = nil
    ) async throws -> Broadcast {
        var call: JSON = ["payload": payload]
        for (name, value) in [("topic", topic), ("repeat", repeats), ("timeZone", timeZone)] {
            if let value { call.set(name, .string(value)) }
        }
        let answer = try await control.call("POST", "broadcasts", call)
        return Broadcast(id: answer["id"]?.string ?? "", deliveries: SentPush.list(answer))
    }

    /// Which of the app's own notifications, broadcast with `relativetime` and sent to nobody, are due on a device, in the
    /// order in which they became so.
    /// - Parameters:
    ///   - installed: when the app was, in RFC 3339.
    ///   - at: nil is now, on the simulation clock.
    /// - Returns: their payloads.
    /// - Throws: `PushSimError` that names the mistake.
    public func local(installed: String, at: String? = nil) throws -> [JSON] {
        var query: JSON = ["installed": .string(installed)]
        if let at { query.set("at", .string(at)) }
        let answer = try control.answer("GET", "local", query).body
        return (answer?["local"]?.elements ?? []).compactMap { $0["payload"] }
    }

    /// Has FCM give a device another token, as it does at times: the old one is gone, and the app is to subscribe with the
    /// new one (obligation `sunbird.rotated`).
    /// - Returns: the new token, for the app's callback.
    /// - Throws: `PushSimError` where the token is not known.
    public func rotate(_ token: String) throws -> String {
        try control.answer("POST", "rotations", ["token": .string(token)]).body?["token"]?.string ?? ""
    }

    /// Says of which tenant the user of a device is from now on: it is to be on that tenant's topic, and to leave those of
    /// the one before (obligations `sunbird.topics` and `sunbird.tenants`).
    /// - Parameter tenant: nil is of none.
    /// - Throws: `PushSimError` where the token is not known, or the tenant is no name of a topic.
    public func setTenant(_ tenant: String?, of token: String) throws {
        let name: JSON = tenant.map { .string($0) } ?? .null
        _ = try control.answer("POST", "tenants", ["token": .string(token), "tenant": name])
    }

    /// Stops a repeating broadcast.
    /// - Throws: `PushSimError` where there is none of that id.
    public func stop(_ broadcast: Broadcast) throws {
        _ = try control.answer("DELETE", "broadcasts/\(broadcast.id)", nil)
    }
}
