/// Decides how long the body is, and refuses what two readers could measure differently (RFC 9112 section 6.3).
enum Framing {
    static func apply(to head: RequestHead) throws(RequestFailure) {
        try checkHost(head)
        if let connection = head[.connection] { applyConnection(connection, head) }
        if let expect = head[.expect] {
            guard head.slice(expect).equalsIgnoringCase(Array("100-continue")) else {
                throw RequestFailure(status: 417, message: "Only Expect: 100-continue can be met.")
            }
            head.expectsContinue = head.minorVersion == 1
        }
        if head[.transferEncoding] != nil {
            try applyTransferEncoding(head)
        } else if head[.contentLength] != nil {
            head.framing = try contentLength(head)
        }
    }

    private static func checkHost(_ head: RequestHead) throws(RequestFailure) {
        guard let host = head[.host] else {
            if head.minorVersion == 1 { throw .bad("The Host field is missing.") }
            return
        }
        if head.fields.count > 1, head.values("host").count > 1 { throw .bad("There is more than one Host field.") }
        var index = Int(host.start)
        while index < Int(host.end) {
            let byte = head.bytes[index]
            if byte <= Byte.space || byte == Byte.comma || byte == Byte.slash || byte == 64 || byte >= 127 {
                throw .bad("The Host field is no host.")
            }
            index += 1
        }
    }

    private static func applyConnection(_ value: RequestHead.Span, _ head: RequestHead) {
        if head.equals(value, "keep-alive") {
            head.keepAlive = true
            return
        }
        var keep = head.keepAlive
        for list in head.values("connection") {
            for element in list.split(separator: Byte.comma) {
                let token = Array(element).trimmed
                if token.equalsIgnoringCase(Array("close")) {
                    head.keepAlive = false
                    return
                }
                if token.equalsIgnoringCase(Array("keep-alive")) { keep = true }
            }
        }
        head.keepAlive = keep
    }

    private static func applyTransferEncoding(_ head: RequestHead) throws(RequestFailure) {
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

    private static func contentLength(_ head: RequestHead) throws(RequestFailure) -> RequestHead.Framing {
        let values = head.values("content-length")
        guard let first = values.first, values.allSatisfy({ $0 == first }) else {
            throw .bad("There are several Content-Length fields that differ.")
        }
        guard !first.isEmpty, first.allSatisfy({ $0 >= 48 && $0 <= 57 }) else {
            throw .bad("The Content-Length is not a number.")
        }
        guard let length = decimalDigits(first) else { throw .bodyTooLarge }
        return length == 0 ? .none : .length(length)
    }
}
