import PushSimTestSupport
import PushSimWire
import Testing

/// What a parser has said of a stream of requests.
private enum Said: Equatable {
    case request(head: [UInt8], fields: Int, keepAlive: Bool, body: [UInt8], trailers: [HeaderField])
    case refused(Int)
}

/// Reads a stream that comes in pieces, as a connection does.
private func read(_ pieces: [[UInt8]], _ limits: (Int) -> ServerLimits = { _ in ServerLimits() }) -> [Said] {
    var parser = RequestParser()
    var pending: [UInt8] = []
    var said: [Said] = []
    for piece in pieces {
        pending += piece
        var isWaiting = false
        while !isWaiting {
            if !parser.isInside { parser.limits = limits(said.count) }
            var used = 0
            let step = pending.withUnsafeBytes { parser.advance($0, consumed: &used) }
            pending.removeFirst(used)
            switch step {
            case .needMore: isWaiting = true
            case .head: break
            case .complete:
                guard let request = parser.take() else { return said }
                let head = request.head
                said.append(
                    .request(
                        head: head.bytes, fields: head.fields.count, keepAlive: head.keepAlive, body: request.body,
                        trailers: request.trailers))
            case .failed(let failure): return said + [.refused(failure.status)]
            }
        }
    }
    return said
}

private let requests = [
    "POST /v1/subscriber HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde",
    "POST /v1/subscriber HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nvwxyz",
    "POST /v1/subscriber HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nX: y\r\n\r\nvwxyz",
    "POST /v1/subscriber HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nvwxyz!",
    "GET /v1/subscriber HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /v1/subscriber HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    "PUT /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nT: u\r\n\r\n",
    "\r\nGET /v1/subscriber HTTP/1.1\r\nHost: a\r\n\r\n",
].map { Array($0.utf8) }

@Suite("The request parser, without sockets (control-api.md, the HTTP server itself)")
struct RequestParserTests {
    @Test("A request is read the same whatever came before it on the connection, and however it is cut")
    func independence() {
        var generator = SeededGenerator(state: 7)
        for _ in 0..<400 {
            let order = (0..<12).map { _ in requests[Int.random(in: 0..<requests.count, using: &generator)] }
            let stream = order.flatMap { $0 }
            var pieces: [[UInt8]] = []
            var start = 0
            while start < stream.count {
                let end = min(stream.count, start + Int.random(in: 1...120, using: &generator))
                pieces.append(Array(stream[start..<end]))
                start = end
            }
            #expect(read(pieces) == order.flatMap { read([$0]) })
            #expect(read(order) == order.flatMap { read([$0]) })
        }
    }

    @Test("A head that was taken is refused once the limits have become too small for it")
    func limits() {
        let request = requests[2]
        var small = [ServerLimits(), ServerLimits(), ServerLimits()]
        small[0].head = 40
        small[1].fields = 2
        small[2].body = 4
        for (limits, status) in zip(small, [431, 431, 413]) {
            let said = read([request, request, request]) { $0 < 2 ? ServerLimits() : limits }
            #expect(said.count == 3)
            #expect(said.last == .refused(status))
        }
    }
}
