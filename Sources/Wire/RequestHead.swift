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
    var known: (UInt64, UInt64) = (.max, .max)

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// No request at all.
    package static let empty = RequestHead(bytes: [])

    package func slice(_ span: Span) -> [UInt8] { Array(bytes[span.range]) }

    package func text(_ span: Span) -> String { String(decoding: bytes[span.range], as: UTF8.self) }

    package func equals(_ span: Span, _ text: StaticString) -> Bool {
        guard span.count == text.utf8CodeUnitCount else { return false }
        return bytes.withUnsafeBytes { raw in
            guard let base = raw.baseAddress else { return false }
            return memcmp(base + Int(span.start), text.utf8Start, span.count) == 0
        }
    }

    package var methodText: String { text(method) }

    /// The value of one of the known fields: of several with that name, the first.
    package subscript(_ name: Known) -> Span? {
        let index = knownIndex(name)
        return index == 255 ? nil : fields[index].value
    }

    package func value(_ name: Known) -> [UInt8]? { self[name].map(slice) }

    func knownIndex(_ name: Known) -> Int {
        let raw = name.rawValue
        let word = raw < 8 ? known.0 : known.1
        return Int(truncatingIfNeeded: word >> UInt64((raw & 7) * 8)) & 255
    }

    func setKnown(_ name: Known, _ index: Int) {
        let shift = UInt64((name.rawValue & 7) * 8)
        let mask = ~(UInt64(255) << shift)
        let bits = UInt64(truncatingIfNeeded: index & 255) << shift
        if name.rawValue < 8 { known.0 = known.0 & mask | bits } else { known.1 = known.1 & mask | bits }
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
