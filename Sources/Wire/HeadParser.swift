import CPushSimSystem

/// Reads one request head, strictly (RFC 9112 sections 2 to 6): what two servers could read in two ways is refused.
enum HeadParser {
    /// - Parameter raw: the request line and fields, each with its CR LF, without the empty line at the end.
    static func parse(_ raw: UnsafeRawBufferPointer, fieldLimit: Int) throws(RequestFailure) -> RequestHead {
        guard let base = raw.baseAddress else { throw .bad("The request line is missing.") }
        var head = RequestHead.Parts(bytes: Array(raw))
        let bytes = base.assumingMemoryBound(to: UInt8.self)
        let table = ByteClass.table
        var position = try requestLine(bytes, raw.count, table, &head)
        head.fields.reserveCapacity(12)
        while position < raw.count {
            if head.fields.count == fieldLimit { throw .headTooLarge }
            position = try field(bytes, position, raw.count, table, &head)
        }
        try Framing.apply(to: &head)
        return RequestHead(head)
    }

    private static func requestLine(
        _ bytes: UnsafePointer<UInt8>, _ count: Int, _ table: UnsafePointer<UInt8>, _ head: inout RequestHead.Parts
    ) throws(RequestFailure) -> Int {
        var index = pushsim_run_end(bytes, 0, count, table, ByteClass.token)
        guard index > 0, index < count, bytes[index] == Byte.space else {
            throw .bad("The request line does not begin with a method and one space.")
        }
        head.method = .init(0, index)
        let start = index + 1
        index = pushsim_run_end(bytes, start, count, table, ByteClass.target)
        guard index > start, index < count, bytes[index] == Byte.space else {
            throw .bad("The request line has no target, or one with a space or control character in it.")
        }
        head.target = .init(start, index)
        index += 1
        guard index + 10 <= count, memcmp(bytes + index, version.utf8Start, 5) == 0, isDigit(bytes[index + 5]),
            bytes[index + 6] == 46, isDigit(bytes[index + 7]), bytes[index + 8] == Byte.carriageReturn
        else { throw .bad("The request line does not end in an HTTP version.") }
        guard bytes[index + 5] == 49 else {
            throw RequestFailure(status: 505, message: "Only HTTP/1.0 and HTTP/1.1 are spoken here.")
        }
        head.minorVersion = bytes[index + 7] == 48 ? 0 : 1
        head.keepAlive = head.minorVersion == 1
        try splitTarget(bytes, &head)
        return index + 10
    }

    private static func splitTarget(
        _ bytes: UnsafePointer<UInt8>, _ head: inout RequestHead.Parts
    ) throws(RequestFailure) {
        let start = Int(head.target.start)
        let end = Int(head.target.end)
        var pathStart = start
        if bytes[start] != Byte.slash {
            var scheme = 0
            if hasPrefix(bytes, start, end, "http://") { scheme = 7 }
            if hasPrefix(bytes, start, end, "https://") { scheme = 8 }
            if scheme > 0 {
                pathStart = start + scheme
                while pathStart < end, bytes[pathStart] != Byte.slash, bytes[pathStart] != Byte.questionMark {
                    pathStart += 1
                }
                guard pathStart > start + scheme else { throw .bad("The target has no authority after its scheme.") }
                head.authority = .init(start + scheme, pathStart)
            } else if !(end - start == 1 && bytes[start] == 42), !matches(bytes, head.method, "CONNECT") {
                throw .bad("The target is neither a path nor an absolute URL.")
            }
        }
        var pathEnd = pathStart
        while pathEnd < end, bytes[pathEnd] != Byte.questionMark {
            if bytes[pathEnd] == 35 { throw .bad("The target has a fragment.") }
            pathEnd += 1
        }
        head.path = .init(pathStart, pathEnd)
        guard pathEnd < end else { return }
        head.query = .init(pathEnd + 1, end)
        guard memchr(bytes + pathEnd, 35, end - pathEnd) == nil else { throw .bad("The target has a fragment.") }
    }

