import PushSimJSONText
import PushSimSimulation

extension ProfileReader {
    mutating func matcher(_ value: JSONValue, _ what: String = "\"on\"") -> Matcher {
        var matcher = Matcher()
        guard
            let fields = fields(
                value, what,
                [
                    "side", "backend", "route", "method", "path", "query", "header", "body", "account", "token",
                    "topic",
                    "kind", "transport",
                ])
        else { return matcher }
        if let side = fields["side"], let name = choice(side, "side", "side", Matcher.Side.allCases.map(\.rawValue)) {
            matcher.side = Matcher.Side(rawValue: name) ?? .request
        }
        if let backend = fields["backend"] {
            matcher.backend = choice(backend, "backend", "backend", vocabulary.backends)
        }
        if let route = fields["route"] {
            matcher.route = choice(route, "route", "route", vocabulary.all(matcher.backend, \.routes))
        }
        if let method = fields["method"], let text = text(method, "method") {
            matcher.method = Array(text.utf8)
            let usual = text.uppercased()
            if text != usual, ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].contains(usual) {
                mistake(method, "methods are compared with their case: write \"\(usual)\"")
            }
        }
        if let path = fields["path"], let pattern = text(path, "path") {
            do throws(PathPattern.Mistake) {
                matcher.path = try PathPattern(pattern)
            } catch {
                mistake(path, error.message)
            }
        }
        if let query = fields["query"] {
            matcher.query = patterns(query, "query").map { (Array($0.name.utf8), $0.value) }
        }
        if let header = fields["header"] { matcher.header = patterns(header, "header") }
        if let body = fields["body"] { matcher.body = plain(body) }
        matcher.account = fields["account"].flatMap { text($0, "account") }.map { TextPattern($0) }
        matcher.token = fields["token"].flatMap { text($0, "token") }.map { TextPattern($0) }
        matcher.topic = fields["topic"].flatMap { text($0, "topic") }.map { TextPattern($0) }
        if let kind = fields["kind"] {
            matcher.kind = choice(kind, "kind", "kind", vocabulary.all(matcher.backend, \.kinds))
        }
        if let transport = fields["transport"] {
            matcher.transport = choice(transport, "transport", "transport", Vocabulary.transports)
        }
        if matcher.side == .request {
            for name in ["kind", "transport"] {
                if let field = fields[name] {
                    mistake(field, "\"\(name)\" belongs to deliveries: give side: \"delivery\"")
                }
            }
        }
        if matcher.side == .delivery {
            for name in ["route", "method", "path", "query", "header", "body"] {
                if let field = fields[name] { mistake(field, "\"\(name)\" belongs to calls; a delivery has none") }
            }
        }
        return matcher
    }

    private mutating func patterns(_ value: JSONValue, _ name: String) -> [(name: String, value: TextPattern)] {
        guard value.kind == .object else {
            wrong(value, name, "an object of names and texts")
            return []
        }
        var found: [(String, TextPattern)] = []
        for member in value.members {
            if let text = text(member.value, member.name) { found.append((member.name, TextPattern(text))) }
        }
        return found
    }

    /// A JSON5 value as JSON: what JSON cannot say is a mistake.
    mutating func plain(_ value: JSONValue) -> JSONDocument? {
        do throws(JSONError) {
            return try JSONDocument(json(value).bytes)
        } catch {
            mistake(value, "this is no JSON value: \(error.message)")
            return nil
        }
    }

    /// Numbers keep their spelling where JSON has it too.
    mutating func json(_ value: JSONValue) -> JSON {
        switch value.kind {
        case .array:
            return .array(value.elements.map { json($0) })
        case .object:
            return .object(value.members.map { JSON.Member($0.name, json($0.value)) })
        case .number:
            if (try? JSONDocument(Array(value.source))) != nil { return .number(value.sourceText) }
            if let int = value.int { return .int(int) }
            if let double = value.double, double.isFinite { return .number(String(double)) }
            mistake(value, "JSON has no number \(value.sourceText)")
            return .null
        default: return JSON(value)
        }
    }
}
