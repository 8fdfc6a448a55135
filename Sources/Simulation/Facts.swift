/// What a call is about: what rules look at, counters are kept by, and the journal shows.
///
/// `@unchecked Sendable`: filled by whoever makes it, and not changed after that.
package final class Facts: @unchecked Sendable {
    package var account: [UInt8]?
    package var token: [UInt8]?
    /// Of a call that names several tokens: those behind the first. A rule that asks for one of them is asked for the call.
    package var otherTokens: [[UInt8]] = []
    package var subscriber: [UInt8]?
    package var topic: [UInt8]?
    /// Of a message to a condition on topics: those that it names. A rule that asks for one of them is asked for the call.
    package var conditionTopics: [[UInt8]] = []
    package var kind: String?
    package var transport: String?

    package init() {}

    /// The tokens that the call names.
    package var tokens: [[UInt8]] {
        get { token.map { [$0] + otherTokens } ?? [] }
        set { (token, otherTokens) = (newValue.first, Array(newValue.dropFirst())) }
    }
}
