import CPushSimSystem

/// Byte constants that the parsers name.
package enum Byte {
    package static let tab: UInt8 = 9
    package static let lineFeed: UInt8 = 10
    package static let carriageReturn: UInt8 = 13
    package static let space: UInt8 = 32
    package static let comma: UInt8 = 44
    package static let slash: UInt8 = 47
    package static let colon: UInt8 = 58
    package static let questionMark: UInt8 = 63

    /// The value of a hexadecimal digit, or nil.
    package static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 48...57: byte - 48
        case 65...70: byte - 55
        case 97...102: byte - 87
        default: nil
        }
    }

    /// ASCII lower case; other bytes stay.
    package static func lowercased(_ byte: UInt8) -> UInt8 {
        byte >= 65 && byte <= 90 ? byte | 32 : byte
    }
}

extension [UInt8] {
    /// The UTF-8 bytes of `text`.
    package init(_ text: StaticString) {
        self = Array(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// So many zeros, to be written over. As a copy of memory they are there twice as soon as by `init(repeating:count:)`
    /// where nothing is optimised.
    package init(zeros count: Int) {
        self =
            count <= ZeroBlock.size
            ? Array(UnsafeRawBufferPointer(start: ZeroBlock.start, count: count)) : Array(repeating: 0, count: count)
    }

    /// The bytes as text; bytes that are no UTF-8 become U+FFFD.
    package var text: String { String(decoding: self, as: UTF8.self) }

    /// Equality in which ASCII letters match in either case.
    package func equalsIgnoringCase(_ other: [UInt8]) -> Bool {
        guard count == other.count else { return false }
        var index = 0
        while index < count {
            if Byte.lowercased(self[index]) != Byte.lowercased(other[index]) { return false }
            index += 1
        }
        return true
    }

    /// The bytes without spaces and tabs at either end.
    package var trimmed: [UInt8] {
        var start = 0
        var end = count
        while start < end, self[start] == Byte.space || self[start] == Byte.tab { start += 1 }
        while end > start, self[end - 1] == Byte.space || self[end - 1] == Byte.tab { end -= 1 }
        return start == 0 && end == count ? self : Array(self[start..<end])
    }

    /// Appends the UTF-8 bytes of `text`.
    package mutating func append(_ text: StaticString) {
        append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// The bytes with text before and behind them, by copies of memory, which are fast in debug builds too.
    package func between(_ before: StaticString, _ behind: StaticString) -> [UInt8] {
        let (start, end) = (before.utf8CodeUnitCount, before.utf8CodeUnitCount + count)
        var out = [UInt8](zeros: end + behind.utf8CodeUnitCount)
        out.withUnsafeMutableBytes { out in
            guard let target = out.baseAddress else { return }
            memcpy(target, before.utf8Start, start)
            withUnsafeBytes { own in
                if let source = own.baseAddress { memcpy(target + start, source, own.count) }
            }
            memcpy(target + end, behind.utf8Start, behind.utf8CodeUnitCount)
        }
        return out
    }

    /// Equality by one comparison of memory. Nothing is copied or retained for it in debug builds either: an array that
    /// is passed as a pointer is retained twice.
    package borrowing func isSame(as other: borrowing [UInt8]) -> Bool {
        if count != other.count { return false }
        return holds(other, at: 0)
    }

    package borrowing func begins(with prefix: borrowing [UInt8]) -> Bool {
        if count < prefix.count { return false }
        return holds(prefix, at: 0)
    }

    /// Whether those bytes stand at an offset. The caller has seen to it that so many are there.
    package borrowing func holds(_ other: borrowing [UInt8], at offset: Int) -> Bool {
        withUnsafeBytes { own in
            other.withUnsafeBytes { other in
                guard let start = own.baseAddress, let wanted = other.baseAddress else { return true }
                return memcmp(start + offset, wanted, other.count) == 0
            }
        }
    }

    /// The same of a text.
    package borrowing func holds(_ text: StaticString, at offset: Int) -> Bool {
        withUnsafeBytes { own in
            guard let start = own.baseAddress else { return true }
            return memcmp(start + offset, text.utf8Start, text.utf8CodeUnitCount) == 0
        }
    }

    package borrowing func isSame(as text: StaticString) -> Bool {
        if count != text.utf8CodeUnitCount { return false }
        return holds(text, at: 0)
    }

    package borrowing func starts(with prefix: StaticString) -> Bool {
        if count < prefix.utf8CodeUnitCount { return false }
        return holds(prefix, at: 0)
    }

    /// Whether the bytes are UTF-8.
    package var isUTF8: Bool {
        let isASCII = withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return true }
            return pushsim_run_end(start, 0, bytes.count, ByteClass.table, ByteClass.ascii) == bytes.count
        }
        return isASCII || String(validating: self, as: UTF8.self) != nil
    }
}

private enum ZeroBlock {
    static let size = 1024

    /// Never written to, so safe to share.
    nonisolated(unsafe) static let start: UnsafeRawPointer = {
        let block = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
        memset(block, 0, size)
        return UnsafeRawPointer(block)
    }()
}

/// Bytes as the key of a table, hashed at one stroke.
package struct ByteKey: Hashable, Sendable {
    package let bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    package static func == (left: ByteKey, right: ByteKey) -> Bool { left.bytes.isSame(as: right.bytes) }

    package func hash(into hasher: inout Hasher) {
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

/// A decimal number written as digits only; nil for a sign, a space, nothing, or what does not fit.
package func decimalDigits(_ bytes: some Collection<UInt8>) -> Int? {
    guard !bytes.isEmpty else { return nil }
    var value = 0
    for byte in bytes {
        guard byte >= 48, byte <= 57 else { return nil }
        let (tens, overflow) = value.multipliedReportingOverflow(by: 10)
        let (sum, carry) = tens.addingReportingOverflow(Int(byte - 48))
        if overflow || carry { return nil }
        value = sum
    }
    return value
}
