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
        guard let span = head[.authorization], span.count > 7 else { return nil }
        let value = head.bytes[span.range]
        let scheme = Array<UInt8>("bearer ")
        var index = 0
        while index < 7 {
            guard Byte.lowercased(value[value.startIndex + index]) == scheme[index] else { return nil }
            index += 1
        }
        text = Array(value.dropFirst(7)).trimmed
        guard !text.isEmpty, text != Self.undefined, text != Self.null else { return nil }
        var dots = 0
        for byte in text {
            if byte == 123 || byte == 125 || byte == 60 || byte == 62 { return nil }
            if byte == 46 { dots += 1 }
        }
        token = dots == 2 ? JSONWebToken(text) : nil
    }

    private static let undefined = Array<UInt8>("undefined")
    private static let null = Array<UInt8>("null")

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
