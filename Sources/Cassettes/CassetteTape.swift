import PushSimSimulation
import PushSimWire

/// Cassettes made ready to be played: shared by the scopes that play them.
package final class CassetteTape: Sendable {
    let entries: [CassetteEntry]
    let meanings: [RequestMeaning]
    /// When the cassette of each entry was recorded.
    let recordedAt: [Int64?]
    /// Entries, in order, whose requests mean the same: of those with no placeholder and no rule of their own.
    let groups: [[Int]]
    /// By what a request means, and by its octets where the media types differ: which of `groups`.
    private let closed: [ByteKey: Int]
    /// The others, by method and path where those are sure, else under nothing.
    private let others: [ByteKey: [Int]]
    let answers: RecordedAnswers
    /// What was pushed, in order.
    let deliveries: [CassetteEntry]
    /// Which cassette each entry and each push is of.
    let source: [Int]
    let deliverySource: [Int]
    let cassetteCount: Int

    /// Deliveries are no answers to anybody's request, so they stand apart.
    package init(_ cassettes: [Cassette]) {
        var entries: [CassetteEntry] = []
        var meanings: [RequestMeaning] = []
        var recordedAt: [Int64?] = []
        var own: [Bool] = []
        let count = cassettes.reduce(0) { $0 + $1.entries.count }
        entries.reserveCapacity(count)
        meanings.reserveCapacity(count)
        recordedAt.reserveCapacity(count)
        var source: [Int] = []
        for (index, cassette) in cassettes.enumerated() {
            for entry in cassette.entries where !entry.isDelivery {
                entries.append(entry)
                meanings.append(RequestMeaning(entry, cassette.about.match))
                recordedAt.append(cassette.about.recordedAt)
                own.append(cassette.about.isOwn && !cassette.about.isImported)
                source.append(index)
            }
        }
        var closed: [ByteKey: Int] = [:]
        var groups: [[Int]] = []
        closed.reserveCapacity(count)
        var others: [ByteKey: [Int]] = [:]
        for (number, meaning) in meanings.enumerated() {
            if meaning.isClosed {
                let key = meaning.canonical
                let plain = meaning.plain
                if let group = closed[key] ?? closed[plain] {
                    groups[group].append(number)
                    if closed[plain] == nil { closed[plain] = group }
                } else {
                    closed[key] = groups.count
                    closed[plain] = groups.count
                    groups.append([number])
                }
            } else {
                others[meaning.openKey, default: []].append(number)
            }
        }
        (self.entries, self.meanings, self.recordedAt) = (entries, meanings, recordedAt)
        (self.closed, self.others, self.groups) = (closed, others, groups)
        deliveries = cassettes.flatMap(\.entries).filter(\.isDelivery)
        deliverySource = cassettes.enumerated().flatMap { index, cassette in
            cassette.entries.filter(\.isDelivery).map { _ in index }
        }
        self.source = source
        cassetteCount = cassettes.count
        comparesHeaders = meanings.contains { !$0.rules.headers.isEmpty }
        var names: [[UInt8]] = []
        for field in meanings.flatMap(\.identity) where !names.contains(where: field.isNamed) {
            names.append(field.name)
        }
        identity = names
        answers = RecordedAnswers(entries, isOwn: own)
    }

    /// Header fields that say who asks, by the placeholders in them.
    let identity: [[UInt8]]

    /// Whether a rule makes header fields count.
    let comparesHeaders: Bool

    func group(_ request: RequestMeaning) -> Int? { closed[request.canonical] ?? closed[request.plain] }

    /// The entries that must be compared with a request one by one, in order.
    func open(_ request: RequestMeaning) -> [Int] {
        if others.isEmpty { return [] }
        let (sure, unsure) = (others[request.sureKey] ?? [], others[RequestMeaning.unsureKey] ?? [])
        if unsure.isEmpty { return sure }
        return sure.isEmpty ? unsure : (sure + unsure).sorted()
    }
}

extension RequestMeaning {
    static let unsureKey = ByteKey([])

    var sureKey: ByteKey { ByteKey(method + [Byte.space] + path) }

    var openKey: ByteKey {
        rules.method && rules.path && !Template.mayHavePlaceholders(path) ? sureKey : Self.unsureKey
    }
}
