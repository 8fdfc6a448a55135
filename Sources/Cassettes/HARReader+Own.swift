import PushSimJSONText
import PushSimSimulation
import PushSimWire

// What HAR has no member for, as `HARWriter` writes it.
extension HARReader {
    func ownHeaders(_ value: JSONValue?) -> [HeaderField] {
        (value?.lenientElements ?? []).compactMap { element in
            guard let name = element.lenientMember("name")?.lenientText, HeaderField.isName(name) else { return nil }
            let value =
                element.lenientMember("_value64")?.base64Bytes ?? element.lenientMember("value")?.lenientText ?? []
            return HeaderField.isValue(value) ? HeaderField(name, value) : nil
        }
    }

    /// How the entry is matched, which people write into files of all tools. What cannot be read is no reason to lose the
    /// entry, but one not to replay it.
    mutating func addMatch(_ own: JSONValue?, _ entry: inout CassetteEntry, _ number: Int) {
        guard let own, own.kind == .object else { return }
        let known: Set = [
            "direction", "plaintext", "plaintext64", "digest", "notCaptured", "match", "failure", "declared", "chunks",
            "chunkTimes", "encodedBody", "trailers", "interim",
        ]
        if let other = own.members.first(where: { !known.contains($0.name) }) {
            note("match", number, "_pushsim has no \"\(other.name)\"; it has \(known.sorted().joined(separator: ", "))")
        }
        guard let rules = own.lenientMember("match") else { return }
        do throws(CassetteError) {
            entry.match = try MatchRules(rules, over: about.match)
        } catch {
            note("match", number, error.description)
        }
    }

    mutating func addOwn(_ own: JSONValue?, _ value: JSONValue, _ entry: inout CassetteEntry, _ number: Int) {
        entry.httpVersion = Self.version(value.lenientMember("request"))
        addTiming(value, &entry)
        entry.plaintext = own?.lenientMember("plaintext64")?.base64Bytes ?? own?.lenientMember("plaintext")?.stringBytes
        if let digest = own?.lenientMember("digest")?.string, digest != entry.bodyDigest {
            note("digest", number, "a body has been changed by hand")
        }
        let missing = (own?.lenientMember("notCaptured")?.lenientElements ?? []).compactMap(\.string)
        if missing.contains("request") { entry.body = .notCaptured }
        guard var answer = entry.answer else { return }
        if missing.contains("response") { answer.body = .notCaptured }
        answer.httpVersion = Self.version(value.lenientMember("response"))
        let response = value.lenientMember("response")
        if let text = response?.lenientMember("_statusText64")?.base64Bytes, HeaderField.isValue(text) {
            answer.statusText = text
        } else if response?.lenientMember("statusText")?.stringBytes?.isEmpty == true {
            // Own recordings hold what came, also where it was nothing.
            answer.statusText = []
        }
        answer.encodedBody = own?.lenientMember("encodedBody")?.base64Bytes
        if let chunks = own?.lenientMember("chunks") {
            answer.chunks = chunks.elements.compactMap(\.lenientInt).filter { $0 > 0 && $0 < 1 << 40 }
        }
        entry.timing?.chunks = (own?.lenientMember("chunkTimes")?.elements ?? []).compactMap { Self.nanoseconds($0) }
        answer.trailers = ownHeaders(own?.lenientMember("trailers"))
        answer.interim = (own?.lenientMember("interim")?.elements ?? []).compactMap { interim in
            guard let status = interim.lenientMember("status")?.lenientInt, (100...199).contains(status) else {
                return nil
            }
            let text = interim.lenientMember("statusText")?.lenientText ?? []
            return .init(
                status: status, statusText: HeaderField.isValue(text) ? text : [],
                headers: ownHeaders(interim.lenientMember("headers")))
        }
        entry.answer = answer
    }

    private static func version(_ value: JSONValue?) -> [UInt8] {
        let text = value?.lenientMember("httpVersion")?.lenientText ?? []
        return text == Array("HTTP/1.0".utf8) ? text : Array("HTTP/1.1".utf8)
    }

    private func addTiming(_ value: JSONValue, _ entry: inout CassetteEntry) {
        guard let begun = about.recordedAt,
            let started = value.lenientMember("startedDateTime")?.string.flatMap({ TimeText.instant($0) }),
            let timings = value.lenientMember("timings"), let wait = Self.nanoseconds(timings.lenientMember("wait")),
            let receive = Self.nanoseconds(timings.lenientMember("receive"))
        else { return }
        entry.timing = .init(start: started - begun, wait: wait, receive: receive)
    }

    /// As another tool says it; the start since 1970 for now.
    func foreignTiming(_ value: JSONValue) -> CassetteEntry.Timing? {
        guard let text = value.lenientMember("startedDateTime")?.stringBytes,
            let start = TimeText.instant(text) ?? Self.instant(text.text)
        else { return nil }
        let timings = value.lenientMember("timings")
        return .init(
            start: start, wait: Self.nanoseconds(timings?.lenientMember("wait")) ?? 0,
            receive: Self.nanoseconds(timings?.lenientMember("receive")) ?? 0)
    }

    /// 0 to 9 fraction digits, any offset or none, which counts as UTC (R14).
    private static func instant(_ text: String) -> Int64? {
        let text = String(text.filter { $0 != "\n" }).replacing(" ", with: "T")
        if let found = TimeText.instant(text) { return found }
        // An offset without its colon.
        var bytes = Array(text.utf8)
        if bytes.count > 5, [43, 45].contains(bytes[bytes.count - 5]) {
            bytes.insert(Byte.colon, at: bytes.count - 2)
            return TimeText.instant(bytes.text)
        }
        return TimeText.instant(text + "Z")
    }

    /// The cassette begins with the first of its entries; the order of the list decides, whatever the times say.
    mutating func setTimes(_ entries: inout [CassetteEntry], _ begun: Int64) {
        guard begun < .max else { return }
        about.recordedAt = begun
        for index in entries.indices { entries[index].timing?.start -= begun }
    }

    private static func nanoseconds(_ value: JSONValue?) -> Int64? {
        let own = value?.double ?? value?.string.flatMap { Double($0) }
        guard let number = own, number >= 0, number < 1e9 else { return nil }
        return Int64((number * 1_000_000).rounded())
    }
}

extension CassetteAbout {
    init(_ value: JSONValue) throws(CassetteError) {
        guard value.kind == .object else { throw CassetteError("must be an object, not \(value.kindName)") }
        let known = ["format", "recordedAt", "redact", "normalise", "imported", "unknown", "match"]
        if let other = value.members.first(where: { !known.contains($0.name) }) {
            throw CassetteError("there is no \"\(other.name)\"; there are \(known.joined(separator: ", "))")
        }
        if let format = value.lenientMember("format") {
            guard format.int == 1 else {
                throw CassetteError("format \(format.sourceText) is not known here; this version reads format 1")
            }
            isOwn = true
        }
        redact = (value.lenientMember("redact")?.elements ?? []).compactMap(\.string)
        // A rule that cannot be read would leave what it names where it stands.
        for rule in redact { _ = try RedactionRule(rule) }
        if let rules = value.lenientMember("match") { match = try MatchRules(rules) }
        isImported = value.lenientMember("imported")?.bool ?? false
        isNormalised = value.lenientMember("normalise") != nil
        holdsUnknown = value.lenientMember("unknown")?.bool ?? false
        recordedAt = value.lenientMember("recordedAt")?.string.flatMap { TimeText.instant($0) }
    }
}
