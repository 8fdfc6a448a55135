import PushSimWire

/// Which topics a device must be on to get a message: `'a' in topics && ('b' in topics || !('c' in topics))`. As FCM has
/// it, what stands in parentheses comes first, and the rest goes from left to right.
struct TopicCondition: Sendable {
    /// Why a text is none.
    struct Mistake: Error {
        let message: String
    }

    /// FCM takes no more.
    static let mostTopics = 5
    private static let mostNesting = 32

    private indirect enum Term: Sendable {
        case isOn([UInt8])
        case not(Term)
        case both(Term, Term)
        case either(Term, Term)

        func holds(_ isOn: ([UInt8]) -> Bool) -> Bool {
            switch self {
            case .isOn(let topic): isOn(topic)
            case .not(let term): !term.holds(isOn)
            case .both(let left, let right): left.holds(isOn) && right.holds(isOn)
            case .either(let left, let right): left.holds(isOn) || right.holds(isOn)
            }
        }
    }

    private let term: Term
    /// Those that it names, in order.
    let topics: [[UInt8]]

    init(_ text: [UInt8], isStrict: Bool) throws(Mistake) {
        var reader = Reader(text, isStrict)
        term = try reader.expression(0)
        guard reader.isAtEnd else { throw Mistake(message: "something follows the condition") }
        topics = reader.topics
    }

    func holds(_ isOn: ([UInt8]) -> Bool) -> Bool { term.holds(isOn) }

    private struct Reader {
        private let text: [UInt8]
        private let isStrict: Bool
        private var index = 0
        private(set) var topics: [[UInt8]] = []

        init(_ text: [UInt8], _ isStrict: Bool) {
            self.text = text
            self.isStrict = isStrict
        }

        var isAtEnd: Bool {
            mutating get {
                skipSpace()
                return index == text.count
            }
        }

        mutating func expression(_ nesting: Int) throws(Mistake) -> Term {
            var left = try operand(nesting)
            while true {
                if take("&&") {
                    left = .both(left, try operand(nesting))
                } else if take("||") {
                    left = .either(left, try operand(nesting))
                } else {
                    return left
                }
            }
        }

        private mutating func operand(_ nesting: Int) throws(Mistake) -> Term {
            guard nesting < TopicCondition.mostNesting else { throw Mistake(message: "it is nested too deeply") }
            if take("!") { return .not(try operand(nesting + 1)) }
            guard take("(") else { return .isOn(try topic()) }
            let inner = try expression(nesting + 1)
            guard take(")") else { throw Mistake(message: "a parenthesis is not closed") }
            return inner
        }

        /// `'a' in topics`.
        private mutating func topic() throws(Mistake) -> [UInt8] {
            guard take("'") else { throw Mistake(message: "a topic in single quotes is missing") }
            let start = index
            while index < text.count, text[index] != 39 { index += 1 }
            let given = Array(text[start..<index])
            guard take("'"), take("in"), index < text.count, Self.isSpace(text[index]), take("topics") else {
                throw Mistake(message: "a topic is named as in 'a' in topics")
            }
            guard let topic = TopicName.checked(given, isStrict: isStrict) else {
                throw Mistake(message: "\"\(given.text)\" is no name of a topic")
            }
            // At once: what a client makes longer and longer would be nested deeper and deeper.
            guard topics.count < TopicCondition.mostTopics else {
                throw Mistake(message: "it names more than \(TopicCondition.mostTopics) topics")
            }
            topics.append(topic)
            return topic
        }

        private static func isSpace(_ byte: UInt8) -> Bool {
            byte == Byte.space || byte == Byte.tab || byte == Byte.lineFeed || byte == Byte.carriageReturn
        }

        private mutating func skipSpace() {
            while index < text.count, Self.isSpace(text[index]) { index += 1 }
        }

        /// Steps over a word or sign that stands there, and the space before it.
        private mutating func take(_ word: StaticString) -> Bool {
            skipSpace()
            guard Array(text[index...].prefix(word.utf8CodeUnitCount)).isSame(as: word) else { return false }
            index += word.utf8CodeUnitCount
            return true
        }
    }
}
