import PushSim
import PushSimJSONText
import PushSimSimulation

/// The `devices` of the configuration file whose `backend` is `sunbird`: tokens that FCM knows from the start, and the
/// topics that they are on.
struct SunbirdTokens {
    /// What stands in the file for each.
    private var sources: [JSONValue] = []

    mutating func add(_ device: JSONValue) { sources.append(device) }

    func apply(_ path: String, _ settings: inout Service.Settings) throws(Finding) {
        if sources.isEmpty { return }
        var tokens: [JSON] = []
        for source in sources { tokens.append(try token(source, path, settings.options)) }
        let state: JSON = ["tokens": .array(tokens)]
        do throws(ControlError) {
            try Service.check(state, backend: "sunbird", settings.options)
        } catch {
            throw finding(error, path)
        }
        settings.initialState["sunbird"] = state
    }

    private func token(_ device: JSONValue, _ path: String, _ options: OptionValues) throws(Finding) -> JSON {
        var token: JSON = .object([])
        if let name = device.member("token") { token.set("token", JSON(name)) }
        guard let list = device.member("topics") else { return token }
        guard list.kind == .array else {
            throw Configuration.at(list, path, "\"topics\" must be a list of names, not \(list.kindName)")
        }
        var topics: [JSON] = []
        for element in list.elements {
            guard let topic = Service.topic(element.stringBytes ?? [], options) else {
                throw Configuration.at(element, path, "\(element.sourceText) is no name of a topic")
            }
            topics.append(["topic": .text(topic)])
        }
        token.set("topics", .array(topics))
        return token
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
