import PushSimJSONText

/// Reads the fields of a body one by one and gathers what is wrong with them (contract fluxer.md, "Register:
/// validation").
struct Form {
    private let root: JSONValue
    private(set) var elements: [FluxerError.Element] = []

    /// - Throws: an error at `body` for what is no JSON, at `root` for what is no object.
    init(_ body: [UInt8]?) throws(FluxerError) {
        guard let body, let document = try? JSONDocument(body) else {
            throw .invalidForm(
                [.init(path: "body", code: Self.invalid, message: "The body is not JSON.")], routableOnTop: false)
        }
        guard document.root.kind == .object else {
            throw .invalidForm(
                [.init(path: "root", code: Self.invalid, message: "The body must be an object.")],
                routableOnTop: false)
        }
        root = document.root
    }

    private init(root: JSONValue) { self.root = root }

    static let invalid = "INVALID_FORMAT"
    static let length = "STRING_LENGTH_INVALID"

    mutating func problem(_ path: String, _ message: String, code: String = invalid) {
        elements.append(.init(path: path, code: code, message: message))
    }

    func has(_ name: String) -> Bool { root.member(name) != nil }

    /// The fields of an object within.
    func form(_ name: String) -> Form? {
        guard let inner = root.member(name), inner.kind == .object else { return nil }
        return Form(root: inner)
    }

    /// A text from 1 to `most` UTF-16 units, without control characters and blanks at either end. Null and the empty
    /// text count as missing, which a field that is there may not be, and a required one neither.
    mutating func text(_ name: String, _ most: Int, isRequired: Bool = false, at path: String? = nil) -> String? {
        let path = path ?? name
        guard let value = root.member(name) else {
            if isRequired { problem(path, "This field is required.") }
            return nil
        }
        guard let raw = value.string else {
            problem(path, value.isNull ? "This field must not be null." : "This field must be a string.")
            return nil
        }
        let text = Self.trimmed(raw)
        guard !text.isEmpty else {
            problem(path, "This field must not be empty.")
            return nil
        }
        guard text.utf16.count <= most else {
            problem(path, "This field must be between 1 and \(most) characters long.", code: Self.length)
            return nil
        }
        return text
    }

    mutating func choice(_ name: String, _ values: [String], isRequired: Bool = false) -> String? {
        guard let text = text(name, 1024, isRequired: isRequired) else { return nil }
        if values.contains(where: { $0.utf8.elementsEqual(text.utf8) }) { return text }
        problem(name, "This field must be one of \(values.joined(separator: ", ")).")
        return nil
    }

    static func trimmed(_ text: String) -> String {
        var scalars = text.unicodeScalars.filter { $0.properties.generalCategory != .control }[...]
        while let first = scalars.first, isBlank(first) { scalars.removeFirst() }
        while let last = scalars.last, isBlank(last) { scalars.removeLast() }
        return String(String.UnicodeScalarView(scalars))
    }

    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace || scalar.value == 0xFEFF
    }

    func finish(_ options: FluxerOptions) throws(FluxerError) {
        if !elements.isEmpty { throw .invalidForm(elements, routableOnTop: options.errorCodeOnTop) }
    }
}
