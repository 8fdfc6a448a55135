package import PushSimJSONText

/// One mistake in a profile: where, in which rule, and what to do.
package struct ProfileMistake: Error, Hashable, Sendable, CustomStringConvertible {
    package let position: JSONPosition
    package let rule: String?
    package let message: String

    package var description: String {
        "\(position.line):\(position.column): " + (rule.map { "rule \"\($0)\": " } ?? "") + message
    }
}

/// All mistakes of one profile, in the order of their places.
package struct ProfileError: Error, Sendable, CustomStringConvertible {
    package let mistakes: [ProfileMistake]

    package var description: String { mistakes.map(\.description).joined(separator: "\n") }
}
