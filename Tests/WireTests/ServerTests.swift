import PushSimTestSupport
import PushSimWire
import Testing

struct Row: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: String
    let status: Int
    var testDescription: String { name }

    init(_ name: String, _ bytes: String, _ status: Int) {
        self.name = name
        self.bytes = bytes
        self.status = status
    }
}

private let host = "Host: a\r\n"

/// control-api.md, "The HTTP server itself": what is refused, and with which status.
private let refused: [Row] = [
    Row("no Host", "GET / HTTP/1.1\r\n\r\n", 400),
    Row("two Hosts", "GET / HTTP/1.1\r\n\(host)\(host)\r\n", 400),
    Row("a Host with a space", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
    Row("length and chunked", "POST / HTTP/1.1\r\n\(host)Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    Row("two lengths that differ", "POST / HTTP/1.1\r\n\(host)Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
    Row("a list of lengths", "POST / HTTP/1.1\r\n\(host)Content-Length: 1, 1\r\n\r\n", 400),
    Row("a length with a sign", "POST / HTTP/1.1\r\n\(host)Content-Length: +1\r\n\r\n", 400),
    Row("a negative length", "POST / HTTP/1.1\r\n\(host)Content-Length: -1\r\n\r\n", 400),
    Row("an empty length", "POST / HTTP/1.1\r\n\(host)Content-Length:\r\n\r\n", 400),
    Row("a hexadecimal length", "POST / HTTP/1.1\r\n\(host)Content-Length: 0x1\r\n\r\n", 400),
    Row("a length beyond all numbers", "POST / HTTP/1.1\r\n\(host)Content-Length: 99999999999999999999\r\n\r\n", 413),
    Row("a body over the limit", "POST / HTTP/1.1\r\n\(host)Content-Length: 16777217\r\n\r\n", 413),
    Row("a chunk size that is none", "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\nx\r\n", 400),
    Row("an empty chunk size", "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n\r\n", 400),
    Row(
        "a chunk size too large", "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
        400),
    Row("a chunk longer than its size", "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", 400),
    Row("a chunk over the limit", "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n1000001\r\n", 413),
    Row("a bare LF after a chunk size", "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n1\na\r\n", 400),
    Row(
        "a trailer with a space before its colon",
        "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n0\r\na : b\r\n\r\n", 400),
    Row("another coding", "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: gzip, chunked\r\n\r\n", 501),
    Row("chunked not last", "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked, gzip\r\n\r\n", 400),
    Row("chunked twice", "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked, chunked\r\n\r\n", 400),
    Row("chunked in HTTP/1.0", "POST / HTTP/1.0\r\n\(host)Transfer-Encoding: chunked\r\n\r\n", 400),
    Row("a bare LF in the head", "GET / HTTP/1.1\n\(host)\r\n", 400),
    Row("a bare LF after a field", "GET / HTTP/1.1\r\nHost: a\n\r\n", 400),
    Row("a bare CR in a value", "GET / HTTP/1.1\r\n\(host)A: b\rc\r\n\r\n", 400),
    Row("a NUL in a value", "GET / HTTP/1.1\r\n\(host)A: b\0c\r\n\r\n", 400),
    Row("a NUL in the target", "GET /\0 HTTP/1.1\r\n\(host)\r\n", 400),
    Row("a space before a colon", "GET / HTTP/1.1\r\n\(host)A : b\r\n\r\n", 400),
    Row("a folded field", "GET / HTTP/1.1\r\n\(host)A: b\r\n c\r\n\r\n", 400),
    Row("a field without a name", "GET / HTTP/1.1\r\n\(host): b\r\n\r\n", 400),
    Row("a field without a colon", "GET / HTTP/1.1\r\n\(host)A\r\n\r\n", 400),
    Row("two spaces in the request line", "GET  / HTTP/1.1\r\n\(host)\r\n", 400),
    Row("no version", "GET /\r\n\(host)\r\n", 400),
    Row("a version in lower case", "GET / http/1.1\r\n\(host)\r\n", 400),
    Row("HTTP/2", "GET / HTTP/2.0\r\n\(host)\r\n", 505),
    Row("a fragment", "GET /#a HTTP/1.1\r\n\(host)\r\n", 400),
    Row("a target that is no path", "GET a HTTP/1.1\r\n\(host)\r\n", 400),
    Row("an expectation nobody meets", "GET / HTTP/1.1\r\n\(host)Expect: coffee\r\n\r\n", 417),
    Row("257 fields", "GET / HTTP/1.1\r\n\(host)" + String(repeating: "A: b\r\n", count: 256) + "\r\n", 431),
    Row("a head over 64 KiB", "GET / HTTP/1.1\r\n\(host)A: " + String(repeating: "b", count: 65_536) + "\r\n\r\n", 431),
]

/// The same page: what is taken, with the whole answer's body.
private let taken: [(name: String, bytes: String, body: String)] = [
    ("a method of any case", "gEt / HTTP/1.1\r\n\(host)\r\n", "gEt / "),
    ("an unknown method", "BREW /pot HTTP/1.1\r\n\(host)\r\n", "BREW /pot "),
    ("an absolute target", "GET http://a/b?c HTTP/1.1\r\n\(host)\r\n", "GET /b "),
    ("a body with a length", "POST / HTTP/1.1\r\n\(host)Content-Length: 3\r\n\r\nabc", "POST / abc"),
    ("the same length twice", "POST / HTTP/1.1\r\n\(host)Content-Length: 1\r\nContent-Length: 1\r\n\r\na", "POST / a"),
    (
        "chunks with an extension and a trailer",
        "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n2;x=y\r\nab\r\n1\r\nc\r\n0\r\nT: v\r\n\r\n",
        "POST / abc"
    ),
    ("an empty line before the request", "\r\nGET / HTTP/1.1\r\n\(host)\r\n", "GET / "),
    ("a value with white space around it", "GET / HTTP/1.1\r\nHost: \t a \t\r\n\r\n", "GET / "),
]

@Suite("The HTTP server over real sockets (control-api.md, The HTTP server itself)")
struct ServerTests {
    @Test("Refuses what two servers could read in two ways, and closes", arguments: refused, PollerKind.available)
    func refuses(_ row: Row, _ kind: PollerKind) async throws {
        try await withServer(kind) { port, _ in
            let client = try RawClient(port: port)
            try await client.send(row.bytes)
            let received = try await client.receive()
            #expect(received.status == row.status)
            #expect(received.close == .fin)
        }
    }

    @Test("Takes what the standard allows, however the bytes are cut", arguments: PollerKind.available)
    func takes(_ kind: PollerKind) async throws {
        try await withServer(kind) { port, _ in
            for row in taken {
                for cut in [row.bytes.utf8.count, 1] {
                    let client = try RawClient(port: port)
                    var rest = Array(row.bytes.utf8)[...]
                    while !rest.isEmpty {
                        try await client.send(Array(rest.prefix(cut)))
                        rest = rest.dropFirst(cut)
                    }
                    let answer = try await client.answer()
                    #expect(answer.status == 200, "\(row.name)")
                    #expect(answer.body.text == row.body, "\(row.name)")
                }
            }
        }
    }

    @Test("Answers pipelined requests in their order, and a bad one last", arguments: PollerKind.available)
    func pipelines(_ kind: PollerKind) async throws {
        try await withServer(kind) { port, _ in
            let client = try RawClient(port: port)
            try await client.send("GET /1 HTTP/1.1\r\n\(host)\r\nGET /2 HTTP/1.1\r\n\(host)\r\nGET /3 HTTP/1.1\r\n\r\n")
            let received = try await client.receive()
            let answers = received.text.components(of: "HTTP/1.1 ")
            #expect(answers.map { $0.prefix(3) } == ["200", "200", "400"])
            #expect(answers[0].hasSuffix("GET /1 ") && answers[1].hasSuffix("GET /2 "))
            #expect(received.close == .fin)
        }
    }

    @Test("Says 100 only to a client that waits for it, and then takes the body", arguments: PollerKind.available)
    func continues(_ kind: PollerKind) async throws {
        try await withServer(kind) { port, _ in
            let client = try RawClient(port: port)
            try await client.send(
                "POST / HTTP/1.1\r\n\(host)Expect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n")
            try await client.send("ab")
            let text = try await client.receive().text
            #expect(text.hasPrefix("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"))
            #expect(text.hasSuffix("POST / ab"))
        }
    }

    @Test("Closes after HTTP/1.0 and after Connection: close", arguments: ["1.0\r\n", "1.1\r\nConnection: close\r\n"])
    func closes(_ version: String) async throws {
        try await withServer(.preferred) { port, _ in
            let client = try RawClient(port: port)
            try await client.send("GET / HTTP/\(version)\(host)\r\n")
            #expect(try await client.receive().close == .fin)
        }
    }

    @Test("Answers 408 to a request that does not arrive in time", arguments: PollerKind.available)
    func timesOut(_ kind: PollerKind) async throws {
        var limits = ServerLimits()
        limits.requestTime = 50_000_000
        try await withServer(kind, limits: limits) { port, _ in
            let client = try RawClient(port: port)
            try await client.send("GET / HTT")
            let received = try await client.receive()
            #expect(received.status == 408)
            #expect(received.close == .fin)
        }
    }

    @Test("Fifty servers started at once never share a port")
    func parallelStarts() async throws {
        let loop = try #require(EventLoop.shared)
        let listeners = try (0..<50).map { _ in
            try Listener(host: "127.0.0.1", port: 0, loops: [loop], handler: Echo(ServerLimits()))
        }
        #expect(Set(listeners.map(\.port)).count == 50)
        for listener in listeners {
            await withCheckedContinuation { continuation in listener.close { continuation.resume() } }
        }
    }
}

extension String {
    /// The parts that begin after each `separator`.
    fileprivate func components(of separator: String) -> [String] {
        var parts: [String] = []
        var rest = self[...]
        while let range = rest.firstRange(of: separator) {
            if !parts.isEmpty { parts[parts.count - 1] = String(rest[..<range.lowerBound]) }
            rest = rest[range.upperBound...]
            parts.append(String(rest))
        }
        return parts
    }
}
