/// One header field with its name as written. Names compare without regard to ASCII case (RFC 9110 section 5.1).
package struct HeaderField: Hashable, Sendable {
    package var name: [UInt8]
    package var value: [UInt8]

    package init(_ name: [UInt8], _ value: [UInt8]) {
        self.name = name
        self.value = value
    }

    package init(_ name: String, _ value: String) {
        self.init(Array(name.utf8), Array(value.utf8))
    }

    package func isNamed(_ other: [UInt8]) -> Bool { name.equalsIgnoringCase(other) }

    /// A token (RFC 9110 section 5.6.2), so that it may stand as a field name.
    package static func isName(_ bytes: [UInt8]) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy { ByteClass.table[Int($0)] & ByteClass.token != 0 }
    }

    /// Free of control characters but the tab, so that it may stand as a field value.
    package static func isValue(_ bytes: [UInt8]) -> Bool {
        bytes.allSatisfy { ByteClass.table[Int($0)] & ByteClass.fieldValue != 0 }
    }
}

extension [HeaderField] {
    /// The value of the first field of that name.
    package func first(_ name: String) -> [UInt8]? {
        let bytes = Array<UInt8>(name.utf8)
        return first { $0.isNamed(bytes) }?.value
    }

    /// Whether there is a field of that name.
    package func has(_ name: [UInt8]) -> Bool {
        let length = name.count
        return withUnsafeBufferPointer { fields in
            guard let start = fields.baseAddress else { return false }
            var index = 0
            while index < fields.count {
                if start[index].name.count == length, start[index].isNamed(name) { return true }
                index += 1
            }
            return false
        }
    }
}

/// What a byte may be part of.
enum ByteClass {
    static let token: UInt8 = 1
    static let fieldValue: UInt8 = 2
    static let target: UInt8 = 4
    static let ascii: UInt8 = 8

    /// Read-only after its creation, so safe to share.
    nonisolated(unsafe) static let table: UnsafePointer<UInt8> = {
        let table = UnsafeMutablePointer<UInt8>.allocate(capacity: 256)
        for index in 0..<256 {
            let byte = UInt8(index)
            var bits: UInt8 = 0
            switch byte {
            case 48...57, 65...90, 97...122, 33, 35, 36, 37, 38, 39, 42, 43, 45, 46, 94, 95, 96, 124, 126: bits |= token
            default: break
            }
            if byte == 9 || (byte >= 32 && byte != 127) { bits |= fieldValue }
            if byte > 32 && byte != 127 { bits |= target }
            if byte < 128 { bits |= ascii }
            table[index] = bits
        }
        return UnsafePointer(table)
    }()
}
