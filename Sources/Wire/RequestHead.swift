import CPushSimSystem

/// A request line and its header fields, kept as the bytes that came.
///
/// A class, since a head is handed on many times and never changed.
package final class RequestHead: Sendable {
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

    /// What the parser finds, bit by bit.
    struct Parts {
        let bytes: [UInt8]
        var method = Span(0, 0)
        var target = Span(0, 0)
        var path = Span(0, 0)
        var query: Span?
        var authority: Span?
        var minorVersion = 1
        var fields: [FieldSpan] = []
        var framing = Framing.none
        var expectsContinue = false
        var keepAlive = true
        var known = KnownFields()
    }

    package let bytes: [UInt8]
    package let method: Span
    package let target: Span
    /// The path of the target, raw; of an absolute-form target what follows the authority.
    package let path: Span
    /// The query after `?`, raw, or nil.
    package let query: Span?
    /// The authority of an absolute-form target, or nil.
    package let authority: Span?
    package let minorVersion: Int
    package let fields: [FieldSpan]
    package let framing: Framing
    package let expectsContinue: Bool
    package let keepAlive: Bool
    private let known: KnownFields

    init(_ parts: Parts) {
        bytes = parts.bytes
        method = parts.method
        target = parts.target
        path = parts.path
        query = parts.query
        authority = parts.authority
        minorVersion = parts.minorVersion
        fields = parts.fields
        framing = parts.framing
        expectsContinue = parts.expectsContinue
        keepAlive = parts.keepAlive
        known = parts.known
    }

    /// No request at all.
    package static let empty = RequestHead(Parts(bytes: []))

    /// Whether the very bytes of this head, and the empty line that ends one, stand there.
    func stands(at start: UnsafeRawPointer, _ count: Int) -> Bool {
        bytes.withUnsafeBytes { own in
            let size = own.count
            guard count >= size + 2, let first = own.baseAddress, memcmp(start, first, size) == 0 else { return false }
            let end = (start + size).assumingMemoryBound(to: UInt8.self)
            return end[0] == Byte.carriageReturn && end[1] == Byte.lineFeed
        }
    }

    package func slice(_ span: Span) -> [UInt8] { Self.slice(bytes, span) }

    static func slice(_ bytes: [UInt8], _ span: Span) -> [UInt8] {
        bytes.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress, span.count > 0 else { return [] }
            // Of raw memory an array is made fastest where nothing is optimised.
            return Array(UnsafeRawBufferPointer(start: base + Int(span.start), count: span.count))
        }
    }

    package func text(_ span: Span) -> String { String(decoding: bytes[span.range], as: UTF8.self) }

    package func equals(_ span: Span, _ text: StaticString) -> Bool {
        if span.count != text.utf8CodeUnitCount { return false }
        return bytes.holds(text, at: Int(span.start))
    }

    package func equals(_ span: Span, _ text: [UInt8]) -> Bool { span.count == text.count && begins(span, text) }

    package func begins(_ span: Span, _ text: [UInt8]) -> Bool {
        if span.count < text.count { return false }
        return bytes.holds(text, at: Int(span.start))
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
        let index = known.index(name)
        return index == KnownFields.absent ? nil : fields[index].value
    }

    package func value(_ name: Known) -> [UInt8]? { self[name].map(slice) }

    /// All values of the fields with that name, in order, as sent.
    package func values(_ name: String) -> [[UInt8]] { Self.values(bytes, fields, name) }

    static func values(_ bytes: [UInt8], _ fields: [FieldSpan], _ name: String) -> [[UInt8]] {
        let wanted = Array(name.utf8)
        return fields.filter { $0.name.count == wanted.count && slice(bytes, $0.name).equalsIgnoringCase(wanted) }
            .map { slice(bytes, $0.value) }
    }

    package var headerFields: [HeaderField] { fields.map { HeaderField(slice($0.name), slice($0.value)) } }
}

/// Where the first field of each known name stands: four indices of 16 bits in a word.
struct KnownFields: Sendable {
    static let absent = 0xFFFF

    private var first: UInt64 = .max
    private var second: UInt64 = .max
    private var third: UInt64 = .max
    /// One bit for each known name that stands more than once.
    private var repeated: UInt32 = 0

    func index(_ name: RequestHead.Known) -> Int {
        let raw = name.rawValue
        let word = raw < 4 ? first : raw < 8 ? second : third
        return Int(truncatingIfNeeded: word >> UInt64((raw & 3) * 16)) & 0xFFFF
    }

    func isRepeated(_ name: RequestHead.Known) -> Bool { repeated & 1 << UInt32(name.rawValue) != 0 }

    /// Notes that the field of that index has that name.
    mutating func note(_ name: RequestHead.Known, _ field: Int) {
        let raw = name.rawValue
        guard index(name) == 0xFFFF else {
            repeated |= 1 << UInt32(raw)
            return
        }
        let shift = UInt64((raw & 3) * 16)
        let mask = ~(0xFFFF << shift) | UInt64(truncatingIfNeeded: field) << shift
        if raw < 4 { first &= mask } else if raw < 8 { second &= mask } else { third &= mask }
    }
}

extension RequestHead.Parts {
    subscript(_ name: RequestHead.Known) -> RequestHead.Span? {
        let index = known.index(name)
        return index == KnownFields.absent ? nil : fields[index].value
    }

    func slice(_ span: RequestHead.Span) -> [UInt8] { RequestHead.slice(bytes, span) }

    func values(_ name: String) -> [[UInt8]] { RequestHead.values(bytes, fields, name) }

    func isRepeated(_ name: RequestHead.Known) -> Bool { known.isRepeated(name) }
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
