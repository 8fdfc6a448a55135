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
                Self.forms(secret.value).map {
                    (bytes: $0, secret: number, isWord: secret.value.count < SecretSearch.wordLength)
                }
            })
    }

    /// - Throws: where a secret stands, without saying it.
    func check(_ files: CassetteFiles, _ name: String) throws(CassetteError) {
        if let match = search.matches(files.har).first {
            throw CassetteError(refusal(match, "\(name), at \(Self.place(match.range.lowerBound, files.har))"))
        }
        for body in files.bodies {
            if let match = search.matches(body.bytes).first {
                throw CassetteError(refusal(match, "\(body.path), at octet \(match.range.lowerBound)"))
            }
        }
    }

    private func refusal(_ match: SecretSearch.Match, _ place: String) -> String {
        "a secret (\(secrets.all[match.secret].kind)) would stand in \(place), where redaction does not reach: "
            + "nothing was written. Keep it out of the exchange, or name it with --redact."
    }

    private static func forms(_ value: [UInt8]) -> [[UInt8]] {
        // What is too short, or a word of the format, would be found everywhere.
        guard value.count >= SecretSearch.leastLength, SecretNames.field(value) == nil else { return [] }
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
