package import PushSimJSONText
package import PushSimSimulation
import PushSimWire

/// Which calls somebody means, written as a rule's `on`; says field by field what differs.
package struct CallQuestion: Sendable {
    private let on: Matcher

    /// Reads `on` from a JSON or JSON5 object.
    package init(_ value: JSONValue, _ vocabulary: Vocabulary) throws(ProfileError) {
        on = try ProfileReader.readMatcher(value, vocabulary)
        // Deliveries are no calls: the inboxes hold them.
        guard on.side == .request else {
            throw ProfileError(mistakes: [
                ProfileMistake(
                    position: value.position, rule: nil,
                    message: "\"side\": \"delivery\" is not asked here: deliveries are in the inboxes and the journal")
            ])
        }
    }

    /// What of a call is not as asked: empty where it matches.
    package func differences(_ call: Call) -> [String] {
        var found: [String] = []
        let facts = call.identified
        compare("backend", on.backend, call.place.backend?.name, &found)
        compare("route", on.route, call.place.route, &found)
        compare("kind", on.kind, facts.kind, &found)
        compare("transport", on.transport, facts.transport, &found)
        if let method = on.method, !call.method.elementsEqual(method) {
            found.append("method: \(call.head.methodText) against \(method.text)")
        }
        if let path = on.path, !CallMatching.matches(path, call) {
            found.append("path: \(Array(call.path).text) against \(path.text)")
        }
        compare("account", on.account, facts.account, &found)
        compare("token", on.token, facts.tokens, &found)
        compare("topic", on.topic, facts.topic.map { [$0] } ?? facts.conditionTopics, &found)
        for header in on.header {
            let values = call.head.values(header.name)
            if !values.contains(where: { header.value.matches($0) }) {
                let got = values.isEmpty ? "nothing" : values.map(\.text).joined(separator: ", ")
                found.append("header \(header.name): \(got) against \(header.value.text)")
            }
        }
        let pairs = call.query.flatMap { Percent.form($0) } ?? []
        for wanted in on.query {
            let values = pairs.filter { $0.name == wanted.name }.map(\.value)
            if !values.contains(where: { wanted.value.matches($0) }) {
                let got = values.isEmpty ? "nothing" : values.map(\.text).joined(separator: ", ")
                found.append("query \(wanted.name.text): \(got) against \(wanted.value.text)")
            }
        }
        if let body = on.body, let missing = CallMatching.missing(body, call) { found.append("body \(missing)") }
        return found
    }

    private func compare(_ name: String, _ wanted: TextPattern?, _ got: [[UInt8]], _ found: inout [String]) {
        guard let wanted, !got.contains(where: wanted.matches) else { return }
        let listed = got.isEmpty ? "none" : got.map(\.text).joined(separator: ", ")
        found.append("\(name): \(listed) against \(wanted.text)")
    }

    private func compare(_ name: String, _ wanted: String?, _ got: String?, _ found: inout [String]) {
        if let wanted, wanted != got { found.append("\(name): \(got ?? "none") against \(wanted)") }
    }

    private func compare(_ name: String, _ wanted: TextPattern?, _ got: [UInt8]?, _ found: inout [String]) {
        guard let wanted, got.map({ wanted.matches($0) }) != true else { return }
        found.append("\(name): \(got?.text ?? "none") against \(wanted.text)")
    }
}
