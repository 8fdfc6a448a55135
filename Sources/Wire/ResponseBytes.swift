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
    package var mayHaveBody: Bool { Self.mayHaveBody(status) }

    private static func mayHaveBody(_ status: Int) -> Bool { status >= 200 && status != 204 && status != 304 }

    /// The status line with its CR LF.
    package var startLine: [UInt8] { Self.statusLine(status, reason) }

    /// The message, with a Content-Length where the status allows a body (RFC 9110 section 8.6).
    /// - Parameters:
    ///   - isHead: answers HEAD: the length of the body stands, the body does not.
    ///   - isOpen: the body ends with the connection, so that it has no length.
    package func bytes(isHead: Bool = false, isOpen: Bool = false) -> [UInt8] {
        let line = Self.statusLine(status, reason)
        let length = body.count
        let hasBody = Self.mayHaveBody(status)
        let digits = hasBody && !isOpen ? Self.digitCount(length) : 0
        let sent = hasBody && !isHead ? length : 0
        let size = line.count + 2 + (digits > 0 ? digits + 18 : 0)
        return fields.withUnsafeBufferPointer { fields in
            var out = [UInt8](zeros: size + sent + Self.size(fields))
            out.withUnsafeMutableBufferPointer { out in
                guard let target = out.baseAddress else { return }
                var next = Self.write(line, target)
                next = Self.write(fields, next)
                next = Self.writeLength(length, digits, next)
                if sent > 0 { _ = Self.write(body, next) }
            }
            return out
        }
    }

    private static func size(_ fields: UnsafeBufferPointer<HeaderField>) -> Int {
        guard let start = fields.baseAddress else { return 0 }
        var size = 0
        var index = 0
        while index < fields.count {
            size += start[index].name.count + start[index].value.count + 4
            index += 1
        }
        return size
    }

    private static func write(
        _ fields: UnsafeBufferPointer<HeaderField>, _ target: UnsafeMutablePointer<UInt8>
    ) -> UnsafeMutablePointer<UInt8> {
        guard let start = fields.baseAddress else { return target }
        var next = target
        var index = 0
        while index < fields.count {
            next = write(start[index].name, next)
            (next[0], next[1]) = (Byte.colon, Byte.space)
            next = write(start[index].value, next + 2)
            (next[0], next[1]) = (Byte.carriageReturn, Byte.lineFeed)
            next += 2
            index += 1
        }
        return next
    }

    /// The Content-Length and the empty line.
    /// - Parameter digits: of the Content-Length; 0 where there is none.
    private static func writeLength(
        _ length: Int, _ digits: Int, _ target: UnsafeMutablePointer<UInt8>
    ) -> UnsafeMutablePointer<UInt8> {
        var next = target
        if digits > 0 {
            let name: StaticString = "Content-Length: "
            memcpy(next, name.utf8Start, name.utf8CodeUnitCount)
            next += name.utf8CodeUnitCount
            var rest = length
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
        return next + 2
    }

    private static func write(
        _ bytes: borrowing [UInt8], _ target: UnsafeMutablePointer<UInt8>
    ) -> UnsafeMutablePointer<UInt8> {
        bytes.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress { memcpy(target, start, bytes.count) }
            return target + bytes.count
        }
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

extension Response {
    /// Where the head of a message ends. Interim answers before the final one belong to its head.
    package static func headEnd(_ bytes: [UInt8]) -> Int {
        var start = 0
        while true {
            let end = headEnd(bytes, from: start)
            let isInterim = end < bytes.count && bytes[start...].starts(with: "HTTP/1.1 1".utf8)
            if !isInterim { return end }
            start = end
        }
    }

    private static func headEnd(_ bytes: [UInt8], from start: Int) -> Int {
        var index = start + 3
        while index < bytes.count {
            if bytes[index] == 10, bytes[index - 1] == 13, bytes[index - 2] == 10, bytes[index - 3] == 13 {
                return index + 1
            }
            index += 1
        }
        return bytes.count
    }
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
