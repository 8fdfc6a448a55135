import CPushSimSystem
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
        guard let span = head[.authorization],
            let (start, dots) = Self.find(head.bytes, Int(span.start), Int(span.end))
        else { return nil }
        text = head.slice(.init(start, Int(span.end)))
        if text.isSame(as: "undefined") || text.isSame(as: "null") { return nil }
        token = dots == 2 ? JSONWebToken(text) : nil
    }

    /// Where the text begins and how many dots stand in it; nil for another scheme, for nothing, and where there are
    /// brackets of a template.
    private static func find(_ bytes: UnsafePointer<UInt8>, _ begin: Int, _ end: Int) -> (start: Int, dots: Int)? {
        let scheme: StaticString = "bearer"
        var start = begin + scheme.utf8CodeUnitCount
        guard start < end, bytes[start] == Byte.space,
            pushsim_equal_in_lower_case(bytes + begin, scheme.utf8Start, scheme.utf8CodeUnitCount) == 1
        else { return nil }
        while start < end, bytes[start] == Byte.space || bytes[start] == Byte.tab { start += 1 }
        if start == end { return nil }
        var dots = 0
        var index = start
        while index < end {
            let byte = bytes[index]
            if byte == 123 || byte == 125 || byte == 60 || byte == 62 { return nil }
            if byte == 46 { dots += 1 }
            index += 1
        }
        return (start, dots)
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
