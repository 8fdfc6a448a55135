import PushSimJSONText
import PushSimSimulation
package import PushSimWire

/// A request as it is compared: by meaning, not by its bytes (contract cassettes.md, "Matching by meaning").
package struct RequestMeaning: Sendable {
    package let method: [UInt8]
    /// Raw, hexadecimal digits of escapes in upper case.
    package let path: [UInt8]
    package let query: [(name: [UInt8], value: [UInt8])]
    package let body: [UInt8]
    package let mediaType: [UInt8]

    package init(method: [UInt8], path: [UInt8], query: [UInt8]?, headers: [HeaderField], body: [UInt8]) {
        self.method = method
        self.path = Self.upperEscapes(path)
        self.query = Self.pairs(query ?? [])
        mediaType = headers.first("content-type") ?? []
        let isGzip = headers.first("content-encoding")?.equalsIgnoringCase(Array("gzip".utf8)) ?? false
        self.body = isGzip ? (try? Inflate.gzip(body, limit: 64 << 20)) ?? body : body
    }

    package init(_ entry: CassetteEntry) {
        self.init(
            method: entry.method, path: entry.url.path, query: entry.url.query, headers: entry.headers,
            body: entry.body.octets)
    }

    /// What entries are looked up by: where a path has placeholders, only the method is sure.
    var key: ByteKey {
        Template(path).hasPlaceholders ? Self.open(method) : ByteKey(method + [Byte.space] + path)
    }

    static func open(_ method: [UInt8]) -> ByteKey { ByteKey(method + Array(" *".utf8)) }

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
        if !method.isSame(as: request.method) { found.append("method: \(method.text) against \(request.method.text)") }
        if !Self.matchesPath(path, request.path, &bound) {
            found.append("path: \(path.text) against \(request.path.text)")
        }
        if let difference = queryDifference(request, &bound) { found.append(difference) }
        if let difference = bodyDifference(request, &bound) { found.append(difference) }
        return found
    }

    /// Segment by segment, so that a placeholder never takes in a slash.
    private static func matchesPath(_ own: [UInt8], _ other: [UInt8], _ bound: inout [ByteKey: [UInt8]]) -> Bool {
        guard own.contains(123) else { return own.isSame(as: other) }
        let (wanted, given) = (
            own.split(separator: Byte.slash, omittingEmptySubsequences: false),
            other.split(separator: Byte.slash, omittingEmptySubsequences: false)
        )
        guard wanted.count == given.count else { return false }
        for (left, right) in zip(wanted, given) where !Template(Array(left)).matches(Array(right), &bound) {
            return false
        }
        return true
    }

    /// As a multiset, order kept among equal names.
    private func queryDifference(_ request: RequestMeaning, _ bound: inout [ByteKey: [UInt8]]) -> String? {
        Self.difference(query, request.query, "query", &bound)
    }

    private static func difference(
        _ own: [(name: [UInt8], value: [UInt8])], _ other: [(name: [UInt8], value: [UInt8])], _ what: String,
        _ bound: inout [ByteKey: [UInt8]]
    ) -> String? {
        var names: [[UInt8]] = []
        for pair in own + other where !names.contains(where: { $0.isSame(as: pair.name) }) { names.append(pair.name) }
        for name in names {
            let wanted = own.filter { $0.name.isSame(as: name) }.map(\.value)
            let given = other.filter { $0.name.isSame(as: name) }.map(\.value)
            let isSame =
                wanted.count == given.count
                && zip(wanted, given).allSatisfy { Template($0).matches($1, &bound) }
            if !isSame {
                let (left, right) = (wanted.map(\.text), given.map(\.text))
                return "\(what) \(name.text): \(left.isEmpty ? "nothing" : left.joined(separator: ", ")) against "
                    + "\(right.isEmpty ? "nothing" : right.joined(separator: ", "))"
            }
        }
        return nil
    }

    // MARK: bodies

    private enum Kind {
        case json, form, multipart([UInt8]), other
    }

    private var kind: Kind {
        let type = mediaType.prefix { $0 != 59 }.map(Byte.lowercased)
        let name = Array(type).trimmed.text
        if name == "application/json" || name.hasSuffix("+json") { return .json }
        // Clients that send JSON under the form type are known.
        let first = body.first { $0 > 32 }
        if first == 123 || first == 91, (try? JSONDocument(body)) != nil { return .json }
        if name == "application/x-www-form-urlencoded" { return .form }
        if name == "multipart/form-data", let boundary { return .multipart(boundary) }
        return .other
    }

    private var boundary: [UInt8]? {
        for part in mediaType.split(separator: 59).dropFirst() {
            let text = Array(part).trimmed
            guard text.count > 9, Array(text.prefix(9)).equalsIgnoringCase(Array("boundary=".utf8)) else { continue }
            return text.dropFirst(9).filter { $0 != 34 }
        }
        return nil
    }

    private func bodyDifference(_ request: RequestMeaning, _ bound: inout [ByteKey: [UInt8]]) -> String? {
        switch (kind, request.kind) {
        case (.json, .json):
            guard let own = try? JSONDocument(body), let other = try? JSONDocument(request.body) else { break }
            return JSONMeaning.difference(own.root, other.root, &bound).map { "body differs at \($0)" }
        case (.form, .form):
            guard let own = Percent.form(body), let other = Percent.form(request.body) else { break }
            return Self.difference(own, other, "body", &bound)
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

/// JSON by value, with placeholders in its texts.
enum JSONMeaning {
    /// Where the two differ first, and how.
    static func difference(
        _ own: JSONValue, _ other: JSONValue, _ bound: inout [ByteKey: [UInt8]]
    ) -> String? {
        // The common case needs no templates.
        guard own.document.bytes.contains(123), hasPlaceholder(own.document.bytes) else {
            return JSONComparison.difference(own, other)?.description
        }
        var path = JSONPath()
        return compare(own, other, &path, &bound)
    }

    private static func hasPlaceholder(_ bytes: [UInt8]) -> Bool {
        var index = 0
        while index + 1 < bytes.count {
            if bytes[index] == 123, bytes[index + 1] == 123 { return true }
            index += 1
        }
        return false
    }

    private static func compare(
        _ own: JSONValue, _ other: JSONValue, _ path: inout JSONPath, _ bound: inout [ByteKey: [UInt8]]
    ) -> String? {
        switch (own.kind, other.kind) {
        case (.string, .string):
            if Template(own.stringBytes ?? []).matches(other.stringBytes ?? [], &bound) { return nil }
        case (.object, .object):
            if own.firstDuplicate != nil || other.firstDuplicate != nil { break }
            for member in own.members {
                path.steps.append(.member(member.name))
                defer { path.steps.removeLast() }
                guard let value = other.member(member.key.stringBytes ?? []) else {
                    return "\(path): \(member.value.sourceText) against nothing"
                }
                if let difference = compare(member.value, value, &path, &bound) { return difference }
            }
            for member in other.members where own.member(member.key.stringBytes ?? []) == nil {
                path.steps.append(.member(member.name))
                defer { path.steps.removeLast() }
                return "\(path): nothing against \(member.value.sourceText)"
            }
            return nil
        case (.array, .array):
            let (left, right) = (own.elements, other.elements)
            guard left.count == right.count else { break }
            for index in left.indices {
                path.steps.append(.element(index))
                defer { path.steps.removeLast() }
                if let difference = compare(left[index], right[index], &path, &bound) { return difference }
            }
            return nil
        default: if JSONComparison.areEqual(own, other) { return nil }
        }
        return "\(path): \(own.sourceText) against \(other.sourceText)"
    }
}
