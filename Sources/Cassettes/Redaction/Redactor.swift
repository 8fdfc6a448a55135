import PushSimJSONText
import PushSimWire

/// Takes the secrets out of entries, in whatever coding they stand.
struct Redactor {
    private(set) var secrets: Secrets
    private var search: SecretSearch
    /// Fields that rules name.
    private let names: [[UInt8]]
    private let expressions: [RuleExpression]
    /// Runs of a coding shorter than this are no codings.
    private static let leastRun = 8
    private static let deepest = 3

    init(_ secrets: Secrets, _ rules: [RedactionRule]) {
        self.secrets = secrets
        names = rules.compactMap(\.fieldName)
        expressions = rules.compactMap(RuleExpression.init)
        search = SecretSearch(secrets)
    }

    /// How a text is read before secrets are looked for, and how a placeholder in it is filled.
    enum Context {
        case raw, url, form, json
    }

    mutating func redact(_ entries: [CassetteEntry]) -> [RedactedEntry] {
        while true {
            let before = secrets.all.count
            let redacted = entries.map { redact($0) }
            // A coded run that holds a secret is one itself, and may stand elsewhere too.
            if secrets.all.count == before { return redacted }
            search = SecretSearch(secrets)
        }
    }

    private mutating func redact(_ entry: CassetteEntry) -> RedactedEntry {
        var out = RedactedEntry(source: entry)
        out.plaintext = entry.plaintext.map { body($0, "") }
        out.origin = text(DecodedText(entry.url.origin), .url)
        out.path = joined(entry.url.path, Byte.slash) { redactor, part in redactor.text(DecodedText(part), .url) }
        if let query = entry.url.query {
            out.query = joined(query, 38) { redactor, part in redactor.pair(part, .url) }
        }
        if entry.isDelivery, let number = secrets.number(Array(entry.url.target.dropFirst())) {
            // The endpoint as it was registered.
            out.path = RedactedText([Byte.slash])
            out.path.pieces.append(.secret(number, []))
            out.query = nil
        }
        for place in UnknownMembers.Place.allCases {
            if let text = entry.unknown[place] { out.unknown[place] = body(text, "") }
        }
        out.headers = entry.headers.map { header($0) }
        out.body = body(entry.body.octets, entry.mediaType)
        guard let answer = entry.answer else { return out }
        out.statusText = answer.statusText.map { text(DecodedText($0), .raw) }
        out.answerHeaders = answer.headers.map { header($0) }
        out.trailers = answer.trailers.map { header($0) }
        out.interim = answer.interim.map { interim in
            (text(DecodedText(interim.statusText), .raw), interim.headers.map { header($0) })
        }
        out.answerBody = body(answer.body.octets, answer.mediaType)
        return out
    }

    // MARK: places

    private mutating func joined(
        _ source: [UInt8], _ separator: UInt8, _ each: (inout Redactor, [UInt8]) -> RedactedText
    ) -> RedactedText {
        var out = RedactedText()
        for (index, part) in source.split(separator: separator, omittingEmptySubsequences: false).enumerated() {
            if index > 0 { out.append([separator]) }
            out.append(each(&self, Array(part)))
        }
        return out
    }

    /// `name=value`: the value is looked at as a whole too.
    private mutating func pair(_ source: [UInt8], _ context: Context) -> RedactedText {
        guard let equals = source.firstIndex(of: 61) else { return text(DecodedText(source), context) }
        var out = text(DecodedText(Array(source[..<equals])), context)
        out.append([61])
        let name = Self.decoded(DecodedText(Array(source[..<equals])), context).bytes.trimmed
        let value = Array(source[(equals + 1)...])
        // The value of a cookie may stand in quotes.
        let inner = context == .raw ? SecretShapes.unquoted(value) : value.indices
        out.append(Array(value[..<inner.lowerBound]))
        out.append(component(Array(value[inner]), context, isNamed: context == .raw || isSecret(name)))
        out.append(Array(value[inner.upperBound...]))
        return out
    }

