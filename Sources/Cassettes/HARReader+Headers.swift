import PushSimJSONText
import PushSimWire

/// The headers of an entry (R6, R7).
extension HARReader {
    /// Most lists have none, and stay as they are.
    static func takePseudo(_ headers: inout [HeaderField]) -> [HeaderField] {
        guard headers.contains(where: { $0.name.first == Byte.colon }) else { return [] }
        let pseudo = headers.filter { $0.name.first == Byte.colon }
        headers.removeAll { $0.name.first == Byte.colon }
        return pseudo
    }

    static func dropFraming(_ headers: inout [HeaderField]) {
        guard headers.contains(where: { isFraming($0.name) }) else { return }
        headers.removeAll { isFraming($0.name) }
    }

    static func isFraming(_ name: [UInt8]) -> Bool {
        switch name.count {
        case 14: name.equalsIgnoringCase(contentLength)
        case 16: name.equalsIgnoringCase(contentEncoding)
        case 17: name.equalsIgnoringCase(transferEncoding)
        default: false
        }
    }

    private static let contentLength = [UInt8]("content-length")
    private static let contentEncoding = [UInt8]("content-encoding")
    private static let transferEncoding = [UInt8]("transfer-encoding")
    private static let setCookie = [UInt8]("set-cookie")

    /// A newline in a value is several headers; Set-Cookie joined by `, ` is split where a new cookie begins (R7).
    mutating func headers(_ value: JSONValue?, _ number: Int) -> [HeaderField] {
        var fields: [HeaderField] = []
        if about.isOwn { return ownHeaders(value) }
        for element in value?.lenientElements ?? [] {
            guard let name = element.lenientMember("name")?.lenientText?.trimmed, !name.isEmpty else { continue }
            let text = element.lenientMember("value")?.lenientText ?? []
            let lines =
                text.contains { $0 == 10 || $0 == 13 }
                ? text.split(whereSeparator: { $0 == 10 || $0 == 13 }).map { Array($0).trimmed } : [text.trimmed]
            if lines.count > 1 { note("R7", number, "\(name.text) holds several lines") }
            for line in lines.isEmpty ? [[]] : lines {
                let isCookie = name.count == 10 && name.equalsIgnoringCase(Self.setCookie)
                let parts = isCookie ? Self.cookies(line) : [line]
                if parts.count > 1 { note("R7", number, "Set-Cookie holds \(parts.count) cookies") }
                for part in parts {
                    guard name.first == Byte.colon || HeaderField.isName(name), HeaderField.isValue(part) else {
                        note("R7", number, "\(name.text) is no header that HTTP allows: left out")
                        continue
                    }
                    fields.append(HeaderField(shared(name), shared(part)))
                }
            }
        }
        return fields
    }

    /// Split at `, name=` only: the comma of a date is followed by a space and a number.
    private static func cookies(_ text: [UInt8]) -> [[UInt8]] {
        var parts: [[UInt8]] = []
        var start = 0
        var index = 0
        while index + 1 < text.count {
            if text[index] == Byte.comma, text[index + 1] == Byte.space {
                let name = text[(index + 2)...].prefix { $0 != 61 && $0 != 59 && $0 != Byte.comma && $0 != Byte.space }
                let end = index + 2 + name.count
                if !name.isEmpty, end < text.count, text[end] == 61 {
                    parts.append(Array(text[start..<index]))
                    start = index + 2
                }
            }
            index += 1
        }
        return parts + [Array(text[start...])]
    }
}
