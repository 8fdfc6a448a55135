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
        let found = cassettes.map { Self.deliveries($0.entries) }
        // Where nothing stands apart, the entries of the one cassette are those of the tape, without a copy.
        let isOne = cassettes.count == 1 && found[0].isEmpty
        entries = isOne ? cassettes[0].entries : cassettes.flatMap { $0.entries.filter { !$0.isDelivery } }
        let counts = zip(cassettes, found).map { $0.entries.count - $1.count }
        source = counts.enumerated().flatMap { Array(repeating: $0, count: $1) }
        deliveries = found.flatMap { $0 }
        deliverySource = found.enumerated().flatMap { Array(repeating: $0, count: $1.count) }
        cassetteCount = cassettes.count
        recordedAt = source.map { cassettes[$0].about.recordedAt }
        let (all, whence) = (entries, source)
        let (meanings, keys) = Pieces.make(entries.count) { range, add -> [Keys] in
            all.withUnsafeBufferPointer { all in
                guard let base = all.baseAddress else { return [] }
                return range.map { number in
                    let meaning = RequestMeaning(base[number], cassettes[whence[number]].about.match)
                    let keys = Keys(meaning)
                    add(meaning)
                    return keys
                }
            }
        }
        self.meanings = meanings
        var closed: [ByteKey: Int] = [:]
        closed.reserveCapacity(entries.count)
        var groups: [[Int]] = []
        var others: [ByteKey: [Int]] = [:]
        for (number, keys) in keys.joined().enumerated() {
            guard let plain = keys.plain else {
                others[keys.open, default: []].append(number)
                continue
            }
            if let group = closed[keys.canonical ?? plain] ?? closed[plain] {
                groups[group].append(number)
                if closed[plain] == nil { closed[plain] = group }
            } else {
                if let canonical = keys.canonical { closed[canonical] = groups.count }
                closed[plain] = groups.count
                groups.append([number])
            }
        }
        (self.closed, self.others, self.groups) = (closed, others, groups)
        comparesHeaders = meanings.contains { !$0.rules.headers.isEmpty }
        var names: [[UInt8]] = []
        for field in meanings.flatMap(\.identity) where !names.contains(where: field.isNamed) {
            names.append(field.name)
        }
        identity = names
        answers = RecordedAnswers(
            entries, isOwn: source.map { cassettes[$0].about.isOwn && !cassettes[$0].about.isImported })
    }

    private static func deliveries(_ entries: [CassetteEntry]) -> [CassetteEntry] {
        entries.withUnsafeBufferPointer { entries in
            entries.indices.compactMap { entries[$0].isDelivery ? entries[$0] : nil }
        }
    }

    /// Under what a request is looked up.
    private struct Keys {
        var canonical: ByteKey?
        /// Nil for one that must be compared.
        var plain: ByteKey?
        var open = RequestMeaning.unsureKey

        init(_ meaning: RequestMeaning) {
            guard meaning.isClosed else {
                open = meaning.openKey
                return
            }
            plain = meaning.plain
            if meaning.hasForm { canonical = meaning.canonical }
        }
    }

    /// Header fields that say who asks, by the placeholders in them.
    let identity: [[UInt8]]

    /// Whether a rule makes header fields count.
    let comparesHeaders: Bool

    func group(_ request: RequestMeaning) -> Int? {
        if closed.isEmpty { return nil }
        if request.hasForm, let found = closed[request.canonical] { return found }
        return closed[request.plain]
    }

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
