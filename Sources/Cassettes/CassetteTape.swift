import PushSimSimulation
import PushSimWire

/// Cassettes made ready to be played: shared by the scopes that play them.
package final class CassetteTape: Sendable {
    let entries: [CassetteEntry]
    let meanings: [RequestMeaning]
    /// When the cassette of each entry was recorded.
    let recordedAt: [Int64?]
    /// By what a request means: entries in order, of those with no placeholder and no rule of their own.
    let closed: [ByteKey: [Int]]
    /// The others, by method and path where those are sure, else under nothing.
    private let others: [ByteKey: [Int]]
    let answers: RecordedAnswers

    /// Deliveries are no answers to anybody's request, so they are left out here.
    package init(_ cassettes: [Cassette]) {
        var entries: [CassetteEntry] = []
        var meanings: [RequestMeaning] = []
        var recordedAt: [Int64?] = []
        var own: [Bool] = []
        for cassette in cassettes {
            for entry in cassette.entries where !entry.isDelivery {
                entries.append(entry)
                meanings.append(RequestMeaning(entry, cassette.about.match))
                recordedAt.append(cassette.about.recordedAt)
                own.append(cassette.about.isOwn)
            }
        }
        var closed: [ByteKey: [Int]] = [:]
        var others: [ByteKey: [Int]] = [:]
        for (number, meaning) in meanings.enumerated() {
            if meaning.isClosed {
                closed[meaning.canonical, default: []].append(number)
            } else {
                others[meaning.openKey, default: []].append(number)
            }
        }
        (self.entries, self.meanings, self.recordedAt) = (entries, meanings, recordedAt)
        (self.closed, self.others) = (closed, others)
        answers = RecordedAnswers(entries, isOwn: own)
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
