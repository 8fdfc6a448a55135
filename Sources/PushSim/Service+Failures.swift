import PushSimJSONText
import PushSimSimulation
package import PushSimWire

// What is answered to requests that are none, and to bodies that are too large.
extension Service {
    /// What drives the fake is not bound by limits that a test sets: it could not take them back, nor load a large state.
    package func bodyLimit(_ head: RequestHead) -> Int {
        var path = head.path
        if Self.begins(path, "/__scope/", head) {
            let rest = head.bytes[Int(path.start) + 9..<Int(path.end)]
            guard let slash = rest.firstIndex(of: Byte.slash) else { return 0 }
            path = .init(slash, Int(path.end))
        }
        return isLoopback && Self.begins(path, "/__pushsim/", head) ? Self.controlLimit : 0
    }

    private static let controlLimit = 256 << 20

    package func answer(to failure: RequestFailure, _ exchange: Exchange?) -> [UInt8] {
        let bytes = answer(to: failure)
        if let exchange { note(bytes, failure.status, exchange) }
        return bytes
    }

    /// The journal shows what a call got whose body was refused.
    private func note(_ answer: [UInt8], _ status: Int, _ exchange: Exchange) {
        guard case .client(let scope, let call) = destination(exchange) else { return }
        let announced = exchange.context as? JournalEntry
        scope.run { world in
            let entry = announced ?? open(call, scope, exchange, &world)
            entry.answer = answer
            entry.status = status
        }
    }

    private func answer(to failure: RequestFailure) -> [UInt8] {
        let body: JSON = ["error": ["code": .string("HTTP-\(failure.status)"), "message": .string(failure.message)]]
        let date = defaultScope.run { $0.clock.httpDate() }
        return Response(
            status: failure.status,
            fields: [
                HeaderField("Content-Type", "application/json"), HeaderField(Self.dateName, date), Self.close,
            ], body: body.bytes
        ).bytes()
    }
}
