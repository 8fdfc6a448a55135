import PushSimJSONText
import PushSimSimulation

extension ProfileReader {
    mutating func condition(_ value: JSONValue) -> Condition {
        var condition = Condition()
        guard
            let fields = fields(
                value, "\"when\"", ["calls", "probability", "clock", "per", "times"],
                later: ["quota", "state", "all", "any", "not"])
        else { return condition }
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
