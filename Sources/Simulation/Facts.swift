/// What a call is about: what rules look at, counters are kept by, and the journal shows.
///
/// `@unchecked Sendable`: filled by whoever makes it, and not changed after that.
package final class Facts: @unchecked Sendable {
    package var account: [UInt8]?
    package var token: [UInt8]?
    package var subscriber: [UInt8]?
    package var topic: [UInt8]?
    package var kind: String?
    package var transport: String?

    package init() {}
}
