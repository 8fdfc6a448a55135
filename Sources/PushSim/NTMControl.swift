public import PushSimJSONText
import PushSimSimulation

/// What a test can make the fake NTM do.
public struct NTMControl: Sendable {
    private let control: BackendControl

    init(_ service: Service) { control = BackendControl(service: service, backend: "ntm") }

    /// Notifies the subscribers of a topic; returns when it is in their inboxes.
    /// - Parameters:
    ///   - topic: in its normal form, such as `example.com/video/alice@example.com`.
    ///   - type: `notify`, `cancel` or `chat`.
    ///   - userdata: replaces the usual content.
    /// - Returns: how many subscribers it went to.
    /// - Throws: `PushSimError` that names the mistake.
    @discardableResult
    public func notify(topic: String, type: String = "notify", userdata: JSON? = nil) async throws -> Int {
        var body: JSON = ["topic": .string(topic), "type": .string(type)]
        if let userdata { body.set("userdata", userdata) }
        return try await control.call("POST", "notifications", body)["deliveries"]?.elements?.count ?? 0
    }

    /// Mints a bearer token, for `ntm.auth` `jwt`.
    /// - Throws: `PushSimError` that names the mistake.
    public func token(domain: String, type: String = "user", scopes: [String]? = nil, ttl: String = "1h") throws
        -> String
    {
        var body: JSON = ["domain": .string(domain), "type": .string(type), "ttl": .string(ttl)]
        if let scopes { body.set("scopes", .array(scopes.map { .string($0) })) }
        return try control.answer("POST", "tokens", body).body?["token"]?.string ?? ""
    }
}
