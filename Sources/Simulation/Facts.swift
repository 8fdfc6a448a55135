/// What a call or a delivery is about: what rules look at, counters are kept by, and the journal shows.
package struct Facts: Hashable, Sendable {
    package var account: [UInt8]?
    package var token: [UInt8]?
    package var subscriber: [UInt8]?
    package var topic: [UInt8]?
    package var kind: String?
    package var transport: String?

    package init() {}
}
