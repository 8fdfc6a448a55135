import CPushSimSystem

/// An HTTP answer before it becomes bytes.
package struct Response: Sendable {
    package var status: Int
    /// The text after the status; nil takes the usual one.
    package var reason: [UInt8]?
    package var fields: [HeaderField]
    package var body: [UInt8]

    package init(status: Int, reason: [UInt8]? = nil, fields: [HeaderField] = [], body: [UInt8] = []) {
        self.status = status
        self.reason = reason
        self.fields = fields
        self.body = body
    }

    /// Whether the status allows a body (RFC 9110 section 6.4.1).
    package var mayHaveBody: Bool { status >= 200 && status != 204 && status != 304 }

    /// The status line with its CR LF.
    package var startLine: [UInt8] { Self.statusLine(status, reason) }

    /// The message, with a Content-Length where the status allows a body (RFC 9110 section 8.6).
    /// - Parameters:
    ///   - isHead: answers HEAD: the length of the body stands, the body does not.
    ///   - isOpen: the body ends with the connection, so that it has no length.
    package func bytes(isHead: Bool = false, isOpen: Bool = false) -> [UInt8] {
        let line = Self.statusLine(status, reason)
        let hasNoBody = !mayHaveBody
        let digits = hasNoBody || isOpen ? 0 : Self.digitCount(body.count)
        let size = line.count + 2 + (digits > 0 ? digits + 18 : 0) + Self.size(fields, fields.count)
        let sentBody = hasNoBody || isHead ? 0 : body.count
        var out = [UInt8](zeros: size + sentBody)
        write(line, digits, hasBody: sentBody > 0, &out)
        return out
    }

    /// Over the memory itself, which is fast in debug builds too.
    private static func size(_ fields: UnsafePointer<HeaderField>, _ count: Int) -> Int {
        var size = 0
        var index = 0
        while index < count {
            size += fields[index].name.count + fields[index].value.count + 4
            index += 1
        }
        return size
    }

    private static func write(
        _ fields: UnsafePointer<HeaderField>, _ count: Int, _ target: UnsafeMutablePointer<UInt8>
    ) -> UnsafeMutablePointer<UInt8> {
        var next = target
        var index = 0
        while index < count {
            next = write(fields[index].name, ": ", next)
            next = write(fields[index].value, "\r\n", next)
            index += 1
        }
        return next
    }

    /// Writes the bytes and two more.
    private static func write(
        _ bytes: borrowing [UInt8], _ behind: StaticString, _ target: UnsafeMutablePointer<UInt8>
    ) -> UnsafeMutablePointer<UInt8> {
        bytes.withUnsafeBufferPointer { bytes in
            pushsim_write_with(target, bytes.baseAddress, bytes.count, behind.utf8Start)
        }
    }

    /// - Parameter digits: of the Content-Length; 0 where there is none.
    private func write(_ line: [UInt8], _ digits: Int, hasBody: Bool, _ target: UnsafeMutablePointer<UInt8>) {
        memcpy(target, line, line.count)
        var next = Self.write(fields, fields.count, target + line.count)
        if digits > 0 {
            let name: StaticString = "Content-Length: "
            memcpy(next, name.utf8Start, name.utf8CodeUnitCount)
            next += name.utf8CodeUnitCount
            var rest = body.count
            var index = digits
            while index > 0 {
                index -= 1
                next[index] = UInt8(48 + rest % 10)
                rest /= 10
            }
            next += digits
            (next[0], next[1]) = (Byte.carriageReturn, Byte.lineFeed)
            next += 2
        }
        (next[0], next[1]) = (Byte.carriageReturn, Byte.lineFeed)
        if hasBody { memcpy(next + 2, body, body.count) }
    }

    private static func digitCount(_ number: Int) -> Int {
        var count = 1
        var rest = number / 10
        while rest > 0 {
            count += 1
            rest /= 10
        }
        return count
    }

    private static func statusLine(_ status: Int, _ reason: [UInt8]?) -> [UInt8] {
        if status == 200, reason == nil { return ok }
        var line = Array<UInt8>("HTTP/1.1 ")
        line.appendDecimal(status, width: 3)
        line.append(Byte.space)
        line += reason ?? Array(StatusText.reason(status).utf8)
        line += [Byte.carriageReturn, Byte.lineFeed]
        return line
    }

    private static let ok = Array<UInt8>("HTTP/1.1 200 OK\r\n")
}

/// The usual texts of status codes.
package enum StatusText {
    package static func reason(_ status: Int) -> String { texts[status] ?? "Status \(status)" }

    private static let texts: [Int: String] = [
        100: "Continue", 101: "Switching Protocols", 103: "Early Hints", 200: "OK", 201: "Created", 202: "Accepted",
        203: "Non-Authoritative Information", 204: "No Content", 205: "Reset Content", 206: "Partial Content",
        300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
        307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized",
        402: "Payment Required", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable",
        407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict", 410: "Gone",
        411: "Length Required", 412: "Precondition Failed", 413: "Content Too Large", 414: "URI Too Long",
        415: "Unsupported Media Type", 416: "Range Not Satisfiable", 417: "Expectation Failed",
        421: "Misdirected Request", 422: "Unprocessable Content", 425: "Too Early", 426: "Upgrade Required",
        428: "Precondition Required", 429: "Too Many Requests", 431: "Request Header Fields Too Large",
        451: "Unavailable For Legal Reasons", 452: "Storage Read Failed", 453: "Storage Write Failed",
        454: "Storage Delete Failed", 455: "Storage Field Failed", 500: "Internal Server Error",
        501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
        505: "HTTP Version Not Supported", 507: "Insufficient Storage", 511: "Network Authentication Required",
    ]
}
