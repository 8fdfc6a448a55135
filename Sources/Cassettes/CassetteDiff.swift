import PushSimJSONText
import PushSimWire

/// What two cassettes say differently, by entry and by meaning.
package enum CassetteDiff {
    package static func differences(_ left: Cassette, _ right: Cassette) -> [String] {
        var found: [String] = []
        let (own, other) = (keyed(left), keyed(right))
        var theirs: [ByteKey: [Int]] = [:]
        for (number, key) in other.enumerated() { theirs[key, default: []].append(number) }
        var met: Set<Int> = []
        for (number, key) in own.enumerated() {
            guard let match = theirs[key]?.first(where: { !met.contains($0) }) else {
                found.append("- \(left.entries[number].line): only in \(left.name)")
                continue
            }
            met.insert(match)
            for difference in outcome(left.entries[number], right.entries[match]) {
                found.append("~ \(left.entries[number].line): \(difference)")
            }
        }
        for number in other.indices where !met.contains(number) {
            found.append("+ \(right.entries[number].line): only in \(right.name)")
        }
        return found
    }

    private static func keyed(_ cassette: Cassette) -> [ByteKey] {
        cassette.entries.map { RequestMeaning($0, MatchRules()).canonical }
    }

    /// What was answered otherwise.
    package static func outcome(_ left: CassetteEntry, _ right: CassetteEntry) -> [String] {
        switch (left.outcome, right.outcome) {
        case (.failure(let own), .failure(let other)):
            if own.kind != other.kind { return ["failed: \(own.kind.rawValue) against \(other.kind.rawValue)"] }
        case (.failure(let own), .answer(let answer)): return ["failed: \(own.kind.rawValue), against \(answer.status)"]
        case (.answer(let answer), .failure(let other)):
            return ["\(answer.status), against failed: \(other.kind.rawValue)"]
        case (.answer, .answer): break
        }
        guard let own = left.answer, let other = right.answer else { return [] }
        var found: [String] = []
        if own.status != other.status { found.append("status: \(own.status) against \(other.status)") }
        found += headers(own.headers, other.headers)
        if let body = body(own, other) { found.append(body) }
        return found
    }

    private static func headers(_ left: [HeaderField], _ right: [HeaderField]) -> [String] {
        var names: [[UInt8]] = []
        for field in left + right where !names.contains(where: field.isNamed) { names.append(field.name) }
        // How long the body is, the body says itself.
        return names.filter { !HARReader.isFraming($0) }.compactMap { name in
            let (own, other) = (
                left.filter { $0.isNamed(name) }.map(\.value), right.filter { $0.isNamed(name) }.map(\.value)
            )
            if own == other { return nil }
            func shown(_ values: [[UInt8]]) -> String {
                values.isEmpty ? "nothing" : values.map(\.text).joined(separator: ", ")
            }
            return "header \(name.text): \(shown(own)) against \(shown(other))"
        }
    }

    private static func body(_ left: CassetteEntry.Answer, _ right: CassetteEntry.Answer) -> String? {
        let (own, other) = (left.body.octets, right.body.octets)
        if left.body == right.body { return nil }
        if let first = try? JSONDocument(own), let second = try? JSONDocument(other) {
            return JSONComparison.difference(first.root, second.root).map { "body differs at \($0)" }
        }
        let place = zip(own, other).enumerated().first { $1.0 != $1.1 }?.offset ?? min(own.count, other.count)
        return "body differs at octet \(place): \(own.count) octets against \(other.count)"
    }
}
