import PushSimWire

/// One of the params that a HAR lists of a form, of which the body is made again where its text is missing (R10).
struct FormParam {
    let name: [UInt8]
    let value: [UInt8]
    var file: [UInt8]?
    var type: [UInt8]?

    static func body(_ params: [FormParam], _ mimeType: [UInt8]) -> [UInt8] {
        if let boundary = boundary(mimeType) { return multipart(params, boundary) }
        // A body of JSON that a tool took for a form is one name without a value.
        if params.count == 1, params[0].value.isEmpty, params[0].name.first == 123 || params[0].name.first == 91 {
            return params[0].name
        }
        return Array(params.map { encoded($0.name) + [61] + encoded($0.value) }.joined(separator: [38]))
    }

    /// Tools list names and values decoded; what is encoded already stays.
    private static func encoded(_ text: [UInt8]) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return text.enumerated().flatMap { index, byte -> [UInt8] in
            switch byte {
            case 48...57, 65...90, 97...122, 42, 45, 46, 95: return [byte]
            case Byte.space: return [43]
            case 37
            where index + 2 < text.count && Byte.hexValue(text[index + 1]) != nil
                && Byte.hexValue(text[index + 2]) != nil:
                return [byte]
            default: return [37, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
    }

    private static func boundary(_ mimeType: [UInt8]) -> [UInt8]? {
        let parts = mimeType.split(separator: 59).map { Array($0).trimmed }
        guard let first = parts.first, Array(first.prefix(10)).equalsIgnoringCase(Array("multipart/".utf8)) else {
            return nil
        }
        let own = parts.dropFirst().first { Array($0.prefix(9)).equalsIgnoringCase(Array("boundary=".utf8)) }
        return own.map { $0.dropFirst(9).filter { $0 != 34 } } ?? Array("pushsim".utf8)
    }

    private static func multipart(_ params: [FormParam], _ boundary: [UInt8]) -> [UInt8] {
        let end: [UInt8] = [13, 10]
        var out: [UInt8] = []
        for param in params {
            out += [45, 45] + boundary + end
            out += Array("Content-Disposition: form-data; name=\"".utf8) + param.name + [34]
            if let file = param.file { out += Array("; filename=\"".utf8) + file + [34] }
            out += end
            if let type = param.type, !type.isEmpty { out += Array("Content-Type: ".utf8) + type + end }
            out += end + param.value + end
        }
        return out + [45, 45] + boundary + [45, 45] + end
    }
}
