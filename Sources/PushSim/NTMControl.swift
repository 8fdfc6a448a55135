public import PushSimJSONText
import PushSimSimulation

/// What a test can make the fake NTM do.
public struct NTMControl: Sendable {
    private let service: Service

    init(_ service: Service) { self.service = service }

    /// Notifies the subscribers of a topic.
    /// - Parameters:
    ///   - topic: in its normal form, such as `example.com/video/alice@example.com`.
    ///   - type: `notify`, `cancel` or `chat`.
    ///   - userdata: replaces the usual content.
    /// - Returns: how many subscribers it went to.
    /// - Throws: `PushSimError` that names the mistake.
    @discardableResult
    public func notify(topic: String, type: String = "notify", userdata: JSON? = nil) throws -> Int {
        var body: JSON = ["topic": .string(topic), "type": .string(type)]
        if let userdata { body.set("userdata", userdata) }
        return try control("notifications", body)["deliveries"]?.elements?.count ?? 0
    }

    /// Mints a bearer token, for `ntm.auth` `jwt`.
    /// - Throws: `PushSimError` that names the mistake.
    public func token(domain: String, type: String = "user", scopes: [String]? = nil, ttl: String = "1h") throws
        -> String
    {
        var body: JSON = ["domain": .string(domain), "type": .string(type), "ttl": .string(ttl)]
        if let scopes { body.set("scopes", .array(scopes.map { .string($0) })) }
        return try control("tokens", body)["token"]?.string ?? ""
    }

    private func control(_ name: String, _ body: JSON) throws(PushSimError) -> JSON {
        guard let document = try? JSONDocument(body.bytes),
            let index = service.defaultScope.backends.firstIndex(where: { $0.name == "ntm" })
        else { throw PushSimError("NTM is not there.") }
        do throws(ControlError) {
            let answer = try service.defaultScope.run { world throws(ControlError) in
                try world.states[index].control(name, "POST", document.root, &world)
            }
            return answer?.body ?? .null
        } catch {
            throw PushSimError(error.description)
        }
    }
}
