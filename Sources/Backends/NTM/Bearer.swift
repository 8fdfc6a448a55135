import PushSimJSONText
import PushSimSimulation
import PushSimWebPush
import PushSimWire

/// The bearer of a call (contract ntm.md, "Authorization"). Nil stands for none, another scheme, or what is plainly a
/// client's bug: an empty one, `undefined`, `null`, an unexpanded template.
struct Bearer {
    let text: [UInt8]
    /// Where the text parses as one.
    let token: JSONWebToken?

    init?(_ head: RequestHead) {
        guard let span = head[.authorization], span.count > 7,
            head.equalsIgnoringCase(.init(Int(span.start), Int(span.start) + 7), "bearer ")
        else { return nil }
        text = head.slice(.init(Int(span.start) + 7, Int(span.end))).trimmed
        guard !text.isEmpty, !text.isSame(as: "undefined"), !text.isSame(as: "null"),
            let dots = Self.dots(text)
        else { return nil }
        token = dots == 2 ? JSONWebToken(text) : nil
    }

    /// How many dots stand in the text; nil where it has brackets of a template.
    private static func dots(_ text: [UInt8]) -> Int? {
        text.withUnsafeBufferPointer { text in
            var dots = 0
            var index = 0
            while index < text.count {
                let byte = text[index]
                if byte == 123 || byte == 125 || byte == 60 || byte == 62 { return nil }
                if byte == 46 { dots += 1 }
                index += 1
            }
            return dots
        }
    }

    /// Whose it is.
    var account: [UInt8] { token?.claims.root["id"]?.stringBytes ?? text }

    var type: [UInt8] {
        if let type = token?.claims.root["type"]?.stringBytes { return type }
        if text.starts(with: "server-") { return Array("server") }
        if text.starts(with: "core-") { return Array("core") }
        return Array("user")
    }

    var domain: [UInt8]? { token?.claims.root["domain"]?.stringBytes }

    /// Nil where the token names none: then it may do all that its type may.
    var scopes: [[UInt8]]? { token?.claims.root["scopes"]?.elements.compactMap(\.stringBytes) }

    /// Nanoseconds since 1970.
    var expiry: Int64? {
        guard let seconds = token?.claims.root["exp"]?.int, let exact = Int64(exactly: seconds),
            abs(exact) < 9_000_000_000
        else { return nil }
        return exact * 1_000_000_000
    }
}
