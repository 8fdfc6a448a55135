import PushSimJSONText
import PushSimSimulation
import PushSimWire

/// Calls of a backend's part of the control API, from Swift.
struct BackendControl: Sendable {
    let service: Service
    let backend: String

    /// The answer's body; of a call that sends, once all has been tried.
    @discardableResult
    func call(_ method: String, _ name: String, _ body: JSON? = nil) async throws(PushSimError) -> JSON {
        let answer = try answer(method, name, body)
        guard let deliveries = answer.deliveries, service.home !== EventLoop.inert else { return answer.body ?? .null }
        await withCheckedContinuation { continuation in
            service.defaultScope.run { $0.afterDeliveries { continuation.resume() } }
        }
        var body = answer.body ?? .object([])
        body.set("deliveries", ControlAPI.describe(deliveries))
        return body
    }

    func answer(_ method: String, _ name: String, _ body: JSON?) throws(PushSimError) -> ControlAnswer {
        let scope = service.defaultScope
        guard let index = scope.backends.firstIndex(where: { $0.name == backend }) else {
            throw PushSimError("The backend \(backend) is not served here.")
        }
        let document = body.flatMap { try? JSONDocument($0.bytes) }
        do throws(ControlError) {
            let answer = try scope.run { world throws(ControlError) in
                try world.states[index].control(name, method, document?.root, &world)
            }
            guard let answer else { throw ControlError("There is no call \(method) \(name).") }
            return answer
        } catch {
            throw PushSimError(error.description)
        }
    }
}
