import PushSimJSONText
import PushSimSimulation

extension ProfileReader {
    private static let conditionKeys = ["calls", "probability", "clock", "quota", "state", "all", "any", "not"]

    /// - Parameter isInner: stands within `all`, `any` or `not`, where `per` and `times` have no place.
    mutating func condition(_ value: JSONValue, isInner: Bool = false) -> Condition {
        var condition = Condition()
        guard
            let fields = fields(
                value, "\"when\"", Self.conditionKeys + (isInner ? [] : ["per", "times"]))
        else { return condition }
        if let quota = fields["quota"] { condition.quota = self.quota(quota) }
        if let state = fields["state"] { condition.states = states(state, "state") }
        condition.all = fields["all"].map { conditions($0, "all") } ?? []
        condition.any = fields["any"].map { conditions($0, "any") } ?? []
        condition.not = fields["not"].map { conditions($0, "not") } ?? []
        if let calls = fields["calls"] { condition.calls = callPattern(calls) }
        if let probability = fields["probability"] {
            if let number = probability.double, number >= 0, number <= 1 {
                condition.probability = number
            } else {
                wrong(probability, "probability", "a number from 0 to 1")
            }
        }
        if let clock = fields["clock"], let spans = self.fields(clock, "\"clock\"", ["after", "until"]) {
            condition.after = spans["after"].flatMap { duration($0, "after") }
            condition.until = spans["until"].flatMap { duration($0, "until") }
            if let after = condition.after, let until = condition.until, until <= after {
                mistake(clock, "\"until\" is not later than \"after\", so this never holds")
            }
        }
        if let per = fields["per"] { condition.per = self.per(per) }
        if let times = fields["times"] {
            if let number = times.int, number > 0 {
                condition.times = number
            } else {
                wrong(times, "times", "a whole number from 1")
            }
        }
        return condition
    }

    /// One condition, or an array of them.
    private mutating func conditions(_ value: JSONValue, _ name: String) -> [Condition] {
        let parts = value.kind == .array ? value.elements : [value]
        if parts.isEmpty { mistake(value, "\"\(name)\" is empty") }
        if depth > 16 {
            mistake(value, "conditions stand too deep in one another")
            return []
        }
        depth += 1
        defer { depth -= 1 }
        return parts.map { condition($0, isInner: true) }
    }

    private mutating func quota(_ value: JSONValue) -> (limit: Int, window: Int64)? {
        guard let fields = fields(value, "\"quota\"", ["limit", "window"]) else { return nil }
        guard let limit = fields["limit"], let window = fields["window"] else {
            mistake(value, "\"quota\" needs a \"limit\" and a \"window\"")
            return nil
        }
        guard let number = limit.int, number >= 0 else {
            wrong(limit, "limit", "a whole number from 0")
            return nil
        }
        guard let time = duration(window, "window") else { return nil }
        guard time > 0 else {
            mistake(window, "a window of no time holds no calls")
            return nil
        }
        return (number, time)
    }

    /// Names with a text each; null is a state that nobody has moved.
    mutating func states(_ value: JSONValue, _ what: String) -> [(name: String, value: String?)] {
        guard value.kind == .object, !value.members.isEmpty else {
            wrong(value, what, "an object of names and values, such as { phase: \"two\" }")
            return []
        }
        var found: [(name: String, value: String?)] = []
        for member in value.members {
            if member.value.isNull {
                found.append((member.name, nil))
            } else if let text = text(member.value, member.name) {
                found.append((member.name, text))
            }
        }
        return found
    }

    private mutating func callPattern(_ value: JSONValue) -> CallPattern? {
        let text = value.string ?? value.int.map(String.init)
        if let text, let pattern = CallPattern(text) { return pattern }
        mistake(
            value,
            "\(value.sourceText) names no calls; write \"3\", \"1-3\", \"4-\", \"every 3\", \"every 3 from 2\" or \"1,4,9\""
        )
        return nil
    }

    private mutating func per(_ value: JSONValue) -> Condition.Per {
        guard let text = text(value, "per") else { return .rule }
        switch text {
        case "rule": return .rule
        case "token": return .token
        case "account": return .account
        case "subscriber": return .subscriber
        default:
            if text.hasPrefix("header:"), text.utf8.count > 7 { return .header(String(text.dropFirst(7))) }
            let names = ["rule", "token", "account", "subscriber", "header:<name>"]
            mistake(
                value,
                "unknown \"per\" \"\(text)\".\(Suggestion.text(text, names)) Known: \(names.joined(separator: ", ")).")
            return .rule
        }
    }
}
