import PushSimJSONText
import PushSimSimulation
import PushSimWire

/// What a call's body and path are compared with.
enum CallMatching {
    /// What a body lacks of what is wanted; nil where it lacks nothing. A form body counts as an object of texts.
    static func missing(_ wanted: JSONDocument, _ call: Call) -> String? {
        guard let bytes = call.plainBody(), let body = document(bytes, call) else {
            return "is neither JSON nor a form"
        }
        return JSONComparison.missing(wanted.root, in: body.root)?.description
    }

    private static func document(_ body: [UInt8], _ call: Call) -> JSONDocument? {
        if let document = try? JSONDocument(body) { return document }
        // Backends take a form under other names too: then it is told by its sign. Broken JSON is none.
        let type = call.head.values("content-type").first?.map(Byte.lowercased).text ?? ""
        let isForm = type.hasPrefix("application/x-www-form-urlencoded")
        guard isForm || body.contains(61) && !type.contains("json") else { return nil }
        guard let pairs = Percent.form(body), !pairs.isEmpty else { return nil }
        return try? JSONDocument(JSON.object(pairs.map { JSON.Member($0.name.text, .text($0.value)) }).bytes)
    }

    /// For a pattern that is not asked often: an expression is compiled anew.
    static func matches(_ pattern: PathPattern, _ call: Call) -> Bool {
        guard let expression = pattern.regex else { return pattern.matches(call.head, call.pathSpan) }
        guard let regex = (try? Regex(expression))?.matchingSemantics(.unicodeScalar) else { return false }
        return (try? regex.firstMatch(in: call.head.text(call.pathSpan))) ?? nil != nil
    }
}
