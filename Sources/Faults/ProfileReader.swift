import PushSimJSONText
import PushSimSimulation

/// Reads a profile and finds every mistake in it, not only the first.
package struct ProfileReader {
    let vocabulary: Vocabulary
    var mistakes: [ProfileMistake] = []
    var rule: String?
    /// How deep conditions stand in one another.
    var depth = 0

    private init(_ vocabulary: Vocabulary) { self.vocabulary = vocabulary }

    /// - Parameter fallbackName: the name of a profile that gives none.
    package static func read(
        _ bytes: [UInt8], _ vocabulary: Vocabulary, fallbackName: String = "unnamed"
    ) throws(ProfileError) -> Profile {
        let document: JSONDocument
        do throws(JSONError) {
            document = try JSONDocument(bytes, dialect: .json5)
        } catch {
            throw ProfileError(mistakes: [ProfileMistake(position: error.position, rule: nil, message: error.message)])
        }
        var reader = ProfileReader(vocabulary)
        let profile = reader.profile(document.root, bytes, fallbackName)
        guard reader.mistakes.isEmpty else {
            throw ProfileError(
                mistakes: reader.mistakes.sorted {
                    ($0.position.line, $0.position.column) < ($1.position.line, $1.position.column)
                })
        }
        return profile
    }

    /// What stands under `on` in a rule, alone.
    static func readMatcher(_ value: JSONValue, _ vocabulary: Vocabulary) throws(ProfileError) -> Matcher {
        var reader = ProfileReader(vocabulary)
        let matcher = reader.matcher(value, "the matcher")
        guard reader.mistakes.isEmpty else { throw ProfileError(mistakes: reader.mistakes) }
        return matcher
    }

    private mutating func profile(_ value: JSONValue, _ bytes: [UInt8], _ fallbackName: String) -> Profile {
        var profile = Profile(name: fallbackName, about: nil, seed: nil, rules: [], source: bytes)
        guard let fields = fields(value, "the profile", ["name", "about", "seed", "rules"]) else { return profile }
        if let name = fields["name"] { profile.name = text(name, "name") ?? fallbackName }
        profile.about = fields["about"].flatMap { text($0, "about") }
        if let seed = fields["seed"] {
            if let number = seed.int, number >= 0 {
                profile.seed = UInt64(number)
            } else {
                wrong(seed, "seed", "a whole number from 0")
            }
        }
        guard let rules = fields["rules"] else {
            mistake(value, "\"rules\" is missing: a profile without faults has `rules: []`")
            return profile
        }
        guard rules.kind == .array else {
            wrong(rules, "rules", "an array")
            return profile
        }
        for (index, element) in rules.elements.enumerated() {
            rule = element.member("id")?.string ?? "#\(index + 1)"
            if let read = readRule(element, index) {
                if profile.rules.contains(where: { $0.id == read.id }) { mistake(element, "two rules have this id") }
                profile.rules.append(read)
            }
            rule = nil
        }
        return profile
    }

    private mutating func readRule(_ value: JSONValue, _ index: Int) -> Profile.Rule? {
        guard let fields = fields(value, "a rule", ["id", "on", "when", "then", "continue"]) else { return nil }
        var id = "rule-\(index + 1)"
        if let given = fields["id"], let text = text(given, "id") {
            if text.isEmpty { mistake(given, "the id is empty") } else { id = text }
        }
        let on = fields["on"].map { matcher($0) } ?? Matcher()
        let when = fields["when"].map { condition($0) } ?? Condition()
        var rule = Profile.Rule(id: id, on: on, when: when)
        if let then = fields["then"] {
            if on.side == .delivery { rule.deliver = deliveryActions(then, on) } else { rule.then = actions(then, on) }
            if let move = then.member("setState") { rule.setStates = states(move, "setState") }
        } else {
            mistake(value, "\"then\" is missing: what is to happen?")
        }
        if let goesOn = fields["continue"] { rule.continues = flag(goesOn, "continue") ?? false }
        return rule
    }
}

// What all parts of the reader use.
extension ProfileReader {
    /// Where a key belongs that is known, but not here.
    private static func elsewhere(_ name: String, _ what: String) -> String? {
        if what == "\"then\"", deliveryKeys.contains(name) {
            return "It is for deliveries: on: { side: \"delivery\" }."
        }
        if what == "\"then\" of a delivery", requestKeys.contains(name) {
            return "It is for calls: leave out side: \"delivery\"."
        }
        return nil
    }

    /// The members of an object, after unknown and doubled ones are told as mistakes.
    mutating func fields(_ value: JSONValue, _ what: String, _ known: [String]) -> [String: JSONValue]? {
        guard value.kind == .object else {
            mistake(value, "\(what) must be an object, not \(value.kindName)")
            return nil
        }
        var found: [String: JSONValue] = [:]
        for member in value.members {
            let name = member.name
            if !known.contains(name) {
                let elsewhere = Self.elsewhere(name, what).map { " \($0)" } ?? ""
                mistake(
                    member.key,
                    "unknown key \"\(name)\" in \(what).\(elsewhere)\(Suggestion.text(name, known)) Known: \(known.joined(separator: ", "))."
                )
            } else if found[name] != nil {
                mistake(member.key, "\"\(name)\" stands twice")
            } else {
                found[name] = member.value
            }
        }
        return found
    }

    mutating func mistake(_ value: JSONValue, _ message: String) {
        mistakes.append(ProfileMistake(position: value.position, rule: rule, message: message))
    }

    mutating func wrong(_ value: JSONValue, _ name: String, _ wanted: String) {
        mistake(
            value,
            "\"\(name)\" must be \(wanted), not \(Self.shown(value))")
    }

    private static func shown(_ value: JSONValue) -> String {
        switch value.kind {
        case .number, .array, .object: value.sourceText.utf8.count > 60 ? value.kindName : value.sourceText
        default: value.kindName
        }
    }

    mutating func text(_ value: JSONValue, _ name: String) -> String? {
        if let text = value.string { return text }
        wrong(value, name, "a string")
        return nil
    }

    mutating func flag(_ value: JSONValue, _ name: String) -> Bool? {
        if let flag = value.bool { return flag }
        wrong(value, name, "true or false")
        return nil
    }

    /// One of a set of names.
    mutating func choice(_ value: JSONValue, _ name: String, _ what: String, _ names: [String]) -> String? {
        guard let text = text(value, name) else { return nil }
        if names.contains(where: { $0.utf8.elementsEqual(text.utf8) }) { return text }
        if names.isEmpty {
            mistake(value, "there is no \(what) here: its backend has none")
            return nil
        }
        mistake(
            value,
            "unknown \(what) \"\(text)\".\(Suggestion.text(text, names)) Known: \(names.joined(separator: ", ")).")
        return nil
    }

    /// Nanoseconds.
    mutating func duration(_ value: JSONValue, _ name: String) -> Int64? {
        guard let text = text(value, name) else { return nil }
        if let nanoseconds = TimeText.duration(text) { return nanoseconds }
        mistake(value, "\"\(text)\" is no duration; write it as \"500ms\", \"2s\" or \"1.5m\"")
        return nil
    }
}
