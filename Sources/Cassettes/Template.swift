import CPushSimSystem
import PushSimJSONText
package import PushSimWire

/// A recorded text in which `{{name.1}}` stands for a value that was redacted, and `{{name.1:base64}}` for the value in a
/// coding beside that of its place.
package struct Template: Sendable {
    enum Part: Hashable, Sendable {
        case text([UInt8])
        case placeholder([UInt8], [Coding])
    }

    /// How values are written where the text stands.
    package enum Place: Sendable {
        case plain, url, form, json
        /// A header field that holds a URL: what a URL cannot hold is encoded, the rest is as it is.
        case address
    }

    let parts: [Part]
    /// Whether some of it stands for braces.
    private(set) var hasBraces = false
    private let place: Place

    package init(_ recorded: [UInt8], in place: Place = .plain) {
        self.place = place
        guard Self.mayHavePlaceholders(recorded) else {
            parts = [.text(recorded)]
            return
        }
        var parts: [Part] = []
        var start = 0
        var index = 0
        while let braces = Self.braces(recorded, from: index) {
            index = braces
            if let end = Self.placeholder(recorded, index),
                let part = Self.part(Array(recorded[(index + 2)..<(end - 2)]))
            {
                if start < index { parts.append(.text(Array(recorded[start..<index]))) }
                parts.append(part)
                if case .text = part { hasBraces = true }
                index = end
                start = end
            } else {
                index += 1
            }
        }
        if start < recorded.count || parts.isEmpty { parts.append(.text(Array(recorded[start...]))) }
        self.parts = parts
    }

    static func mayHavePlaceholders(_ bytes: [UInt8]) -> Bool { braces(bytes, from: 0) != nil }

    /// Where the next two braces stand.
    private static func braces(_ bytes: [UInt8], from start: Int) -> Int? {
        bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return nil }
            var index = start
            while index + 1 < bytes.count, let found = memchr(base + index, 123, bytes.count - 1 - index) {
                index = UnsafeRawPointer(found) - base
                if bytes[index + 1] == 123 { return index }
                index += 1
            }
            return nil
        }
    }

    /// Where a placeholder that begins at `start` ends.
    private static func placeholder(_ bytes: [UInt8], _ start: Int) -> Int? {
        var index = start + 2
        while index < bytes.count, bytes[index] != 125 {
            let byte = bytes[index]
            guard
                byte == 45 || byte == 46 || byte == 95 || byte == Byte.colon || (48...57).contains(byte)
                    || (97...122).contains(byte | 32)
            else { return nil }
            index += 1
        }
        return index + 1 < bytes.count && bytes[index + 1] == 125 ? index + 2 : nil
    }

    /// What stands for two braces that begin no placeholder.
    private static let brace = Array("brace.0".utf8)

    /// The text so that nothing in it is taken for a placeholder.
    package static func escaped(_ text: [UInt8]) -> [UInt8] {
        let template = Template(text)
        guard template.hasPlaceholders || template.hasBraces else { return text }
        var out: [UInt8] = []
        var index = 0
        while index < text.count {
            if index + 1 < text.count, text[index] == 123, text[index + 1] == 123, placeholder(text, index) != nil {
                out += Array("{{".utf8) + brace + Array("}}".utf8)
                index += 2
            } else {
                out.append(text[index])
                index += 1
            }
        }
        return out
    }

    /// A name, a dot, a number, and codings; nil where the text is none of that.
    private static func part(_ text: [UInt8]) -> Part? {
        if text == brace { return .text([123, 123]) }
        let words = text.split(separator: Byte.colon, omittingEmptySubsequences: false)
        guard let dot = words[0].lastIndex(of: 46), dot > 0, decimalDigits(words[0][(dot + 1)...]) != nil else {
            return nil
        }
        var codings: [Coding] = []
        for word in words.dropFirst() {
            guard let coding = Coding(rawValue: Array(word).text) else { return nil }
            codings.append(coding)
        }
        return .placeholder(Array(words[0]), codings)
    }

    package var hasPlaceholders: Bool {
        parts.contains { if case .placeholder = $0 { true } else { false } }
    }

    /// Whether the text is one placeholder and nothing else.
    var isPlaceholder: Bool { parts.count == 1 && hasPlaceholders }

    var names: [[UInt8]] {
        parts.compactMap { if case .placeholder(let name, _) = $0 { name } else { nil } }
    }

    /// The text with placeholders that say only what kind of secret they stand for.
    static func anonymous(_ text: [UInt8]) -> [UInt8] {
        let template = Template(text)
        guard template.hasPlaceholders else { return text }
        return template.parts.flatMap { part -> [UInt8] in
            switch part {
            case .text(let text): text
            case .placeholder(let name, _): Array("{{".utf8) + name.prefix { $0 != 46 } + Array("}}".utf8)
            }
        }
    }

    // MARK: matching

    /// Whether a value, with the coding of its place, is of this form; what placeholders stand for is bound, and must be
    /// the same later.
    package func matches(_ value: [UInt8], _ bound: inout [ByteKey: [UInt8]]) -> Bool {
        guard hasPlaceholders else { return filled([:]).isSame(as: value) }
        var matching = TemplateMatching(parts, place, value, bound)
        guard matching.run() else { return false }
        bound = matching.bound
        return true
    }

    // MARK: filling

    /// The text with what is bound in place of the placeholders, and a stand-in where nothing is.
    package func filled(_ bound: [ByteKey: [UInt8]]) -> [UInt8] {
        if parts.count == 1, case .text(let text) = parts[0] { return text }
        var out: [UInt8] = []
        var isAfterLiteral = false
        for part in parts {
            switch part {
            case .text(let text):
                // The quotes belonged to the placeholder.
                out += isAfterLiteral && text.first == 34 ? text.dropFirst() : text[...]
                isAfterLiteral = false
            case .placeholder(let name, let codings):
                if place == .json, let literal = codings.first?.literal {
                    let value = bound[ByteKey(name)] ?? literal
                    isAfterLiteral = out.last == 34 && Self.isLiteral(value)
                    if isAfterLiteral { out.removeLast() }
                    out += isAfterLiteral ? value : Coding.json.encode(value)
                    continue
                }
                var value = bound[ByteKey(name)] ?? StandIn.value(name)
                for coding in codings.reversed() { value = coding.encode(value) }
                switch place {
                case .plain: break
                case .url, .form: value = Coding.percent.encode(value)
                case .json: value = Coding.json.encode(value)
                case .address: value = Self.addressed(value)
                }
                out += value
            }
        }
        return out
    }

    private static func addressed(_ value: [UInt8]) -> [UInt8] {
        value.flatMap { byte -> [UInt8] in
            let isKept =
                (48...57).contains(byte) || (97...122).contains(byte | 32) || "-._~+/=:@!$'()*,;".utf8.contains(byte)
            return isKept && byte < 128 ? [byte] : Coding.percentEncode([byte])
        }
    }

    /// Whether JSON has this value without quotes.
    private static func isLiteral(_ value: [UInt8]) -> Bool {
        switch (try? JSONDocument(value))?.root.kind {
        case .number, .true, .false, .null: true
        default: false
        }
    }
}

/// What stands for a secret that nobody has given: well-formed, and plainly none.
enum StandIn {
    static func value(_ name: [UInt8]) -> [UInt8] {
        let text = name.text
        let kind = text.prefix { $0 != "." }
        switch kind {
        case "email": return Array("pushsim-\(text)@example.com".utf8)
        // {"alg":"none"} and {}.
        case "jwt": return Array("eyJhbGciOiJub25lIn0.e30.\(text.filter { $0 != "." })".utf8)
        case "endpoint": return Array("push/pushsim-\(text)".utf8)
        // The generator of P-256, which is a point for sure.
        case "encryption-key":
            return Array("BGsX0fLhLEJH-Lzm5WOkQPJ3A32BLeszoPShOUXYmMKWT-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU".utf8)
        // Sixteen octets.
        case "auth-secret": return Array("cHVzaHNpbS1zdGFuZC1pbg".utf8)
        default: return Array("pushsim-\(text)".utf8)
        }
    }
}