    private mutating func header(_ field: HeaderField) -> RedactedText {
        switch field.name.map(Byte.lowercased).text {
        case "cookie": return joined(field.value, 59) { redactor, part in redactor.pair(part, .raw) }
        case "set-cookie":
            // What follows the cookie says how long and where it holds.
            let end = field.value.firstIndex(of: 59) ?? field.value.endIndex
            var out = pair(Array(field.value[..<end]), .raw)
            out.append(text(DecodedText(Array(field.value[end...])), .raw))
            return out
        case "authorization", "proxy-authorization":
            guard let space = field.value.firstIndex(of: Byte.space) else {
                return component(field.value, .raw, isNamed: true)
            }
            var out = RedactedText(Array(field.value[...space]))
            out.append(component(Array(field.value[(space + 1)...]), .raw, isNamed: true))
            return out
        default:
            let isNamed = SecretNames.header(field.name.map(Byte.lowercased).text) != nil || isSecret(field.name)
            return component(field.value, .raw, isNamed: isNamed)
        }
    }

    private func isSecret(_ name: [UInt8]) -> Bool {
        SecretNames.field(name) != nil || names.contains { $0.equalsIgnoringCase(name) }
    }

    /// A value that as a whole may be a secret; where its name says so, however short.
    private mutating func component(_ source: [UInt8], _ context: Context, isNamed: Bool) -> RedactedText {
        let bare = DecodedText(source)
        let plain = Self.decoded(bare, context)
        let trimmed = plain.bytes.trimmed
        if let number = secrets.number(trimmed), isNamed || secrets.all[number].reach != .place {
            let lead = plain.bytes.prefix { $0 == Byte.space || $0 == Byte.tab }.count
            var out = RedactedText(Array(source[..<plain.starts[lead]]))
            out.pieces.append(.secret(number, []))
            out.append(Array(source[plain.starts[lead + trimmed.count]...]))
            return out
        }
        return text(bare, context)
    }

    private mutating func body(_ bytes: [UInt8], _ mediaType: String) -> RedactedText {
        if bytes.isEmpty || secrets.all.isEmpty { return RedactedText(bytes) }
        if let document = try? JSONDocument(bytes), document.root.kind == .object || document.root.kind == .array {
            var out = RedactedText()
            var done = 0
            json(document.root, bytes, false, &done, &out)
            out.append(Array(bytes[done...]))
            return out
        }
        if mediaType.hasPrefix("application/x-www-form-urlencoded") {
            return joined(bytes, 38) { redactor, part in redactor.pair(part, .form) }
        }
        return mediaType.hasPrefix("multipart/") ? multipart(bytes) : text(DecodedText(bytes), .raw)
    }

    private mutating func multipart(_ bytes: [UInt8]) -> RedactedText {
        var out = RedactedText()
        var done = 0
        for part in MultipartBody.parts(bytes) {
            out.append(text(DecodedText(Array(bytes[done..<part.range.lowerBound])), .raw))
            out.append(component(Array(bytes[part.range]), .raw, isNamed: isSecret(part.name)))
            done = part.range.upperBound
        }
        out.append(text(DecodedText(Array(bytes[done...])), .raw))
        return out
    }

    private mutating func json(
        _ value: JSONValue, _ bytes: [UInt8], _ isNamed: Bool, _ done: inout Int, _ out: inout RedactedText
    ) {
        switch value.kind {
        case .object:
            for member in value.members {
                json(member.value, bytes, isNamed || isSecret(member.key.stringBytes ?? []), &done, &out)
            }
        case .array: for element in value.elements { json(element, bytes, isNamed, &done, &out) }
        case .string:
            let (start, end) = (value.offset + 1, value.offset + value.source.count - 1)
            let redacted = component(Array(bytes[start..<end]), .json, isNamed: isNamed)
            guard redacted.hasSecrets else { return }
            out.append(Array(bytes[done..<start]))
            out.append(redacted)
            done = end
        case .number, .true, .false, .null:
            // None of these can hold a placeholder: the text of one that says so takes its place.
            guard let number = secrets.number(Array(value.source)),
                isNamed || value.kind == .number && secrets.all[number].reach != .place
            else { return }
            out.append(Array(bytes[done..<value.offset]) + [34])
            let kind: Coding = value.kind == .number ? .number : value.kind == .null ? .null : .boolean
            out.pieces.append(.secret(number, [kind]))
            out.append([34])
            done = value.offset + value.source.count
        }
    }

    // MARK: texts

    private static func decoded(_ text: DecodedText, _ context: Context) -> DecodedText {
        switch context {
        case .raw: text
        case .url: text.percentDecoded() ?? text
        case .form: text.percentDecoded(plusIsSpace: true) ?? text
        case .json: text.jsonDecoded() ?? text
        }
    }

