import PushSimJSONText
import PushSimSimulation
import PushSimWire

/// A good answer spoilt as a profile wants it (contract faults.md, `mutate`). The framing stays right for the spoilt body.
enum Spoiling {
    static func apply(_ mutation: Mutation, to response: inout Response) {
        switch mutation {
        case .contentType(let type): replace(HeaderField(Array("Content-Type".utf8), type), in: &response)
        case .named(.html):
            response.status = 200
            response.reason = nil
            response.body = Array(
                "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>\n"
                    .utf8)
            replace(HeaderField("Content-Type", "text/html"), in: &response)
        case .named(.gzipLabel): replace(HeaderField("Content-Encoding", "gzip"), in: &response)
        case .named(let name): response.body = body(name, response.body)
        }
    }

    static func replace(_ field: HeaderField, in response: inout Response) {
        response.fields.removeAll { $0.isNamed(field.name) }
        response.fields.append(field)
    }

    private static func body(_ name: Mutation.Name, _ body: [UInt8]) -> [UInt8] {
        switch name {
        case .truncatedJSON: return Array(body.prefix(body.count / 2))
        case .trailingComma: return insert([44], beforeLast: body)
        case .notUTF8: return insert([0xFF, 0xFE], afterFirstQuote: body)
        case .bom: return [0xEF, 0xBB, 0xBF] + body
        case .emptyBody: return []
        case .emptyObject: return Array("{}".utf8)
        case .array: return [91] + body + [93]
        case .null: return Array("null".utf8)
        case .stringified: return JSON.text(body).bytes
        case .deepNesting:
            return [UInt8](repeating: 91, count: 1000) + body + [UInt8](repeating: 93, count: 1000)
        case .wrongTypes, .missingFields, .extraFields, .duplicateKeys:
            guard let document = try? JSONDocument(body) else { return body }
            return change(name, JSON(document.root)).bytes
        case .html, .gzipLabel: return body
        }
    }

    private static func insert(_ bytes: [UInt8], beforeLast body: [UInt8]) -> [UInt8] {
        guard let end = body.lastIndex(where: { $0 == 125 || $0 == 93 }) else { return body + bytes }
        return body[..<end] + bytes + body[end...]
    }

    /// Into the first string of the text.
    private static func insert(_ bytes: [UInt8], afterFirstQuote body: [UInt8]) -> [UInt8] {
        guard let quote = body.firstIndex(of: 34) else { return body + bytes }
        return body[...quote] + bytes + body[(quote + 1)...]
    }

    private static func change(_ name: Mutation.Name, _ value: JSON) -> JSON {
        switch (name, value) {
        case (.wrongTypes, .string): return .int(0)
        case (.wrongTypes, .number(let text)): return .string(text)
        case (.wrongTypes, .bool): return .string("true")
        case (.wrongTypes, .null): return .object([])
        case (.missingFields, .object(let members)):
            return .object(members.dropFirst().map { .init($0.name, change(name, $0.value)) })
        case (.extraFields, .object(let members)):
            return .object(
                members.map { .init($0.name, change(name, $0.value)) } + [.init("pushsim_extra", ["unknown": true])])
        case (.duplicateKeys, .object(let members)):
            return .object(members.flatMap { [JSON.Member($0.name, .null), .init($0.name, change(name, $0.value))] })
        case (_, .object(let members)): return .object(members.map { .init($0.name, change(name, $0.value)) })
        case (_, .array(let elements)): return .array(elements.map { change(name, $0) })
        default: return value
        }
    }
}
