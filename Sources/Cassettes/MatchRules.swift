package import PushSimJSONText
import PushSimWire

/// What of a request is compared, and how: `log._pushsim.match` for a cassette, `_pushsim.match` for an entry.
package struct MatchRules: Hashable, Sendable {
    package enum Body: String, Sendable, CaseIterable {
        /// By media type: JSON by value, forms as multisets, multipart by parts.
        case meaning
        /// Octet by octet, once the content coding is undone.
        case bytes
        /// Not at all.
        case ignore
    }

    package var method = true
    package var path = true
    package var query = true
    package var body = Body.meaning
    /// Query items that do not count.
    package var ignoreQuery: [[UInt8]] = []
    /// Places in JSON bodies that do not count, such as `$.sent_at`.
    package var ignoreJSON: [JSONPath] = []
    /// Header fields that count too.
    package var headers: [[UInt8]] = []

    package init() {}

    var isUsual: Bool { self == MatchRules() }

    /// - Throws: a message that names the member.
    init(_ value: JSONValue, over usual: MatchRules = MatchRules()) throws(CassetteError) {
        self = usual
        guard value.kind == .object else { throw CassetteError("match must be an object, not \(value.kindName)") }
        for member in value.members {
            switch member.name {
            case "method": method = try Self.bool(member)
            case "path": path = try Self.bool(member)
            case "query": query = try Self.bool(member)
            case "body":
                guard let known = member.value.string.flatMap(Body.init(rawValue:)) else {
                    throw CassetteError("match.body is meaning, bytes or ignore, not \(member.value.sourceText)")
                }
                body = known
            case "ignoreQuery": ignoreQuery = try Self.texts(member).map { Array($0.utf8) }
            case "headers": headers = try Self.texts(member).map { Array($0.utf8) }
            case "ignoreJSON":
                ignoreJSON = try Self.texts(member).map { text throws(CassetteError) in
                    guard let path = JSONPath(text.replacing("[*]", with: ".*")) else {
                        throw CassetteError("match.ignoreJSON: \"\(text)\" is no path such as $.items[0].id")
                    }
                    return path
                }
            default:
                throw CassetteError(
                    "match has no \"\(member.name)\"; it has method, path, query, body, ignoreQuery, ignoreJSON, headers"
                )
            }
        }
    }

    private static func bool(_ member: JSONValue.Member) throws(CassetteError) -> Bool {
        guard let value = member.value.bool else {
            throw CassetteError("match.\(member.name) is true or false, not \(member.value.sourceText)")
        }
        return value
    }

    private static func texts(_ member: JSONValue.Member) throws(CassetteError) -> [String] {
        guard member.value.kind == .array, member.value.elements.allSatisfy({ $0.kind == .string }) else {
            throw CassetteError("match.\(member.name) is an array of texts, not \(member.value.kindName)")
        }
        return member.value.elements.compactMap(\.string)
    }

    /// Only what is not as usual.
    var json: JSON {
        let usual = MatchRules()
        var members: [JSON.Member] = []
        if method != usual.method { members.append(.init("method", .bool(method))) }
        if path != usual.path { members.append(.init("path", .bool(path))) }
        if query != usual.query { members.append(.init("query", .bool(query))) }
        if body != usual.body { members.append(.init("body", .string(body.rawValue))) }
        if !ignoreQuery.isEmpty { members.append(.init("ignoreQuery", .array(ignoreQuery.map { .text($0) }))) }
        if !ignoreJSON.isEmpty {
            members.append(.init("ignoreJSON", .array(ignoreJSON.map { .string($0.description) })))
        }
        if !headers.isEmpty { members.append(.init("headers", .array(headers.map { .text($0) }))) }
        return .object(members)
    }
}
