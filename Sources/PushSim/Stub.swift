public import PushSimJSONText
import PushSimSimulation
import PushSimWire

/// What a stub answers.
public struct StubAnswer: Sendable {
    let response: Response

    /// Makes an answer.
    /// - Parameters:
    ///   - status: from 200 to 599; others become 500.
    ///   - headers: in order; what HTTP does not allow is left out.
    public init(_ status: Int = 200, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        let fields = headers.map { HeaderField($0.name, $0.value) }
            .filter { HeaderField.isName($0.name) && HeaderField.isValue($0.value) }
        response = Response(status: (200...599).contains(status) ? status : 500, fields: fields, body: body)
    }

    /// An answer of JSON.
    public static func json(_ body: JSON, status: Int = 200) -> StubAnswer {
        StubAnswer(status, headers: [("Content-Type", "application/json")], body: Array(body.description.utf8))
    }
}

/// Calls that a test answers itself.
struct Stub: Sendable {
    private let differences: @Sendable (Call) -> [String]
    let answer: @Sendable (RecordedCall) -> StubAnswer

    init(_ matcher: CallMatcher, _ answer: @escaping @Sendable (RecordedCall) -> StubAnswer) {
        differences = matcher.differences
        self.answer = answer
    }

    func matches(_ call: Call) -> Bool { differences(call).isEmpty }
}
