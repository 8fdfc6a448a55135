/// Decides how long the body is, and refuses what two readers could measure differently (RFC 9112 section 6.3).
enum Framing {
    static func apply(to head: inout RequestHead.Parts) throws(RequestFailure) {
        try checkHost(head)
        if let connection = head[.connection] { applyConnection(connection, &head) }
        if let expect = head[.expect] {
            guard !head.isRepeated(.expect), head.slice(expect).equalsIgnoringCase(Array("100-continue")) else {
                throw RequestFailure(status: 417, message: "Only Expect: 100-continue can be met.")
            }
            head.expectsContinue = head.minorVersion == 1
        }
        if head[.transferEncoding] != nil {
            try applyTransferEncoding(&head)
        } else if let length = head[.contentLength] {
            head.framing = try contentLength(head, length)
        }
    }

    private static func checkHost(_ head: RequestHead.Parts) throws(RequestFailure) {
        guard let host = head[.host] else {
            if head.minorVersion == 1 { throw .bad("The Host field is missing.") }
            return
        }
        if head.isRepeated(.host) { throw .bad("There is more than one Host field.") }
        guard isHost(head.bytes, host) else { throw .bad("The Host field is no host.") }
    }

    private static func isHost(_ bytes: [UInt8], _ host: RequestHead.Span) -> Bool {
        bytes.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return false }
            var index = Int(host.start)
            while index < Int(host.end) {
                let byte = base[index]
                if byte <= Byte.space || byte == Byte.comma || byte == Byte.slash || byte == 64 || byte >= 127 {
                    return false
                }
                index += 1
            }
            return true
        }
    }

    private static func applyConnection(_ value: RequestHead.Span, _ head: inout RequestHead.Parts) {
        if !head.isRepeated(.connection), head.slice(value).isSame(as: "keep-alive") { return }
        for list in head.values("connection") {
            for element in list.split(separator: Byte.comma)
            where Array(element).trimmed.equalsIgnoringCase(Array("close")) {
                head.keepAlive = false
            }
        }
    }

    private static func applyTransferEncoding(_ head: inout RequestHead.Parts) throws(RequestFailure) {
        guard head.minorVersion == 1 else { throw .bad("Transfer-Encoding is not part of HTTP/1.0.") }
        guard head[.contentLength] == nil else {
            throw .bad("There is both a Content-Length and a Transfer-Encoding.")
        }
        let codings = head.values("transfer-encoding").flatMap {
            $0.split(separator: Byte.comma).map { Array($0).trimmed }
        }
        let chunked = Array<UInt8>("chunked")
        guard let last = codings.last, last.equalsIgnoringCase(chunked),
            codings.filter({ $0.equalsIgnoringCase(chunked) }).count == 1
        else { throw .bad("The transfer coding does not end in one chunked.") }
        guard codings.count == 1 else {
            throw RequestFailure(status: 501, message: "Only the transfer coding chunked is understood.")
        }
        head.framing = .chunked
    }

    private static func contentLength(
        _ head: RequestHead.Parts, _ first: RequestHead.Span
    ) throws(RequestFailure) -> RequestHead.Framing {
        let text = head.slice(first)
        if head.isRepeated(.contentLength), !head.values("content-length").allSatisfy({ $0 == text }) {
            throw .bad("There are several Content-Length fields that differ.")
        }
        var length = 0
        var index = 0
        while index < text.count {
            let digit = text[index]
            guard digit >= 48, digit <= 57 else { throw .bad("The Content-Length is not a number.") }
            // Beyond any limit it does not matter how far.
            if length < 1 << 50 { length = length * 10 + Int(digit - 48) }
            index += 1
        }
        if index == 0 { throw .bad("The Content-Length is not a number.") }
        return length == 0 ? .none : .length(length)
    }
}
