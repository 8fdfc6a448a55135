import PushSimJSONText
import PushSimSimulation
import PushSimWire

/// The fields of a request body in any of the forms that real clients send: JSON under either content type, or a form.
struct RequestFields {
    struct Unreadable: Error {
        let message: String
    }

    private enum Form {
        case empty
        case json(JSONDocument)
        case form([(name: [UInt8], value: [UInt8])])
    }

    private let form: Form

    init(_ call: Call) throws(Unreadable) {
        guard let body = call.plainBody() else {
            throw Unreadable(message: "The body's Content-Encoding cannot be undone.")
        }
        var start = 0
        while start < body.count, Self.isBlank(body[start]) { start += 1 }
        guard start < body.count else {
            form = .empty
            return
        }
        if body[start] == 123 || Self.isJSON(call.head) {
            do throws(JSONError) {
                form = .json(try JSONDocument(body))
            } catch {
                throw Unreadable(message: "The body is not JSON: \(error.description).")
            }
            return
        }
        guard let pairs = Percent.form(body) else { throw Unreadable(message: "The form body has a bad escape.") }
        guard body.contains(61) else { throw Unreadable(message: "The body is neither JSON nor a form.") }
        form = .form(pairs)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 32 || byte == 9 || byte == 10 || byte == 13 }

    private static func isJSON(_ head: RequestHead) -> Bool {
        guard let span = head[.contentType] else { return false }
        let value = head.slice(span)
        let type = Array(value.prefix { $0 != 59 }).trimmed.map(Byte.lowercased)
        return type == Array("application/json") || type.suffix(5) == Array("+json")[...]
    }

    var isEmpty: Bool {
        if case .empty = form { true } else { false }
    }

    /// The JSON object, where the body is JSON.
    var object: JSONValue? {
        if case .json(let document) = form, document.root.kind == .object { document.root } else { nil }
    }

    /// Whether the body is JSON but no object.
    var isOtherJSON: Bool {
        if case .json(let document) = form { document.root.kind != .object } else { false }
    }

    enum Field {
        case absent
        case text([UInt8])
        /// JSON of another kind.
        case other
    }

    /// JSON's null counts as absent.
    subscript(_ name: StaticString) -> Field {
        switch form {
        case .empty: return .absent
        case .json(let document):
            guard let value = document.member(name) else { return .absent }
            if let text = value.stringBytes { return .text(text) }
            return value.isNull ? .absent : .other
        case .form(let pairs): return pairs.last { $0.name.isSame(as: name) }.map { .text($0.value) } ?? .absent
        }
    }

    func text(_ name: StaticString) -> [UInt8]? {
        if case .text(let text) = self[name] { text } else { nil }
    }
}
