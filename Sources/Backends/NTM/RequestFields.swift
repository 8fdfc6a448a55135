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
        guard let first = body.first(where: { $0 != 32 && $0 != 9 && $0 != 10 && $0 != 13 }) else {
            form = .empty
            return
        }
        let isJSON = call.head.value(.contentType).map { Self.isJSONType($0) } ?? false
        if first == 123 || isJSON {
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

    private static func isJSONType(_ value: [UInt8]) -> Bool {
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

    func text(_ name: StaticString) -> [UInt8]? {
        switch form {
        case .empty: return nil
        case .json(let document): return document.root[name]?.stringBytes
        case .form(let pairs):
            let wanted = Array<UInt8>(name)
            return pairs.last { $0.name == wanted }?.value
        }
    }

    /// Whether the field is there, whatever its type; JSON's null counts as absent.
    func has(_ name: StaticString) -> Bool {
        if case .json(let document) = form { return document.root[name].map { !$0.isNull } ?? false }
        return text(name) != nil
    }
}
