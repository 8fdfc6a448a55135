import CPushSimSystem

/// Takes one answer out of a stream of bytes: framing as RFC 9112 section 6.3 has it for a client.
package struct ResponseParser: Sendable {
    package enum Failure: Error, Hashable, Sendable {
        case malformed(String)
        case cutShort
        case tooLarge
    }

    private var buffer: [UInt8] = []
    private let isHead: Bool
    private let limit: Int

    package init(isHead: Bool = false, limit: Int = 64 << 20) {
        self.isHead = isHead
        self.limit = limit
    }

    /// How many bytes of an answer have come.
    package var received: Int { buffer.count }

    /// Takes more bytes; answers the response once it is whole.
    package mutating func receive(_ bytes: UnsafeRawBufferPointer) throws(Failure) -> Response? {
        buffer.append(contentsOf: bytes)
        if buffer.count > limit { throw .tooLarge }
        return try parse(isEnd: false)
    }

    /// The peer has closed: what ends with the connection is whole now.
    package mutating func finish() throws(Failure) -> Response {
        guard let response = try parse(isEnd: true) else { throw .cutShort }
        return response
    }

    private mutating func parse(isEnd: Bool) throws(Failure) -> Response? {
        while true {
            guard let headEnd = Self.headEnd(buffer) else { return nil }
            let (status, reason, fields) = try Self.head(buffer[..<headEnd])
            if status < 200, status != 101 {
                buffer.removeFirst(headEnd)
                continue
            }
            let rest = buffer[headEnd...]
            var response = Response(status: status, reason: reason, fields: fields)
            if isHead || status == 204 || status == 304 { return response }
            if fields.first("transfer-encoding").map({ $0.equalsIgnoringCase(Array("chunked")) }) == true {
                guard let body = try Self.chunked(rest) else { return nil }
                response.body = body
                return response
            }
            if let text = fields.first("content-length") {
                guard let length = decimalDigits(text) else { throw .malformed("Content-Length") }
                guard rest.count >= length else { return nil }
                response.body = Array(rest.prefix(length))
                return response
            }
            guard isEnd else { return nil }
            response.body = Array(rest)
            return response
        }
    }

    private static func headEnd(_ bytes: [UInt8]) -> Int? {
        var index = 3
        while index < bytes.count {
            if bytes[index] == 10, bytes[index - 1] == 13, bytes[index - 2] == 10, bytes[index - 3] == 13 {
                return index + 1
            }
            index += 1
        }
        return nil
    }

    private static func head(
        _ bytes: ArraySlice<UInt8>
    ) throws(Failure) -> (status: Int, reason: [UInt8], fields: [HeaderField]) {
        var lines = bytes.split(separator: Byte.lineFeed).map { Array($0.last == 13 ? $0.dropLast() : $0) }
        lines.removeAll { $0.isEmpty }
        guard let first = lines.first, first.starts(with: "HTTP/1."), first.count >= 12,
            let status = decimalDigits(first[9..<12])
        else { throw .malformed("status line") }
        var fields: [HeaderField] = []
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: Byte.colon) else { throw .malformed("header field") }
            fields.append(HeaderField(Array(line[..<colon]), Array(line[(colon + 1)...]).trimmed))
        }
        return (status, Array(first.dropFirst(13)), fields)
    }

    private static func chunked(_ bytes: ArraySlice<UInt8>) throws(Failure) -> [UInt8]? {
        var body: [UInt8] = []
        var index = bytes.startIndex
        while true {
            guard let lineEnd = bytes[index...].firstIndex(of: Byte.lineFeed) else { return nil }
            let text = bytes[index..<lineEnd].prefix { Byte.hexValue($0) != nil }
            guard !text.isEmpty, text.count < 16 else { throw .malformed("chunk size") }
            let size = text.reduce(0) { $0 << 4 | Int(Byte.hexValue($1) ?? 0) }
            index = lineEnd + 1
            if size == 0 {
                guard let end = bytes[index...].firstIndex(of: Byte.lineFeed) else { return nil }
                return end - index <= 1 || bytes.suffix(4).elementsEqual([13, 10, 13, 10]) ? body : nil
            }
            guard bytes.endIndex - index >= size + 2 else { return nil }
            body += bytes[index..<(index + size)]
            index += size
            guard bytes[index] == 13, bytes[index + 1] == 10 else { throw .malformed("chunk end") }
            index += 2
        }
    }
}
