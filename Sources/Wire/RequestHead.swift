import CPushSimSystem

/// A request line and its header fields, kept as the bytes that came.
///
/// A class, since a head is handed on many times and never changed. `@unchecked Sendable`: only the parser changes it,
/// before anybody else has it.
package final class RequestHead: @unchecked Sendable {
    package struct Span: Hashable, Sendable {
        package var start: UInt32
        package var end: UInt32

        package init(_ start: Int, _ end: Int) {
            self.start = UInt32(truncatingIfNeeded: start)
            self.end = UInt32(truncatingIfNeeded: end)
        }

        package var range: Range<Int> { Int(start)..<Int(end) }
        package var count: Int { Int(end &- start) }
    }

    package struct FieldSpan: Hashable, Sendable {
        package var name: Span
        package var value: Span
    }

    package enum Framing: Hashable, Sendable {
        case none
        case length(Int)
        case chunked
    }

    /// The fields that the server or a backend looks at on every call, found while parsing.
    package enum Known: Int, CaseIterable, Sendable {
        case host, contentLength, transferEncoding, connection, expect, contentType, contentEncoding, authorization
        case userAgent, traceID, scope
    }

    package let bytes: [UInt8]
    package internal(set) var method = Span(0, 0)
    package internal(set) var target = Span(0, 0)
    /// The path of the target, raw; of an absolute-form target what follows the authority.
    package internal(set) var path = Span(0, 0)
    /// The query after `?`, raw, or nil.
    package internal(set) var query: Span?
    /// The authority of an absolute-form target, or nil.
    package internal(set) var authority: Span?
    package internal(set) var minorVersion = 1
    package internal(set) var fields: [FieldSpan] = []
    package internal(set) var framing = Framing.none
    package internal(set) var expectsContinue = false
    package internal(set) var keepAlive = true
    /// Where the first field of each known name stands: four indices of 16 bits in a word.
    private var known: (UInt64, UInt64, UInt64) = (.max, .max, .max)
    /// One bit for each known name that stands more than once.
    var repeated: UInt32 = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// No request at all.
    package static let empty = RequestHead(bytes: [])

    package func slice(_ span: Span) -> [UInt8] {
        bytes.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress, span.count > 0 else { return [] }
            return Array(UnsafeBufferPointer(start: base + Int(span.start), count: span.count))
        }
    }

    package func text(_ span: Span) -> String { String(decoding: bytes[span.range], as: UTF8.self) }

    package func equals(_ span: Span, _ text: StaticString) -> Bool {
        span.count == text.utf8CodeUnitCount
            && pushsim_equal_at(bytes, Int(span.start), text.utf8Start, span.count) == 1
    }

    package func equals(_ span: Span, _ text: [UInt8]) -> Bool { span.count == text.count && begins(span, text) }

    package func begins(_ span: Span, _ text: [UInt8]) -> Bool {
        span.count >= text.count && pushsim_equal_at(bytes, Int(span.start), text, text.count) == 1
    }

    /// Whether there is a field of that name.
    package func has(_ name: [UInt8]) -> Bool {
        var index = 0
        while index < fields.count {
            let span = fields[index].name
            if span.count == name.count, slice(span).equalsIgnoringCase(name) { return true }
            index += 1
        }
        return false
    }

    /// - Parameter text: in lower case.
    package func equalsIgnoringCase(_ span: Span, _ text: StaticString) -> Bool {
        guard span.count == text.utf8CodeUnitCount else { return false }
        return bytes.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return false }
            let wanted = text.utf8Start
            let start = Int(span.start)
            var index = 0
            while index < span.count {
                let byte = base[start + index]
                if (byte >= 65 && byte <= 90 ? byte | 32 : byte) != wanted[index] { return false }
                index += 1
            }
            return true
        }
    }

    package var methodText: String { text(method) }

    /// The value of one of the known fields: of several with that name, the first.
    package subscript(_ name: Known) -> Span? {
        let index = knownIndex(name)
        return index == Self.absent ? nil : fields[index].value
    }

    package func value(_ name: Known) -> [UInt8]? { self[name].map(slice) }

    private static let absent = 0xFFFF

    private func knownIndex(_ name: Known) -> Int {
        let raw = name.rawValue
        let word = raw < 4 ? known.0 : raw < 8 ? known.1 : known.2
        return Int(truncatingIfNeeded: word >> UInt64((raw & 3) * 16)) & Self.absent
    }

    func isRepeated(_ name: Known) -> Bool { repeated & 1 << UInt32(name.rawValue) != 0 }

    /// Notes that the field about to be appended has that name.
    func note(_ name: Known) {
        guard knownIndex(name) == Self.absent else {
            repeated |= 1 << UInt32(name.rawValue)
            return
        }
        let shift = UInt64((name.rawValue & 3) * 16)
        let mask = ~(UInt64(Self.absent) << shift)
        let bits = UInt64(truncatingIfNeeded: fields.count) << shift
        switch name.rawValue {
        case ..<4: known.0 = known.0 & mask | bits
        case ..<8: known.1 = known.1 & mask | bits
        default: known.2 = known.2 & mask | bits
        }
    }

    /// All values of the fields with that name, in order, as sent.
    package func values(_ name: String) -> [[UInt8]] {
        let wanted = Array(name.utf8)
        return fields.filter { $0.name.count == wanted.count && slice($0.name).equalsIgnoringCase(wanted) }
            .map { slice($0.value) }
    }

    package var headerFields: [HeaderField] { fields.map { HeaderField(slice($0.name), slice($0.value)) } }
}

/// A whole request. `trailers` are the fields after a chunked body.
package struct Request: Sendable {
    package var head: RequestHead
    package var body: [UInt8]
    package var trailers: [HeaderField]

    package init(head: RequestHead, body: [UInt8], trailers: [HeaderField] = []) {
        self.head = head
        self.body = body
        self.trailers = trailers
    }
}
