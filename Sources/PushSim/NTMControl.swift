public import PushSimJSONText
import PushSimSimulation

/// What a test can make the fake NTM do.
public struct NTMControl: Sendable {
    private let control: BackendControl

    init(_ service: Service) { control = BackendControl(service: service, backend: "ntm") }

    /// Notifies the subscribers of a topic; returns when each delivery has been tried.
    /// - Parameters:
    ///   - topic: such as `example.com/video/alice@example.com`.
    ///   - type: `notify`, `cancel` or `chat`.
    ///   - roomID: nil draws one; a cancel repeats that of its notify.
    ///   - traceID: likewise.
    ///   - userdata: replaces the usual content.
    /// - Returns: what became of each delivery.
    /// - Throws: `PushSimError` that names the mistake.
    @discardableResult
    public func notify(
        topic: String, type: String = "notify", roomID: String? = nil, traceID: String? = nil, userdata: JSON? = nil
    ) async throws -> [SentPush] {
        var body: JSON = ["topic": .string(topic), "type": .string(type)]
        if let roomID { body.set("room_id", .string(roomID)) }
        if let traceID { body.set("trace_id", .string(traceID)) }
        if let userdata { body.set("userdata", userdata) }
        return SentPush.list(try await control.call("POST", "notifications", body))
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
