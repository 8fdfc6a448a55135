import PushSimJSONText
import PushSimSimulation
package import PushSimWire

/// A request as it is compared: by meaning, not by its bytes (contract cassettes.md, "Matching by meaning").
package struct RequestMeaning: Sendable {
    package let method: [UInt8]
    /// Raw, hexadecimal digits of escapes in upper case.
    package let path: [UInt8]
    /// As it came; taken apart where that is asked for.
    private let rawQuery: [UInt8]
    package let body: [UInt8]
    package let mediaType: [UInt8]
    let headers: [HeaderField]
    var rules = MatchRules()
    private let kind: Kind
    /// The body of a request that is compared with many.
    private let document: JSONDocument?
    /// Recorded fields in which something stands for a secret: they say who asks.
    private(set) var identity: [HeaderField] = []

    package init(method: [UInt8], path: [UInt8], query: [UInt8]?, headers: [HeaderField], body: [UInt8]) {
        self.method = method
        self.path = Self.upperEscapes(path)
        rawQuery = query ?? []
        self.headers = headers
        mediaType = headers.first("content-type") ?? []
        let coding = headers.first("content-encoding").flatMap { ContentCoding($0) }
        self.body = coding.flatMap { try? $0.decode(body, limit: 64 << 20) } ?? body
        (kind, document) = Self.kind(mediaType, self.body)
    }

    /// - Parameter rules: of the cassette; those of the entry go before.
    package init(_ entry: CassetteEntry, _ rules: MatchRules) {
        method = entry.method
        path = Self.upperEscapes(entry.url.path)
        rawQuery = entry.url.query ?? []
        headers = entry.headers
        mediaType = headers.first("content-type") ?? entry.mimeType ?? []
        body = entry.body.octets
        // Not kept for as long as the cassette is.
        (kind, document) = (Self.kind(mediaType, body).kind, nil)
        identity = headers.filter { Template.mayHavePlaceholders($0.value) }
        self.rules = entry.match ?? rules
    }

    /// Whether requests that mean the same are known by `canonical`: nothing stands for something else, and nothing is
    /// compared otherwise than usual.
    var isClosed: Bool {
        rules.isUsual && !Template.mayHavePlaceholders(path) && !Template.mayHavePlaceholders(body)
            && !Template.mayHavePlaceholders(rawQuery)
    }

    /// The same octets for requests that mean the same by media type.
    var canonical: ByteKey {
        switch kind {
        case .json:
            guard let document = json else { break }
            return key("json", [JSONComparison.canonical(document.root)])
        case .form:
            guard let pairs = Percent.form(body) else { break }
            return key("form", [Self.canonical(pairs)])
        case .multipart(let boundary): return key("multipart", Self.parts(body, boundary))
        case .other: break
        }
        return plain
    }

    /// The same octets for requests whose bodies are the same, whatever they say that those are.
    var plain: ByteKey { key("octets", [body]) }

    /// Whether `canonical` is another than `plain`.
    var hasForm: Bool { if case .other = kind { false } else { true } }

    private func key(_ kind: StaticString, _ parts: [[UInt8]]) -> ByteKey {
        var out: [UInt8] = []
        let size = method.count + path.count + rawQuery.count * 2
        out.reserveCapacity(parts.reduce(size + 48) { $0 + $1.count })
        out.append(kind)
        Self.add(method, &out)
        Self.add(path, &out)
        Self.add(rawQuery.isEmpty ? [] : Self.canonical(query), &out)
        for part in parts { Self.add(part, &out) }
        return ByteKey(out)
    }

    private static func add(_ part: [UInt8], _ out: inout [UInt8]) {
        out.appendDecimal(part.count)
        out.append(Byte.colon)
        out += part
    }

    /// By name; equal names stay in order.
    private static func canonical(_ pairs: [(name: [UInt8], value: [UInt8])]) -> [UInt8] {
        if pairs.isEmpty { return [] }
        let sorted =
            pairs.count == 1
            ? [(0, pairs[0])]
            : pairs.enumerated().sorted { left, right in
                left.element.name.isSame(as: right.element.name)
                    ? left.offset < right.offset
                    : left.element.name.lexicographicallyPrecedes(right.element.name)
            }
        var out: [UInt8] = []
        for (_, pair) in sorted {
            out.appendDecimal(pair.name.count)
            out.append(Byte.comma)
            Self.add(pair.value, &out)
            out += pair.name
        }
        return out
    }

    /// Raw names and values, in order.
    package var query: [(name: [UInt8], value: [UInt8])] { Self.pairs(rawQuery) }

    /// Raw names and values, in order: `%2B` and `+` differ.
    private static func pairs(_ query: [UInt8]) -> [(name: [UInt8], value: [UInt8])] {
        upperEscapes(query).split(separator: 38).map { part in
            let equals = part.firstIndex(of: 61) ?? part.endIndex
            return (Array(part[..<equals]), Array(part[min(equals + 1, part.endIndex)...]))
        }
    }

    private static func upperEscapes(_ text: [UInt8]) -> [UInt8] {
        guard text.contains(37) else { return text }
        var text = text
        var index = 0
        while index + 2 < text.count {
            if text[index] == 37, Byte.hexValue(text[index + 1]) != nil, Byte.hexValue(text[index + 2]) != nil {
                for place in [index + 1, index + 2] where text[place] >= 97 { text[place] -= 32 }
                index += 2
            }
            index += 1
        }
        return text
    }

    /// What of a request is not as recorded, field by field; binds the placeholders of those that are.
    package func differences(_ request: RequestMeaning, _ bound: inout [ByteKey: [UInt8]]) -> [String] {
        var found: [String] = []
        if rules.method, !method.isSame(as: request.method) {
            found.append("method: \(method.text) against \(request.method.text)")
        }
        if rules.path, !Self.matchesPath(path, request.path, &bound) {
            found.append("path: \(path.text) against \(request.path.text)")
        }
        if rules.query, let difference = queryDifference(request, &bound) { found.append(difference) }
        for name in rules.headers {
            let (wanted, given) = (Self.values(headers, name), Self.values(request.headers, name))
            let isSame =
                wanted.count == given.count && zip(wanted, given).allSatisfy { Template($0).matches($1, &bound) }
            if !isSame { found.append("header \(name.text): \(Self.shown(wanted)) against \(Self.shown(given))") }
        }
        if let difference = bodyDifference(request, &bound) { found.append(difference) }
        if let difference = identityDifference(request, &bound) { found.append(difference) }
        return found
    }

    /// In how many segments the paths differ; 0 for the same, placeholders aside.
    func pathDistance(_ request: RequestMeaning) -> Int {
        var bound: [ByteKey: [UInt8]] = [:]
        if Self.matchesPath(path, request.path, &bound) { return 0 }
        let own = path.split(separator: Byte.slash, omittingEmptySubsequences: false)
        let other = request.path.split(separator: Byte.slash, omittingEmptySubsequences: false)
        let same = zip(own, other).count { own, other in
            own.elementsEqual(other) || Template.mayHavePlaceholders(Array(own))
        }
        return max(1, max(own.count, other.count) - same)
    }

    /// What stands for a secret in a header is bound like any other: another value later is somebody else. A field that
    /// is missing, or of another form, says nothing.
    func identityDifference(_ request: RequestMeaning, _ bound: inout [ByteKey: [UInt8]]) -> String? {
        for field in identity {
            guard let given = request.headers.first(where: { $0.isNamed(field.name) }) else { continue }
            let template = Template(field.value)
            if template.matches(given.value, &bound) { continue }
            var fresh: [ByteKey: [UInt8]] = [:]
            if template.matches(given.value, &fresh) {
                return "header \(field.name.text): \(field.value.text) stood for another value before"
            }
        }
        return nil
    }

    private static func values(_ fields: [HeaderField], _ name: [UInt8]) -> [[UInt8]] {
        fields.filter { $0.isNamed(name) }.map(\.value)
    }

    private static func shown(_ values: [[UInt8]]) -> String {
        values.isEmpty ? "nothing" : values.map(\.text).joined(separator: ", ")
    }

    /// Segment by segment, so that a placeholder never takes in a slash.
    private static func matchesPath(_ own: [UInt8], _ other: [UInt8], _ bound: inout [ByteKey: [UInt8]]) -> Bool {
        guard own.contains(123) else { return own.isSame(as: other) }
        let (wanted, given) = (
            own.split(separator: Byte.slash, omittingEmptySubsequences: false),
            other.split(separator: Byte.slash, omittingEmptySubsequences: false)
        )
        guard wanted.count == given.count else { return false }
        for (left, right) in zip(wanted, given)
        where !Template(Array(left), in: .url).matches(Array(right), &bound) {
            return false
        }
        return true
    }

    /// As a multiset, order kept among equal names.
    private func queryDifference(_ request: RequestMeaning, _ bound: inout [ByteKey: [UInt8]]) -> String? {
        guard !rules.ignoreQuery.isEmpty else {
            return Self.difference(query, request.query, "query", .url, &bound)
        }
        func counted(_ pairs: [(name: [UInt8], value: [UInt8])]) -> [(name: [UInt8], value: [UInt8])] {
            pairs.filter { pair in !rules.ignoreQuery.contains { $0.isSame(as: pair.name) } }
        }
        return Self.difference(counted(query), counted(request.query), "query", .url, &bound)
    }

    private static func difference(
        _ own: [(name: [UInt8], value: [UInt8])], _ other: [(name: [UInt8], value: [UInt8])], _ what: String,
        _ place: Template.Place, _ bound: inout [ByteKey: [UInt8]]
    ) -> String? {
        var values: [ByteKey: (own: [[UInt8]], other: [[UInt8]])] = [:]
        var names: [[UInt8]] = []
        func add(
            _ pair: (name: [UInt8], value: [UInt8]),
            _ side: WritableKeyPath<(own: [[UInt8]], other: [[UInt8]]), [[UInt8]]>
        ) {
            let key = ByteKey(pair.name)
            if values[key] == nil { names.append(pair.name) }
            values[key, default: ([], [])][keyPath: side].append(pair.value)
        }
        for pair in own { add(pair, \.own) }
        for pair in other { add(pair, \.other) }
        for name in names {
            let (wanted, given) = values[ByteKey(name)] ?? ([], [])
            let isSame =
                wanted.count == given.count
                && zip(wanted, given).allSatisfy { Template($0, in: place).matches($1, &bound) }
            if !isSame { return "\(what) \(name.text): \(shown(wanted)) against \(shown(given))" }
        }
        return nil
    }

    // MARK: bodies

    private enum Kind {
        case json, form, multipart([UInt8]), other
    }

    private var json: JSONDocument? { document ?? (try? JSONDocument(body)) }

    private static func kind(_ mediaType: [UInt8], _ body: [UInt8]) -> (kind: Kind, document: JSONDocument?) {
        if mediaType.isEmpty, body.isEmpty { return (.other, nil) }
        let type = mediaType.prefix { $0 != 59 }.map(Byte.lowercased)
        let name = Array(type).trimmed.text
        // Clients that send JSON under the form type are known.
        let first = body.first { $0 > 32 }
        let document = first == 123 || first == 91 ? try? JSONDocument(body) : nil
        if name == "application/json" || name.hasSuffix("+json") || document != nil { return (.json, document) }
        if name == "application/x-www-form-urlencoded" { return (.form, nil) }
        if name == "multipart/form-data", let boundary = boundary(mediaType) { return (.multipart(boundary), nil) }
        return (.other, nil)
    }

    private static func boundary(_ mediaType: [UInt8]) -> [UInt8]? {
        for part in mediaType.split(separator: 59).dropFirst() {
            let text = Array(part).trimmed
            guard text.count > 9, Array(text.prefix(9)).equalsIgnoringCase(Array("boundary=".utf8)) else { continue }
            return text.dropFirst(9).filter { $0 != 34 }
        }
        return nil
    }

    private func bodyDifference(_ request: RequestMeaning, _ bound: inout [ByteKey: [UInt8]]) -> String? {
        switch rules.body {
        case .ignore: return nil
        case .bytes:
            if Template(body).matches(request.body, &bound) { return nil }
            return "body: \(Self.brief(body)) against \(Self.brief(request.body))"
        case .meaning: break
        }
        switch (kind, request.kind) {
        case (.json, .json):
            guard let own = json, let other = request.json else { break }
            return JSONMeaning.difference(own.root, other.root, rules.ignoreJSON, &bound).map {
                "body differs at \($0)"
            }
        case (.form, .form):
            guard let own = Percent.form(body), let other = Percent.form(request.body) else { break }
            return Self.difference(own, other, "body", .plain, &bound)
        case (.multipart(let own), .multipart(let other)):
            let (wanted, given) = (Self.parts(body, own), Self.parts(request.body, other))
            guard wanted.count == given.count else {
                return "body: \(wanted.count) parts against \(given.count)"
            }
            for (number, pair) in zip(wanted, given).enumerated() where !Template(pair.0).matches(pair.1, &bound) {
                return "body: part \(number + 1) differs"
            }
            return nil
        default: break
        }
        if Template(body).matches(request.body, &bound) { return nil }
        return "body: \(Self.brief(body)) against \(Self.brief(request.body))"
    }

    private static func brief(_ body: [UInt8]) -> String {
        let text = String(validating: body.prefix(60), as: UTF8.self) ?? "octets"
        return "\(body.count) octets (\(text)\(body.count > 60 ? "..." : ""))"
    }

    private static func parts(_ body: [UInt8], _ boundary: [UInt8]) -> [[UInt8]] {
        let line = Array("--".utf8) + boundary
        var parts: [[UInt8]] = []
        var start: Int?
        var index = 0
        while index + line.count <= body.count {
            if body[index] == 45, body[index..<(index + line.count)].elementsEqual(line) {
                if let start { parts.append(Array(body[start..<index])) }
                index += line.count
                start = index
            } else {
                index += 1
            }
        }
        return parts
    }
}
