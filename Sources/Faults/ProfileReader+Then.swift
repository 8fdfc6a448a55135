import PushSimJSONText
import PushSimSimulation
import PushSimWire

extension ProfileReader {
    private static let requestKeys = [
        "status", "headers", "body", "json", "reason", "retryAfter", "delay", "connection", "lose", "token",
    ]
    private static let laterRequestKeys = ["after", "wire", "mutate", "discovery", "setState"]
    private static let laterConnections = [
        "resetAfterHead", "resetMidBody", "closeMidHead", "closeMidBody", "stallMidBody", "halfClose", "refuse",
        "EMPTY_RESPONSE", "MALFORMED_RESPONSE_CHUNK", "RANDOM_DATA_THEN_CLOSE", "CONNECTION_RESET_BY_PEER",
    ]

    mutating func actions(_ value: JSONValue, _ on: Matcher) -> Actions {
        var actions = Actions()
        guard let fields = fields(value, "\"then\"", Self.requestKeys, later: Self.laterRequestKeys) else {
            return actions
        }
        if value.members.isEmpty { mistake(value, "\"then\" says nothing: what is to happen?") }
        answer(fields, &actions)
        if let delay = fields["delay"] {
            if delay.kind == .object {
                mistake(
                    delay, "a spread of delays is part of the profile language, but this version does not have it yet")
            } else {
                actions.delay = duration(delay, "delay")
            }
        }
        if let connection = fields["connection"] { actions.connection = self.connection(connection) }
        if let lose = fields["lose"] {
            actions.lose = choice(lose, "lose", "thing to lose", vocabulary.all(on.backend, \.losable))
        }
        if let token = fields["token"] {
            actions.token = choice(token, "token", "token fault", vocabulary.all(on.backend, \.tokenFaults))
        }
        checkTogether(value, fields)
        return actions
    }

    private mutating func checkTogether(_ value: JSONValue, _ fields: [String: JSONValue]) {
        for key in ["headers", "body", "json", "reason", "retryAfter"]
        where fields[key] != nil && fields["status"] == nil {
            mistake(fields[key] ?? value, "\"\(key)\" belongs to a scripted answer: give its \"status\" too")
        }
        if let body = fields["body"], fields["json"] != nil { mistake(body, "give \"body\" or \"json\", not both") }
        if let connection = fields["connection"], fields["status"] != nil {
            mistake(connection, "a connection that ends before any byte has no \"status\"")
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
            if HeaderField.isName(name), HeaderField.isValue(content) {
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
        if let seconds = value.int, seconds >= 0, seconds <= 1 << 31 { return .seconds(Int64(seconds) * 1_000_000_000) }
        return duration(value, "retryAfter").map { .seconds($0) }
    }

    private mutating func connection(_ value: JSONValue) -> Actions.Connection? {
        if let text = value.string, Self.laterConnections.contains(text) {
            mistake(value, "\"\(text)\" is part of the profile language, but this version does not have it yet")
            return nil
        }
        return choice(value, "connection", "fault", Actions.Connection.allCases.map(\.rawValue))
            .flatMap { Actions.Connection(rawValue: $0) }
    }
}
