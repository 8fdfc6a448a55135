import PushSimSimulation
import PushSimWire

/// What is wrong with a cassette, line by line.
package enum CassetteCheck {
    /// - Parameter now: nanoseconds since 1970, by which things have expired.
    package static func findings(_ cassette: Cassette, now: Int64) -> [String] {
        var found = cassette.notes.map(\.description)
        for (index, entry) in cassette.entries.enumerated() {
            if let answer = entry.answer, answer.body == .notCaptured {
                found.append("entry \(index + 1), \(entry.line): the body was not captured")
            }
        }
        return found + secrets(cassette) + expired(cassette, now)
    }

    /// What is worth a look and may be right: the same answer to the same question twice is what polling looks like.
    package static func remarks(_ cassette: Cassette) -> [String] { duplicates(cassette) }

    private static func secrets(_ cassette: Cassette) -> [String] {
        var redaction = CassetteRedaction()
        redaction.rules = cassette.about.redact.compactMap { try? RedactionRule($0) }
        redaction.normalises = false
        let (redacted, secrets) = redaction.redacted(cassette)
        if secrets.all.isEmpty { return [] }
        return zip(cassette.entries, redacted.entries).enumerated().compactMap { index, pair in
            let kinds = names(pair.1).subtracting(names(pair.0)).map { $0.prefix { $0 != "." } }
            if kinds.isEmpty { return nil }
            let said = Set(kinds.map { String($0) }).sorted().joined(separator: ", ")
            return "entry \(index + 1), \(pair.0.line): holds what looks like a secret (\(said)): run cassette redact"
        }
    }

    private static func names(_ entry: CassetteEntry) -> Set<String> {
        Set(entry.texts.flatMap { Template($0).names.map(\.text) })
    }

    private static func expired(_ cassette: Cassette, _ now: Int64) -> [String] {
        guard let recorded = cassette.about.recordedAt else { return [] }
        let (begin, end) = (recorded.floorDivided(by: 1_000_000_000), now.floorDivided(by: 1_000_000_000))
        return cassette.entries.enumerated().compactMap { index, entry in
            let dates = (entry.answer?.headers ?? []).compactMap { DateShift.expiry($0) }
            guard dates.contains(where: { $0 > begin && $0 < end }) else { return nil }
            return "entry \(index + 1), \(entry.line): has expired since: replay with --shift-dates"
        }
    }

    private static func duplicates(_ cassette: Cassette) -> [String] {
        var seen: [ByteKey: Int] = [:]
        var found: [String] = []
        for (index, entry) in cassette.entries.enumerated() {
            let meaning = RequestMeaning(entry, cassette.about.match)
            var asked: [UInt8] = []
            for field in entry.headers { asked += field.name + [Byte.colon] + field.value + [Byte.lineFeed] }
            let key = ByteKey(meaning.canonical.bytes + asked + entry.outcome.octets)
            if let first = seen[key] {
                found.append("entry \(index + 1), \(entry.line): is the same as entry \(first + 1)")
            } else {
                seen[key] = index
            }
        }
        return found
    }
}
