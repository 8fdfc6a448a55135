import PushSimWire

/// One named option (contract options.md).
package struct OptionDescription: Hashable, Sendable {
    package enum Values: Hashable, Sendable {
        case choice([String])
        /// A name, or a number between two.
        case choiceOrNumber([String], Int, Int)
        /// A comma-separated selection.
        case list([String])
        /// So many different whole numbers, separated by commas.
        case numbers(Int)
        case text
        /// Bytes: a number, or one with KiB or MiB.
        case size
        /// A duration in real time.
        case duration
    }

    package let name: String
    package let values: Values
    package let defaultValue: String
    package let about: String

    package init(_ name: String, _ values: Values, default defaultValue: String, _ about: String) {
        self.name = name
        self.values = values
        self.defaultValue = defaultValue
        self.about = about
    }

    package var valuesText: String {
        switch values {
        case .choice(let all): all.joined(separator: ", ")
        case .choiceOrNumber(let all, let least, let most):
            "\(all.joined(separator: ", ")), or a number from \(least) to \(most)"
        case .list(let all): "any of \(all.joined(separator: ",")), separated by commas"
        case .numbers(let count): "\(count) different whole numbers, separated by commas"
        case .text: "any text"
        case .size: "a size such as 64KiB or 8MiB"
        case .duration: "a duration such as 500ms or 30s"
        }
    }

    func accepts(_ value: String) -> Bool {
        switch values {
        case .choice(let all): all.contains { $0.utf8.elementsEqual(value.utf8) }
        case .choiceOrNumber(let all, let least, let most):
            all.contains(value) || decimalDigits(value.utf8).map { $0 >= least && $0 <= most } == true
        case .list(let all):
            value.utf8.split(separator: 44, omittingEmptySubsequences: false).allSatisfy { part in
                all.contains { $0.utf8.elementsEqual(part) }
            }
        case .numbers(let count):
            Set(OptionValues.numbers(value)).count == count && value.utf8.count { $0 == 44 } == count - 1
        case .text: value.utf8.allSatisfy { $0 >= 32 && $0 != 127 }
        case .size: OptionValues.size(value) != nil
        case .duration: TimeText.duration(value).map { $0 > 0 } == true
        }
    }
}

/// A mistake in an option's name or value.
package struct OptionError: Error, Hashable, Sendable, CustomStringConvertible {
    package let name: String
    package let description: String
}

/// All options of a scope.
package struct OptionValues: Sendable {
    package let table: [OptionDescription]
    private var chosen: [String: String] = [:]

    package init(_ table: [OptionDescription]) { self.table = table }

    package subscript(_ name: String) -> String {
        chosen[name] ?? table.first { $0.name == name }?.defaultValue ?? ""
    }

    /// Those that differ from their default, by name.
    package var changed: [(name: String, value: String)] {
        chosen.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.map { ($0.key, $0.value) }
    }

    package mutating func change(_ name: String, to value: String) throws(OptionError) {
        guard let option = table.first(where: { $0.name.utf8.elementsEqual(name.utf8) }) else {
            throw OptionError(
                name: name,
                description:
                    "There is no option \"\(name)\".\(Suggestion.text(name, table.map(\.name))) The options are: "
                    + table.map(\.name).joined(separator: ", ") + ".")
        }
        guard option.accepts(value) else {
            throw OptionError(
                name: name, description: "\"\(value)\" is no value of \(name). It takes \(option.valuesText).")
        }
        chosen[option.name] = value == option.defaultValue ? nil : value
    }

    /// For what was recorded: the recorder takes larger bodies than servers do.
    package mutating func raiseBodyLimit() { chosen["server.bodyLimit"] = "256MiB" }

    /// Those of a list that are whole numbers.
    package static func numbers(_ text: String) -> [Int] {
        text.utf8.split(separator: 44, omittingEmptySubsequences: false).compactMap { decimalDigits($0) }
    }

    package static func size(_ text: String) -> Int? {
        for (unit, factor) in [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("B", 1), ("", 1)]
        where text.hasSuffix(unit) {
            guard let number = decimalDigits(text.utf8.dropLast(unit.utf8.count)), number <= 1 << 31 else { return nil }
            return number * factor
        }
        return nil
    }
}
