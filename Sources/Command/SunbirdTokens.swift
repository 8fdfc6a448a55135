import PushSim
import PushSimJSONText
import PushSimSimulation

/// The `devices` of the configuration file whose `backend` is `sunbird`: tokens that FCM knows from the start, and the
/// topics that they are on.
struct SunbirdTokens {
    private var tokens: [JSON] = []
    /// What stands in the file for each.
    private var sources: [JSONValue] = []

    mutating func add(_ device: JSONValue) {
        var token: JSON = .object([])
        for name in ["token", "topics"] {
            guard let value = device.member(name) else { continue }
            if name == "topics", value.kind == .array {
                token.set(name, .array(value.elements.map { ["topic": JSON($0)] }))
            } else {
                token.set(name, JSON(value))
            }
        }
        tokens.append(token)
        sources.append(device)
    }

    func apply(_ path: String, _ settings: inout Service.Settings) throws(Finding) {
        if tokens.isEmpty { return }
        let state: JSON = ["tokens": .array(tokens)]
        do throws(ControlError) {
            try Service.check(state, backend: "sunbird", settings.options)
        } catch {
            throw finding(error, path)
        }
        settings.initialState["sunbird"] = state
    }

    /// The mistake where it stands in the file: `$.sunbird.tokens[1].topics[0].topic` is the first topic of the second.
    private func finding(_ error: ControlError, _ path: String) -> Finding {
        let steps = JSONPath(String(error.path.dropFirst("$.sunbird.".utf8.count)))?.steps ?? []
        guard steps.count >= 2, case .element(let index) = steps[1], sources.indices.contains(index) else {
            return Finding(message: "\(path): \(error)")
        }
        var place = sources[index]
        var name = ""
        if steps.count > 2, case .member(let member) = steps[2], let value = place.member(member) {
            (place, name) = (value, "\"\(member)\" ")
        }
        if steps.count > 3, case .element(let element) = steps[3], place.elements.indices.contains(element) {
            place = place.elements[element]
        }
        return Configuration.at(place, path, name + error.message)
    }
}
