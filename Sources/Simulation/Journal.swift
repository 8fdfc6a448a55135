import PushSimWebPush
package import PushSimWire

/// One call or delivery in the journal.
package struct JournalEntry: Sendable {
    package var index: Int
    /// Nanoseconds since 1970 on the scope's clock, when the call arrived.
    package var time: Int64
    package var call: Call
    /// Of a body that is stored in part only: its whole length and SHA-256.
    package var bodyDigest: (length: Int, sha256: [UInt8])?
    package var backend: String?
    package var route: String?
    package var facts = Facts()
    package var decision: Decision?
    /// The bytes of the answer up to and with its head; what follows is body.
    package var answer: [UInt8] = []
    package var status: Int?
    /// How the connection ended; nil while the exchange is open.
    package var ending: Ending?
    /// Of a delivery: what was sent and what came of it.
    package var delivery: Delivery?

    package init(
        index: Int, time: Int64, call: Call, backend: String? = nil, route: String? = nil, facts: Facts = Facts()
    ) {
        self.index = index
        self.time = time
        self.call = call
        self.backend = backend
        self.route = route
        self.facts = facts
    }

    /// About how many bytes it holds.
    var size: Int {
        320 + call.head.bytes.count + call.head.fields.count * 16 + call.body.count + answer.count
            + (delivery?.size ?? 0)
    }
}

/// What clients sent and got, bounded in bytes: the oldest entries fall out first.
package struct Journal: Sendable {
    /// How much of a body is stored.
    package static let bodyLimit = 256 << 10

    /// Entries are changed and moved where they are: copying one costs more than the call it tells of.
    ///
    /// `@unchecked Sendable`: part of the world, so touched only under its scope's lock.
    private final class Record: @unchecked Sendable {
        var entry: JournalEntry
        var size = 0

        init(_ entry: JournalEntry) { self.entry = entry }
    }

    private var ring: [Record?] = []
    private var first = 0
    private var count = 0
    private var bytes = 0
    private var open: [Int: Record] = [:]
    package private(set) var limit: Int
    package private(set) var nextIndex = 1
    package private(set) var evicted = 0

    package init(limit: Int = 8 << 20) { self.limit = limit }

    package var isOn: Bool { limit > 0 }

    package mutating func setLimit(_ bytes: Int) {
        limit = bytes
        evict()
    }

    /// The index of the next call.
    package mutating func reserve() -> Int {
        defer { nextIndex += 1 }
        return nextIndex
    }

    /// Keeps an entry aside until `close`.
    package mutating func open(_ entry: JournalEntry) {
        if isOn { open[entry.index] = Record(entry) }
    }

    /// Changes an entry that is still open.
    package mutating func update(_ index: Int, _ change: (inout JournalEntry) -> Void) {
        if let record = open[index] { change(&record.entry) }
    }

    /// - Parameter wanted: whether the caller has use for the finished entry.
    package mutating func close(_ index: Int, _ ending: Ending, wanted: Bool = false) -> JournalEntry? {
        guard let record = open.removeValue(forKey: index) else { return nil }
        record.entry.ending = ending
        append(record)
        return wanted ? record.entry : nil
    }

    /// Adds an entry that is already over.
    package mutating func append(_ entry: JournalEntry) { append(Record(entry)) }

    private mutating func append(_ record: Record) {
        guard isOn else { return }
        if record.entry.call.body.count > Self.bodyLimit { record.entry = Self.capped(record.entry) }
        record.size = record.entry.size
        if count == ring.count { grow() }
        ring[(first + count) % ring.count] = record
        count += 1
        bytes += record.size
        evict()
    }

    /// All entries, open ones too, by index.
    package var entries: [JournalEntry] {
        var all: [JournalEntry] = []
        all.reserveCapacity(count + open.count)
        for offset in 0..<count {
            if let record = ring[(first + offset) % ring.count] { all.append(record.entry) }
        }
        all += open.values.map(\.entry)
        return all.sorted { $0.index < $1.index }
    }

    package mutating func reset() { self = Journal(limit: limit) }

    private mutating func grow() {
        var larger: [Record?] = []
        larger.reserveCapacity(max(64, count * 2))
        for offset in 0..<count { larger.append(ring[(first + offset) % ring.count]) }
        larger += [Record?](repeating: nil, count: max(64, count * 2) - count)
        ring = larger
        first = 0
    }

    private mutating func evict() {
        while bytes > limit, count > 0 {
            bytes -= ring[first]?.size ?? 0
            ring[first] = nil
            first = (first + 1) % ring.count
            count -= 1
            evicted += 1
        }
    }

    private static func capped(_ entry: JournalEntry) -> JournalEntry {
        var entry = entry
        let body = entry.call.body
        entry.bodyDigest = (body.count, Digest.sha256(body))
        var request = entry.call.request
        request.body = Array(body.prefix(bodyLimit))
        let call = Call(
            request: request, path: entry.call.path, peerAddress: entry.call.peerAddress, baseURL: entry.call.baseURL)
        call.index = entry.call.index
        entry.call = call
        return entry
    }
}
