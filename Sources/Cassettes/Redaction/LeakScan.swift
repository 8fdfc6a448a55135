import PushSimJSONText
import PushSimWebPush
import PushSimWire

/// Looks through finished files for secrets in every coding, as a second pair of eyes (contract cassettes.md).
struct LeakScan {
    private let secrets: Secrets
    private let search: SecretSearch

    init(_ secrets: Secrets) {
        self.secrets = secrets
        search = SecretSearch(
            secrets.all.enumerated().flatMap { number, secret in
                secret.reach == .place
                    ? [] : Self.forms(secret.value).map { (bytes: $0, secret: number, isWord: secret.reach == .word) }
            })
    }

    /// - Throws: where a secret stands, without saying it.
    func check(_ files: CassetteFiles, _ name: String) throws(CassetteError) {
        let document: JSONDocument
        do throws(JSONError) {
            document = try JSONDocument(files.har)
        } catch {
            throw CassetteError(
                "\(name) could not be read again, so that nobody knows what would stand in it: \(error.message)")
        }
        if let (match, value) = first(in: document.root, in: "") {
            let offset = value.offset + match.range.lowerBound
            throw CassetteError(refusal(match, "\(name), at \(Self.place(offset, files.har))"))
        }
        for body in files.bodies {
            if let match = search.matches(body.bytes).first {
                throw CassetteError(refusal(match, "\(body.path), at octet \(match.range.lowerBound)"))
            }
        }
    }

    /// The first text that holds a secret. What the format itself says is none of the recording.
    /// - Parameter parent: the format's member whose value, or an element of whose value, this is; nil in what others say.
    private func first(in value: JSONValue, in parent: String?) -> (SecretSearch.Match, JSONValue)? {
        switch value.kind {
        case .object:
            for member in value.members {
                let isKnown = parent != nil && Self.members.contains(member.name)
                if let parent, Self.constant[parent]?.contains(member.name) == true { continue }
                if !isKnown, let match = search.matches(Array(member.key.source)).first { return (match, member.key) }
                if let found = first(in: member.value, in: isKnown ? member.name : nil) { return found }
            }
        case .array:
            for element in value.elements { if let found = first(in: element, in: parent) { return found } }
        case .string: return search.matches(Array(value.source)).first.map { ($0, value) }
        // The numbers of the format are sizes and times; those of others may be anything.
        case .number: if parent == nil { return search.matches(Array(value.source)).first.map { ($0, value) } }
        default: break
        }
        return nil
    }

    /// By the member that holds them: whose values are the format's own too.
    private static let constant: [String: Set<String>] = [
        "log": ["version", "creator"],
        "_pushsim": [
            "format", "recordedAt", "imported", "normalise", "digest", "direction", "failure", "notCaptured",
        ],
        "entries": ["startedDateTime", "time"], "request": ["httpVersion"], "response": ["httpVersion"],
        "content": ["encoding"], "postData": ["encoding"],
    ]
    private static let members: Set<String> = [
        "log", "_pushsim", "redact", "match", "entries", "request", "response", "method", "url", "_url64", "cookies",
        "headers", "queryString", "postData", "headersSize", "bodySize", "mimeType", "text", "_file", "status",
        "statusText", "_statusText64", "content", "size", "redirectURL", "name", "value", "_value64", "_error",
        "chunks", "chunkTimes", "unknown", "encodedBody", "trailers", "interim", "plaintext", "plaintext64", "declared",
        "cache", "timings", "send", "wait", "receive", "path", "query", "body", "ignoreQuery", "ignoreJSON",
    ]

    private func refusal(_ match: SecretSearch.Match, _ place: String) -> String {
        "a secret (\(secrets.all[match.secret].kind)) would stand in \(place), where redaction does not reach: "
            + "nothing was written. Keep it out of the exchange."
    }

    private static func forms(_ value: [UInt8]) -> [[UInt8]] {
        let once = Coding.percentEncode(value)
        var forms = [
            value, once, Coding.percentEncode(once), once.text.lowercased().utf8.map { $0 }, Coding.json.encode(value),
            Hex.bytes(value), Hex.bytes(value).text.uppercased().utf8.map { $0 },
        ]
        // Where the value stands within a longer text, its first and last digits depend on the neighbours.
        if value.count >= 6 {
            for lead in 0..<3 {
                let digits = Base64.encode([UInt8](repeating: 0, count: lead) + value, .standard).utf8.filter {
                    $0 != 61
                }
                let start = lead == 0 ? 0 : lead + 1
                let end = (lead + value.count) * 8 / 6
                let core = Array(digits[start..<min(end, digits.count)])
                forms += [core, core.map { $0 == 43 ? 45 : $0 == 47 ? 95 : $0 }]
            }
        }
        return Array(Set(forms.map { ByteKey($0) })).map(\.bytes)
    }

    /// The path of the value that holds the octet.
    private static func place(_ offset: Int, _ bytes: [UInt8]) -> String {
        guard let document = try? JSONDocument(bytes) else { return "octet \(offset)" }
        var path = JSONPath()
        var value = document.root
        descent: while true {
            for member in value.members
            where member.value.source.indices.contains(offset) || member.key.source.indices.contains(offset) {
                path.steps.append(.member(member.name))
                value = member.value
                continue descent
            }
            for (index, element) in value.elements.enumerated() where element.source.indices.contains(offset) {
                path.steps.append(.element(index))
                value = element
                continue descent
            }
            return "\(path) (line \(document.position(offset).line))"
        }
    }
}
