import PushSimWebPush
package import PushSimWire

/// One call in the journal.
///
/// A class, since it is filled bit by bit while the call lasts. `@unchecked Sendable`: changed only under its scope's
/// lock, and no more once it is closed; who asks for an open one gets a copy.
package final class JournalEntry: @unchecked Sendable {
    package let index: Int
    /// Nanoseconds since 1970 on the scope's clock, when the call arrived.
    package let time: Int64
    package var call: Call
    /// Of a delivery: the attempt; then there is no call.
    package private(set) var attempt: Attempt?
    /// Of a body that is stored in part only: its whole length and SHA-256.
    package private(set) var bodyDigest: (length: Int, sha256: [UInt8])?
    /// The same of the body that was answered.
    package private(set) var answerDigest: (length: Int, sha256: [UInt8])?
    /// Whether it is decided what goes wrong; it may be that nothing does.
    package internal(set) var isDecided = false
    /// Whether a stub of the test answers it.
    package var isStubbed = false
    package internal(set) var decision: Decision?
    package internal(set) var decided: Decided?
    /// The bytes of the answer.
    package var answer: [UInt8] = []
    package var status: Int?
    /// How the connection ended; nil while the exchange is open.
    package fileprivate(set) var ending: Ending?
    /// While it is open.
    package fileprivate(set) var exchange: Exchange?
    /// Among those that are open; negative for one that never was.
    fileprivate let slot: Int
    fileprivate var size = 0

    package init(index: Int, time: Int64, call: Call, exchange: Exchange?, slot: Int = -1) {
        self.slot = slot
        self.index = index
        self.time = time
        self.call = call
        self.exchange = exchange
    }

    fileprivate init(index: Int, time: Int64, _ attempt: Attempt) {
        self.index = index
        self.time = time
        call = .none
        slot = -1
        self.attempt = attempt
        status = attempt.status
        size = 80 + attempt.delivery.size
    }

    fileprivate var copy: JournalEntry {
        let copy = JournalEntry(index: index, time: time, call: call, exchange: nil)
        copy.decision = decision
        copy.decided = decided
        copy.answer = answer
        copy.status = status
        copy.isStubbed = isStubbed
        return copy
    }

    fileprivate func close(_ ending: Ending, bodyLimit: Int) {
        self.ending = ending
        exchange = nil
        let (head, whole) = (call.head, call.body)
        if whole.count > bodyLimit {
            bodyDigest = (whole.count, Digest.sha256(whole))
            call = call.capped(bodyLimit)
        }
        if answer.count > bodyLimit { capAnswer(bodyLimit) }
        // About how many bytes it holds.
        size = 640 + head.bytes.count + head.fields.count * 16 + min(whole.count, bodyLimit) + answer.count
    }
}

extension JournalEntry {
    fileprivate func capAnswer(_ limit: Int) {
        let start = Response.headEnd(answer)
        guard answer.count - start > limit else { return }
        answerDigest = (answer.count - start, Digest.sha256(answer[start...]))
        answer = Array(answer[..<(start + limit)])
    }
}

/// What clients sent and got, bounded in bytes: the oldest entries fall out first.
package struct Journal: Sendable {
    /// How much of a body is stored.
    package static let bodyLimit = 256 << 10

    private var ring: [JournalEntry?] = []
    private var first = 0
    private var count = 0
    private var bytes = 0
    /// Open entries, each in a slot that its closing frees.
    private var open: [JournalEntry?] = []
    private var free: [Int] = []
    /// How many of those are free still: what was taken stays in the list, and gives way.
    private var freeCount = 0
    package private(set) var limit: Int
    package private(set) var nextIndex = 1
    private var calls = 0
    package private(set) var evicted = 0

    package init(limit: Int = 8 << 20) { self.limit = limit }

    package var isOn: Bool { limit > 0 }

    package mutating func setLimit(_ bytes: Int) {
        limit = bytes
        evict()
    }

    /// Opens the entry of a call and numbers the call. Entries are kept aside until `close`.
    package mutating func open(_ call: Call, _ exchange: Exchange, time: Int64) -> JournalEntry {
        call.index = nextIndex
        calls += 1
        call.number = calls
        let slot: Int
        if freeCount > 0 {
            freeCount -= 1
            slot = free[freeCount]
        } else {
            slot = open.count
            open.append(nil)
        }
        let entry = JournalEntry(index: nextIndex, time: time, call: call, exchange: exchange, slot: slot)
        nextIndex += 1
        open[slot] = entry
        return entry
    }

    /// Whether the entry was open, which it is not after a reset.
    package mutating func close(_ entry: JournalEntry, _ ending: Ending) -> Bool {
        let slot = entry.slot
        guard slot >= 0, slot < open.count, open[slot] === entry else { return false }
        open[slot] = nil
        if freeCount < free.count { free[freeCount] = slot } else { free.append(slot) }
        freeCount += 1
        entry.close(ending, bodyLimit: Self.bodyLimit)
        if limit > 0 { append(entry, entry.size) }
        return true
    }

    mutating func append(_ attempt: Attempt, time: Int64) -> JournalEntry {
        let entry = JournalEntry(index: nextIndex, time: time, attempt)
        nextIndex += 1
        if limit > 0 { append(entry, entry.size) }
        return entry
    }

    private mutating func append(_ entry: JournalEntry, _ size: Int) {
        if count == ring.count { grow() }
        let end = first + count
        ring[end < ring.count ? end : end - ring.count] = entry
        count += 1
        bytes += size
        if bytes > limit { evict() }
    }

    /// All entries, copies of open ones too, by index.
    package var entries: [JournalEntry] {
        guard limit > 0 else { return [] }
        var all: [JournalEntry] = []
        all.reserveCapacity(count + open.count)
        for offset in 0..<count {
            if let entry = ring[(first + offset) % ring.count] { all.append(entry) }
        }
        all += open.compactMap { $0?.copy }
        return all.sorted { $0.index < $1.index }
    }

    /// Exchanges that are not over, in the order of their arrival.
    var openExchanges: [Exchange] {
        open.compactMap { $0 }.sorted { $0.index < $1.index }.compactMap(\.exchange)
    }

    package mutating func reset() { self = Journal(limit: limit) }

    private mutating func grow() {
        let size = max(64, count * 2)
        var larger: [JournalEntry?] = []
        larger.reserveCapacity(size)
        for offset in 0..<count { larger.append(ring[(first + offset) % ring.count]) }
        larger += [JournalEntry?](repeating: nil, count: size - count)
        ring = larger
        first = 0
    }

    private mutating func evict() {
        while bytes > limit, count > 0 {
            bytes -= ring[first]?.size ?? 0
            ring[first] = nil
            first = first + 1 == ring.count ? 0 : first + 1
            count -= 1
            evicted += 1
        }
    }
}
