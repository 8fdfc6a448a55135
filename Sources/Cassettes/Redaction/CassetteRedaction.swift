import PushSimWebPush
import PushSimWire

/// How a cassette is made from what was seen.
package struct CassetteRedaction: Sendable {
    /// How entries are put in order.
    package enum Order: Sendable {
        /// By method, raw target and body, then by occurrence: the same file whatever overlapped.
        case identity
        /// As they began.
        case start
        /// As they stand.
        case asGiven
    }

    package var rules: [RedactionRule] = []
    package var redactsRoutingIDs = false
    package var order = Order.asGiven
    /// Whether headers that differ from run to run are made the same.
    package var normalises = true

    package init() {}

    /// Takes out the secrets, sorts, names the placeholders, writes, and searches what was written.
    /// - Throws: where a secret would be written all the same; nothing is then.
    package func files(_ cassette: Cassette, name: String) throws(CassetteError) -> CassetteFiles {
        let (redacted, secrets) = redacted(cassette)
        let files = HARWriter.files(redacted, name: name)
        try LeakScan(secrets).check(files, "\(name).har")
        return files
    }

    package func redacted(_ cassette: Cassette) -> (Cassette, Secrets) {
        var entries = cassette.entries
        if normalises { entries = entries.map(\.normalised) }
        // What the log itself says goes along as the body of an entry that is none.
        if let unknown = cassette.about.unknown { entries.append(Self.carrier(unknown)) }
        var collector = SecretCollector(rules, redactsRoutingIDs: redactsRoutingIDs)
        collector.collect(entries)
        var redactor = Redactor(collector.secrets, rules)
        var found = redactor.redact(entries)
        let carrier = cassette.about.unknown == nil ? nil : found.popLast()
        let sorted = sort(found, redactor.secrets)
        var names = PlaceholderNames(redactor.secrets, taken: entries)
        var result = cassette
        result.about.isNormalised = normalises || cassette.about.isNormalised
        result.entries = sorted.map { entry in entry.rendered { names.name($0) } }
        result.about.unknown = carrier?.body.rendered { names.name($0) }
        let known = Set(cassette.about.redact)
        result.about.redact = cassette.about.redact + rules.map(\.text).filter { !known.contains($0) }
        return (result, redactor.secrets)
    }

    private static func carrier(_ text: [UInt8]) -> CassetteEntry {
        CassetteEntry(
            method: [], url: RecordedURL(origin: [], path: [Byte.slash], query: nil), headers: [], body: .bytes(text),
            outcome: .failure(.init(.other)))
    }

    /// A recorded entry and one that has just been answered, both without secrets and without what differs from run to
    /// run, so that only what really is different differs.
    /// - Parameter rules: as the cassette has them.
    package static func comparable(
        _ recorded: CassetteEntry, _ answered: CassetteEntry, _ rules: [String]
    ) -> (CassetteEntry, CassetteEntry) {
        var redaction = CassetteRedaction()
        redaction.rules = rules.compactMap { try? RedactionRule($0) }
        let (live, _) = redaction.redacted(Cassette(name: "", entries: [answered]))
        return (recorded.normalised.anonymous, (live.entries.first ?? answered).anonymous)
    }

    // MARK: order

    private struct Keyed {
        let entry: RedactedEntry
        let identity: ByteKey
        /// Requests that overlapped, directly or by others between them, are of one burst.
        var burst = 0
        /// With its secrets: only compared, never written.
        let exact: [UInt8]
        let answer: [UInt8]
        let start: Int64
        let end: Int64
    }

    private func sort(_ entries: [RedactedEntry], _ secrets: Secrets) -> [RedactedEntry] {
        switch order {
        case .asGiven: return entries
        case .start:
            return entries.enumerated().sorted { left, right in
                let (first, second) = (left.element.source.timing?.start ?? 0, right.element.source.timing?.start ?? 0)
                return first != second ? first < second : left.offset < right.offset
            }.map(\.element)
        case .identity: break
        }
        var keyed = entries.map { Self.key($0, secrets) }.sorted { $0.start < $1.start }
        var end = Int64.min
        for index in keyed.indices {
            keyed[index].burst = index == 0 ? 0 : keyed[index - 1].burst + (keyed[index].start > end ? 1 : 0)
            end = max(end, keyed[index].end)
        }
        return keyed.sorted(by: Self.isBefore).map(\.entry)
    }

    /// By identity, then by occurrence; of what was under way at once none was first, so what was asked and answered
    /// decides.
    private static func isBefore(_ left: Keyed, _ right: Keyed) -> Bool {
        if left.identity != right.identity {
            return left.identity.bytes.lexicographicallyPrecedes(right.identity.bytes)
        }
        if left.burst != right.burst { return left.burst < right.burst }
        if left.exact != right.exact { return left.exact.lexicographicallyPrecedes(right.exact) }
        if left.answer != right.answer { return left.answer.lexicographicallyPrecedes(right.answer) }
        return left.start < right.start
    }

    private static func key(_ entry: RedactedEntry, _ secrets: Secrets) -> Keyed {
        let plain = entry.rendered { secrets.all[$0].kind }
        let source = entry.source
        // A record is another each time: pushes to one endpoint stay as they came.
        let body = source.isDelivery ? [] : Digest.sha256(plain.body.octets)
        let identity = plain.method + [32] + plain.url.target + [32] + body
        let exact =
            source.isDelivery
            ? []
            : Digest.sha256(
                source.url.target + [32] + source.body.octets + (source.headers.first("authorization") ?? []))
        let start = source.timing?.start ?? 0
        return Keyed(
            entry: entry, identity: ByteKey(identity), exact: exact,
            answer: Digest.sha256(plain.outcome.octets),
            start: start, end: start + (source.timing.map { $0.wait + $0.receive } ?? 0))
    }
}

/// Gives placeholders their names in the order in which they are met.
private struct PlaceholderNames {
    private let secrets: Secrets
    private var names: [Int: String] = [:]
    private var counts: [String: Int] = [:]

    /// - Parameter taken: entries whose placeholders keep their names.
    init(_ secrets: Secrets, taken entries: [CassetteEntry]) {
        self.secrets = secrets
        for entry in entries { for text in entry.texts { note(Template(text)) } }
    }

    private mutating func note(_ template: Template) {
        for name in template.names {
            guard let dot = name.lastIndex(of: 46), let number = decimalDigits(name[(dot + 1)...]) else { continue }
            let kind = Array(name[..<dot]).text
            counts[kind] = max(counts[kind] ?? 0, min(number, 1 << 40))
        }
    }

    mutating func name(_ secret: Int) -> String {
        if let known = names[secret] { return known }
        let kind = secrets.all[secret].kind
        counts[kind, default: 0] += 1
        let name = "\(kind).\(counts[kind] ?? 1)"
        names[secret] = name
        return name
    }
}
