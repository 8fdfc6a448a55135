import PushSimSimulation

/// A mistake on the command line: exit 2.
struct UsageError: Error {
    let message: String
    var verb: String?
}

/// Something found wrong: exit 1.
struct Finding: Error {
    let message: String
}

/// The words after a verb, taken apart by what the verb knows.
struct Arguments {
    struct Flag {
        let name: String
        /// What the value is called in the help; nil for a flag without a value.
        let value: String?
        let about: String
    }

    private(set) var values: [String: [String]] = [:]
    private(set) var rest: [String] = []

    /// - Parameter words: `--flag value`, `--flag=value`, a lone `--` before words that are no flags.
    init(_ words: [String], _ flags: [Flag], verb: String) throws(UsageError) {
        var index = 0
        var flagsEnd = false
        while index < words.count {
            let word = words[index]
            index += 1
            guard !flagsEnd, word.hasPrefix("--") else {
                if !flagsEnd, word.hasPrefix("-"), word != "-" {
                    throw UsageError(message: "Unknown flag \"\(word)\": flags begin with --.", verb: verb)
                }
                rest.append(word)
                continue
            }
            if word == "--" {
                flagsEnd = true
                continue
            }
            let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            guard let flag = flags.first(where: { $0.name == name }) else {
                let near = Suggestion.nearest(name, flags.map(\.name)).map { " Did you mean --\($0)?" } ?? ""
                throw UsageError(message: "Unknown flag --\(name).\(near)", verb: verb)
            }
            if flag.value == nil {
                if parts.count == 2 { throw UsageError(message: "--\(name) takes no value.", verb: verb) }
                values[name, default: []].append("")
            } else if parts.count == 2 {
                values[name, default: []].append(String(parts[1]))
            } else {
                guard index < words.count else { throw UsageError(message: "--\(name) needs a value.", verb: verb) }
                values[name, default: []].append(words[index])
                index += 1
            }
        }
    }

    /// Those that were given, in order of the alphabet.
    var names: [String] { values.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }

    func has(_ name: String) -> Bool { values[name] != nil }

    func last(_ name: String) -> String? { values[name]?.last }

    func all(_ name: String) -> [String] { values[name] ?? [] }
}
