import PushSimJSONText
import PushSimSimulation
import PushSimWire

// `then` of a rule about calls.
extension ProfileReader {
    static let requestKeys = [
        "status", "headers", "body", "json", "reason", "retryAfter", "after", "delay", "connection", "wire", "mutate",
        "lose", "token", "discovery", "setState",
    ]

    mutating func actions(_ value: JSONValue, _ on: Matcher) -> Actions {
        var actions = Actions()
        guard let fields = fields(value, "\"then\"", Self.requestKeys) else { return actions }
        if value.members.isEmpty { mistake(value, "\"then\" says nothing: what is to happen?") }
        answer(fields, &actions)
        if let after = fields["after"] { actions.after = flag(after, "after") ?? false }
        actions.delay = fields["delay"].flatMap { delay($0) }
        if let wire = fields["wire"] { actions.wire = self.wire(wire) }
        if let connection = fields["connection"] {
            actions.connection = self.connection(connection, &actions.wire)
        }
        actions.mutate = fields["mutate"].flatMap { mutation($0) }
        if let lose = fields["lose"] {
            actions.lose = choice(
                lose, "lose", "thing to lose", vocabulary.all(vocabulary.backend(of: on), \.losable))
        }
        if let token = fields["token"] {
            actions.token = choice(
                token, "token", "token fault", vocabulary.all(vocabulary.backend(of: on), \.tokenFaults))
        }
        if let pattern = on.token, actions.lose != nil || actions.token != nil {
            actions.concerns = { pattern.matches($0) }
        }
        if let discovery = fields["discovery"] {
            let backend = vocabulary.backend(of: on)
            if backend != nil, backend != "fluxer" {
                mistake(discovery, "\"discovery\" is Fluxer's: \(backend ?? "") has none")
            } else if discovery.kind == .object, !discovery.members.isEmpty {
                actions.discovery = json(discovery)
            } else {
                wrong(discovery, "discovery", "an object of members and values")
            }
        }
        checkTogether(value, fields, actions)
        return actions
    }

    private mutating func checkTogether(_ value: JSONValue, _ fields: [String: JSONValue], _ actions: Actions) {
        for key in ["headers", "body", "json", "reason", "retryAfter", "after"]
        where fields[key] != nil && fields["status"] == nil {
            mistake(fields[key] ?? value, "\"\(key)\" belongs to a scripted answer: give its \"status\" too")
        }
        if let body = fields["body"], fields["json"] != nil { mistake(body, "give \"body\" or \"json\", not both") }
        if actions.wire?.garbage != nil {
            for key in ["status", "mutate"] {
                if let field = fields[key] {
                    mistake(field, "garbage takes the place of an answer: it has no \"\(key)\"")
                }
            }
        }
        guard let connection = fields["connection"], actions.connection?.isSilent == true else { return }
        for key in ["status", "mutate", "wire"] where fields[key] != nil {
            mistake(connection, "a connection that ends before any byte has no \"\(key)\"")
        }
    }

    private mutating func answer(_ fields: [String: JSONValue], _ actions: inout Actions) {
        if let status = fields["status"] {
            if let number = status.int, (200...599).contains(number) {
                actions.status = number
            } else {
                wrong(status, "status", "a number from 200 to 599")
            }
        }
        if let reason = fields["reason"], let text = text(reason, "reason") {
            let bytes = Array(text.utf8)
            if HeaderField.isValue(bytes) {
                actions.reason = bytes
            } else {
                mistake(reason, "\"reason\" has a control character")
            }
        }
        if let headers = fields["headers"] { actions.headers = self.headers(headers) }
        if let body = fields["body"] { actions.body = text(body, "body").map { Array($0.utf8) } }
        if let json = fields["json"] {
            actions.body = self.json(json).bytes
            actions.contentType = "application/json"
        }
        if let retry = fields["retryAfter"] { actions.retryAfter = retryAfter(retry) }
    }

    /// An object, or an array of `[name, value]` where a name is to stand more than once.
    private mutating func headers(_ value: JSONValue) -> [HeaderField]? {
        var pairs: [(place: JSONValue, name: JSONValue, value: JSONValue)] = []
        switch value.kind {
        case .object: pairs = value.members.map { ($0.key, $0.key, $0.value) }
        case .array:
            for element in value.elements {
                guard element.kind == .array, element.elements.count == 2 else {
                    wrong(element, "headers", "a list of [name, value]")
                    return nil
                }
                pairs.append((element, element.elements[0], element.elements[1]))
            }
        default:
            wrong(value, "headers", "an object, or a list of [name, value]")
            return nil
        }
        var found: [HeaderField] = []
        for pair in pairs {
            guard let name = pair.name.stringBytes, let content = pair.value.stringBytes else {
                wrong(pair.value, "headers", "texts")
                continue
            }
            if HeaderField("Content-Length", "").isNamed(name) || HeaderField("Transfer-Encoding", "").isNamed(name) {
                mistake(
                    pair.place,
                    "how a body is framed is said by \"wire\", such as wire: { contentLength: 3 } or { bothLengths: true }"
                )
            } else if HeaderField.isName(name), HeaderField.isValue(content) {
                found.append(HeaderField(name, content))
            } else {
                mistake(pair.place, "this is no header that HTTP allows")
            }
        }
        return found
    }

    private mutating func retryAfter(_ value: JSONValue) -> Actions.RetryAfter? {
        if value.kind == .object {
            guard let fields = fields(value, "\"retryAfter\"", ["after", "date"]) else { return nil }
            let after = fields["after"].map { duration($0, "after") } ?? 1_000_000_000
            let isDate = fields["date"].flatMap { flag($0, "date") } ?? false
            return after.map { isDate ? .date($0) : .seconds($0) }
        }
        if value.kind == .number, let seconds = value.double, seconds >= 0,
            seconds <= Double(TimeText.longest / 1_000_000_000)
        {
            return .seconds(Int64((seconds * 1_000_000_000).rounded()))
        }
        return duration(value, "retryAfter").map { .seconds($0) }
    }

    private mutating func mutation(_ value: JSONValue) -> Mutation? {
        if value.kind == .object {
            guard let fields = fields(value, "\"mutate\"", ["contentType"]), let type = fields["contentType"],
                let text = text(type, "contentType")
            else { return nil }
            let bytes = Array(text.utf8)
            if HeaderField.isValue(bytes) { return .contentType(bytes) }
            mistake(type, "this is no header that HTTP allows")
            return nil
        }
        if value.string == "contentType" {
            mistake(value, "say which: mutate: { contentType: \"text/plain\" }")
            return nil
        }
        return choice(value, "mutate", "mutation", Mutation.Name.allCases.map(\.rawValue))
            .flatMap { Mutation.Name(rawValue: $0) }.map { .named($0) }
    }
}