    private static func hasPrefix(
        _ bytes: UnsafePointer<UInt8>, _ start: Int, _ end: Int, _ prefix: StaticString
    ) -> Bool {
        guard end - start >= prefix.utf8CodeUnitCount else { return false }
        var index = 0
        while index < prefix.utf8CodeUnitCount {
            if Byte.lowercased(bytes[start + index]) != prefix.utf8Start[index] { return false }
            index += 1
        }
        return true
    }

    private static func field(
        _ bytes: UnsafePointer<UInt8>, _ start: Int, _ count: Int, _ table: UnsafePointer<UInt8>,
        _ head: inout RequestHead.Parts
    ) throws(RequestFailure) -> Int {
        let span = try FieldLine.scan(bytes, start, count, table)
        if let known = known(bytes, span.field) { head.known.note(known, head.fields.count) }
        head.fields.append(span.field)
        return span.next
    }

    private static func known(
        _ bytes: UnsafePointer<UInt8>, _ field: RequestHead.FieldSpan
    ) -> RequestHead.Known? {
        let name = bytes + Int(field.name.start)
        switch field.name.count {
        case 4: return matches(name, "host") ? .host : nil
        case 6: return matches(name, "expect") ? .expect : nil
        case 8: return matches(name, "trace-id") ? .traceID : nil
        case 10:
            if matches(name, "user-agent") { return .userAgent }
            return matches(name, "connection") ? .connection : nil
        case 12: return matches(name, "content-type") ? .contentType : nil
        case 13: return matches(name, "authorization") ? .authorization : nil
        case 14: return matches(name, "content-length") ? .contentLength : nil
        case 15: return matches(name, "x-pushsim-scope") ? .scope : nil
        case 16: return matches(name, "content-encoding") ? .contentEncoding : nil
        case 17: return matches(name, "transfer-encoding") ? .transferEncoding : nil
        default: return nil
        }
    }

    /// - Parameter name: in lower case; letters and dashes only.
    private static func matches(_ bytes: UnsafePointer<UInt8>, _ name: StaticString) -> Bool {
        pushsim_equal_in_lower_case(bytes, name.utf8Start, name.utf8CodeUnitCount) == 1
    }

    private static func matches(
        _ bytes: UnsafePointer<UInt8>, _ span: RequestHead.Span, _ text: StaticString
    ) -> Bool {
        span.count == text.utf8CodeUnitCount && memcmp(bytes + Int(span.start), text.utf8Start, span.count) == 0
    }

    private static let version: StaticString = "HTTP/"

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= 48 && byte <= 57 }
}

/// One `name: value` line, as heads and trailers have it.
enum FieldLine {
    static func scan(
        _ bytes: UnsafePointer<UInt8>, _ start: Int, _ count: Int, _ table: UnsafePointer<UInt8>
    ) throws(RequestFailure) -> (field: RequestHead.FieldSpan, next: Int) {
        var index = pushsim_run_end(bytes, start, count, table, ByteClass.token)
        guard index < count, bytes[index] == Byte.colon, index > start else {
            if index == start, bytes[start] == Byte.space || bytes[start] == Byte.tab {
                throw .bad("A header field is folded over two lines.")
            }
            throw .bad("A header field has no name, or a character that no name may have, before its colon.")
        }
        let nameEnd = index
        index += 1
        while index < count, bytes[index] == Byte.space || bytes[index] == Byte.tab { index += 1 }
        let valueStart = index
        index = pushsim_run_end(bytes, index, count, table, ByteClass.fieldValue)
        guard index + 1 < count, bytes[index] == Byte.carriageReturn, bytes[index + 1] == Byte.lineFeed else {
            throw .bad("A header field has a control character in its value.")
        }
        var valueEnd = index
        while valueEnd > valueStart, bytes[valueEnd - 1] == Byte.space || bytes[valueEnd - 1] == Byte.tab {
            valueEnd -= 1
        }
        return (.init(name: .init(start, nameEnd), value: .init(valueStart, valueEnd)), index + 2)
    }
}
