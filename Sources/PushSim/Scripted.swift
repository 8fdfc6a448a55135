import PushSimJSONText
import PushSimSimulation
import PushSimWire

/// Answers that no backend gives.
enum Neutral {
    static func notFound(_ backends: [any Backend]) -> Response {
        let owners = backends.map { JSON.Member($0.name, .array($0.ownedPaths.map { .string($0) })) }
        let body: JSON = [
            "error": ["code": "HTTP-404", "message": "No backend owns this path."], "owners": .object(owners),
        ]
        return Response(status: 404, fields: [HeaderField("Content-Type", "application/json")], body: body.bytes)
    }
}

/// The answer that a profile wants.
enum Scripted {
    static func answer(
        _ status: Int, _ actions: Actions, _ state: (any BackendState)?, _ call: Call, _ world: inout World
    ) -> Answer {
        var answer: Answer
        if let state {
            answer = state.scripted(status, retryAfter: actions.retryAfter?.nanoseconds, call, &world)
        } else {
            let body: JSON = [
                "error": ["code": .string("HTTP-\(status)"), "message": .string(StatusText.reason(status))]
            ]
            answer = Answer(
                Response(status: status, fields: [HeaderField("Content-Type", "application/json")], body: body.bytes))
        }
        answer.response.reason = actions.reason
        if let body = actions.body {
            answer.response.body = body
            if let type = actions.contentType {
                Spoiling.replace(HeaderField("Content-Type", type), in: &answer.response)
            }
        }
        switch actions.retryAfter {
        case .seconds where status == 429 && answer.response.fields.first("retry-after") != nil:
            // The backend has its own way to say it.
            break
        case .seconds(let wait):
            Spoiling.replace(HeaderField("Retry-After", String(seconds(wait))), in: &answer.response)
        case .date(let wait):
            let moment = (world.clock.now + wait).floorDivided(by: 1_000_000_000)
            Spoiling.replace(HeaderField(Array("Retry-After"), HTTPDate.bytes(moment)), in: &answer.response)
        case nil: break
        }
        var replaced: [[UInt8]] = []
        for field in actions.headers ?? [] {
            if !replaced.contains(where: field.isNamed) {
                answer.response.fields.removeAll { $0.isNamed(field.name) }
                replaced.append(field.name)
            }
            answer.response.fields.append(field)
        }
        return answer
    }

    /// Whole seconds, upwards: a client that waits for them has waited long enough.
    private static func seconds(_ nanoseconds: Int64) -> Int64 {
        nanoseconds / 1_000_000_000 + (nanoseconds % 1_000_000_000 > 0 ? 1 : 0)
    }

}