    /// What names say is a secret, though it is too short to be looked for.
    private func named(_ plain: DecodedText, _ hits: inout [Hit]) {
        let members = SecretShapes.members(plain.bytes) { name, isQuery in
            isSecret(name) || isQuery && SecretNames.query(name) != nil
        }
        for member in members {
            guard let number = secrets.number(member.value) else { continue }
            let place = plain.starts[member.range.lowerBound]..<plain.starts[member.range.upperBound]
            hits.append(Hit(range: place, secret: number, codings: member.codings))
        }
    }

    private struct Hit {
        let range: Range<Int>
        let secret: Int
        let codings: [Coding]
    }

    private mutating func text(_ source: DecodedText, _ context: Context) -> RedactedText {
        if secrets.all.isEmpty { return RedactedText(source.bytes) }
        var hits: [Hit] = []
        let plain = Self.decoded(source, context)
        scan(plain, [], &hits)
        for expression in expressions {
            for range in expression.ranges(plain.bytes) {
                guard let number = secrets.number(Array(plain.bytes[range])) else { continue }
                let place = plain.starts[range.lowerBound]..<plain.starts[range.upperBound]
                hits.append(Hit(range: place, secret: number, codings: []))
            }
        }
        named(plain, &hits)
        if hits.isEmpty { return RedactedText(source.bytes) }
        hits.sort { left, right in
            if left.range.lowerBound != right.range.lowerBound {
                return left.range.lowerBound < right.range.lowerBound
            }
            if left.range.count != right.range.count { return left.range.count > right.range.count }
            return left.codings.count < right.codings.count
        }
        var out = RedactedText()
        var done = 0
        for hit in hits where hit.range.lowerBound >= done {
            out.append(Array(source.bytes[done..<hit.range.lowerBound]))
            out.pieces.append(.secret(hit.secret, hit.codings))
            done = hit.range.upperBound
        }
        out.append(Array(source.bytes[done...]))
        return out
    }

    private mutating func scan(_ text: DecodedText, _ codings: [Coding], _ hits: inout [Hit]) {
        for match in search.matches(text.bytes) {
            let range = text.starts[match.range.lowerBound]..<text.starts[match.range.upperBound]
            hits.append(Hit(range: range, secret: match.secret, codings: codings))
        }
        guard codings.count < Self.deepest else { return }
        if let plain = text.percentDecoded() { scan(plain, codings + [.percent], &hits) }
        if let plain = text.jsonDecoded() { scan(plain, codings + [.json], &hits) }
        for run in Self.runs(text.bytes) { coded(run, text, codings, &hits) }
    }

    /// A run of base64 or hexadecimal digits: a secret in that coding, or something that holds one.
    private mutating func coded(
        _ run: Range<Int>, _ text: DecodedText, _ codings: [Coding], _ hits: inout [Hit]
    ) {
        let source = Array(text.bytes[run])
        let range = text.starts[run.lowerBound]..<text.starts[run.upperBound]
        for coding in [Coding.hex, .base64] {
            guard let plain = coding.decode(source), !plain.isEmpty else { continue }
            if let number = secrets.number(plain) {
                let exact = [coding, .base64url].first { $0.encode(plain).isSame(as: source) }
                if let exact {
                    hits.append(Hit(range: range, secret: number, codings: codings + [exact]))
                    return
                }
            }
            var inner: [Hit] = []
            scan(DecodedText(plain), codings + [coding], &inner)
            if !inner.isEmpty, let number = secrets.add(source, coding == .hex ? "hex" : "base64") {
                hits.append(Hit(range: range, secret: number, codings: codings))
                return
            }
        }
    }

    private static func runs(_ bytes: [UInt8]) -> [Range<Int>] {
        var found: [Range<Int>] = []
        let isDigit = isDigit
        bytes.withUnsafeBufferPointer { bytes in
            var start = 0
            var index = 0
            while index <= bytes.count {
                if index < bytes.count, isDigit[Int(bytes[index])] {
                    index += 1
                    continue
                }
                var end = index
                while end < bytes.count, bytes[end] == 61, end - index < 2 { end += 1 }
                if index - start >= leastRun { found.append(start..<end) }
                index = max(end, index + 1)
                start = index
            }
        }
        return found
    }

    private static let isDigit: [Bool] = (0..<256).map { number in
        let byte = UInt8(number)
        return (48...57).contains(byte) || (97...122).contains(byte | 32) && byte & 0x80 == 0
            || [43, 47, 45, 95].contains(byte)
    }
}
