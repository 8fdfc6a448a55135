import PushSimJSONText
import PushSimWebPush
import PushSimWire

/// Reads members as real tools write them (R1 to R4).
extension JSONValue {
    /// A number, or a text that is one; nil for anything else, and for -1, which stands for unknown.
    var lenientInt: Int? {
        let number: Double?
        switch kind {
        case .number: number = double
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
        Base64.decodeLeniently(text.filter { $0 > 32 })
    }

    /// Text to bytes in the declared charset, where that can hold it; else as UTF-8 (R4).
    static func encode(_ text: [UInt8], _ mimeType: [UInt8]) -> [UInt8] {
        let type = mimeType.map(Byte.lowercased).text
        let isLatin = ["iso-8859-1", "latin1", "windows-1252", "us-ascii"].contains { type.contains("charset=\($0)") }
        guard isLatin, let string = String(validating: text, as: UTF8.self),
            string.unicodeScalars.allSatisfy({ $0.value < 256 })
        else { return text }
        return string.unicodeScalars.map { UInt8($0.value) }
    }
}
