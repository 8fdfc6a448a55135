import PushSimJSONText
import PushSimWebPush
import PushSimWire

/// Reads members as real tools write them (R1 to R4).
extension JSONValue {
    /// A number, or a text that is one; nil for anything else, and for -1, which stands for unknown.
    var lenientInt: Int? {
        let number: Double?
        switch kind {
        case .number:
            // Almost all are a few digits.
            if source.count < 10, source.allSatisfy({ $0 >= 48 && $0 <= 57 }) {
                return source.reduce(0) { $0 * 10 + Int($1 - 48) }
            }
            number = double
        case .string: number = string.flatMap { Double($0.filter { !$0.isWhitespace }) }
        default: number = nil
        }
        guard let number, number.isFinite, abs(number) < 1e15, number != -1 else { return nil }
        return Int(number.rounded())
    }

    var lenientText: [UInt8]? {
        switch kind {
        case .string: stringBytes
        case .number: Array(source)
        default: nil
        }
    }

    var base64Bytes: [UInt8]? { stringBytes.flatMap { LenientText.base64($0) } }

    /// The elements of an array, or an object that stands where an array should (R8).
    var lenientElements: [JSONValue] {
        switch kind {
        case .array: elements
        case .object: [self]
        default: []
        }
    }

    func lenientMember(_ name: StaticString) -> JSONValue? {
        guard kind == .object, let found = self[name], !found.isNull else { return nil }
        return found
    }
}

enum LenientText {
    /// Base64 with white space or without padding (R4).
    static func base64(_ text: [UInt8]) -> [UInt8]? {
        Base64.decodeLeniently(text, skipsSpace: true)
    }

    /// Text to bytes in the declared charset, where that can hold it; else as UTF-8 (R4).
    static func encode(_ text: [UInt8], _ mimeType: [UInt8]) -> [UInt8] {
        guard let name = charset(mimeType), let string = String(validating: text, as: UTF8.self) else { return text }
        let scalars = string.unicodeScalars
        switch name {
        case "iso88591", "latin1", "l1", "cp819", "ibm819":
            return scalars.allSatisfy { $0.value < 256 } ? scalars.map { UInt8($0.value) } : text
        case "windows1252", "cp1252":
            let bytes = scalars.map { windows1252($0) }
            return bytes.contains(nil) ? text : bytes.compactMap { $0 }
        case "utf16", "utf16le", "utf16be":
            // Without a mark UTF-16 is big-endian (RFC 2781 section 4.3).
            let isLittle = name == "utf16le"
            return string.utf16.flatMap { unit in
                let (high, low) = (UInt8(unit >> 8), UInt8(unit & 255))
                return isLittle ? [low, high] : [high, low]
            }
        default: return text
        }
    }

    /// The charset that a text is said to be in and is not; nil where there is none, or it makes no difference.
    static func unusedCharset(_ text: [UInt8], _ bytes: [UInt8], _ mimeType: [UInt8]) -> String? {
        guard let name = charset(mimeType), name != "utf8", name != "usascii" else { return nil }
        return bytes.isSame(as: text) && text.contains { $0 > 127 } ? name : nil
    }

    /// In lower case without quotes, `-` and `_`.
    private static func charset(_ mimeType: [UInt8]) -> String? {
        if !mimeType.contains(59) { return nil }
        for part in mimeType.map(Byte.lowercased).split(separator: 59).dropFirst() {
            let text = Array(part).trimmed
            guard text.starts(with: "charset=".utf8) else { continue }
            return text.dropFirst(8).filter { ![34, 39, 45, 95].contains($0) }.text
        }
        return nil
    }

    /// The characters of 0x80 to 0x9F; 0 where there is none.
    private static let special: [UInt32] = [
        0x20AC, 0, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0, 0x017D, 0,
        0, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0, 0x017E,
        0x0178,
    ]

    private static func windows1252(_ scalar: Unicode.Scalar) -> UInt8? {
        if scalar.value < 128 || (160..<256).contains(scalar.value) { return UInt8(scalar.value) }
        return special.firstIndex(of: scalar.value).map { UInt8(128 + $0) }
    }
}
