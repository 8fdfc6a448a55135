import PushSimTestSupport
import PushSimWire
import Synchronization
import Testing

/// Answers `GET /n` with n octets, `GET /rn` with a RST behind them, `GET /p` in pieces of all sizes, and counts what arrived and how it ended.
private final class Large: RequestHandler {
    struct Counts {
        var arrived = 0
        var endings: [Ending] = []
    }

    let limits = ServerLimits()
    private let state = Mutex(Counts())

    static let pieces = (0..<1000).map { number in
        [UInt8](repeating: UInt8(number % 251), count: number % 100 == 7 ? 300_000 : [1, 0, 300, 9000][number % 4])
    }

    var counts: Counts { state.withLock { $0 } }

    func headArrived(_ exchange: Exchange) {}

    func requestArrived(_ exchange: Exchange) {
        state.withLock { $0.arrived += 1 }
        let head = exchange.request.head
        let name = head.text(head.path).dropFirst()
        if name == "p" {
            exchange.finish(WireScript(Self.pieces.map { .bytes($0) }, end: .fin))
            return
        }
        let breaks = name.hasPrefix("r")
        let body = [UInt8](repeating: 120, count: Int(breaks ? name.dropFirst() : name) ?? 0)
        exchange.finish(WireScript(Response(status: 200, body: body).bytes(), end: breaks ? .rst : .keep))
    }

    func exchangeEnded(_ exchange: Exchange, _ ending: Ending) { state.withLock { $0.endings.append(ending) } }

    func answer(to failure: RequestFailure, _ exchange: Exchange?) -> [UInt8] {
        Response(status: failure.status).bytes()
    }
}

private func requests(_ count: Int, of size: Int) -> String {
    String(repeating: "GET /\(size) HTTP/1.1\r\nHost: a\r\n\r\n", count: count)
}

private let head = "HTTP/1.1 200 OK\r\nContent-Length: "

@Suite("Clients that send and do not read, or have said all (DESIGN.md, \"Clients that leave\")")
struct BackpressureTests {
    @Test("A client that half-closes gets an answer that is larger than any buffer", arguments: PollerKind.available)
    func largeAnswer(_ kind: PollerKind) async throws {
        let handler = Large()
        try await withServer(kind, handler) { port, _ in
            let client = try RawClient(port: port)
            try await client.send(requests(1, of: 16_000_000))
            client.finishSending()
            let received = try await client.receive()
            #expect(received.bytes.count == head.utf8.count + 8 + 4 + 16_000_000 && received.close == .fin)
            try await eventually { handler.counts.endings.count == 1 }
            #expect(handler.counts.endings != [.clientLeft])
        }
    }

    @Test("Pieces of all sizes come whole and in their order", arguments: PollerKind.available)
    func pieces(_ kind: PollerKind) async throws {
        try await withServer(kind, Large()) { port, _ in
            let client = try RawClient(port: port)
            try await client.send("GET /p HTTP/1.1\r\nHost: a\r\n\r\n")
            let received = try await client.receive()
            var wanted: [UInt8] = []
            for piece in Large.pieces { wanted += piece }
            #expect(received.bytes.isSame(as: wanted) && received.close == .fin)
        }
    }

    @Test(
        "All that was asked for before a half-close is answered, and each exchange ends",
        arguments: PollerKind.available)
    func pipelinedHalfClose(_ kind: PollerKind) async throws {
        let handler = Large()
        try await withServer(kind, handler) { port, _ in
            let client = try RawClient(port: port)
            async let received = client.receive()
            for _ in 0..<20 { try await client.send(requests(1000, of: 300)) }
            // A request that is not whole gets no answer.
            try await client.send("GET /1 HTT")
            client.finishSending()
            let answers = try await received
            #expect(answers.bytes.count == 20_000 * (head.utf8.count + 3 + 4 + 300) && answers.close == .fin)
            try await eventually { handler.counts.endings.count == 20_000 }
            #expect(handler.counts.arrived == 20_000)
        }
    }

    @Test(
        "Requests wait while the answers before them are not read, and are answered once they are",
        arguments: PollerKind.available)
    func waits(_ kind: PollerKind) async throws {
        let handler = Large()
        try await withServer(kind, handler) { port, _ in
            let client = try RawClient(port: port)
            try await client.send(requests(100, of: 1_000_000))
            // Once another is answered, the loop has seen them.
            try await eventually { handler.counts.arrived > 0 }
            #expect(try await call(port: port, "GET", "/1").status == 200)
            #expect(handler.counts.arrived < 50, "what the system's buffers hold, and one more")
            let whole = 100 * (head.utf8.count + 7 + 4 + 1_000_000)
            #expect(try await client.receive(count: whole).count == whole)
            try await eventually { handler.counts.endings.count == 101 }
            // The connection goes on.
            try await client.send(requests(1, of: 5))
            #expect(try await client.answer().body.count == 5)
        }
    }

    @Test(
        "A RST comes behind all that was to come before it, and in the end without a reader",
        arguments: PollerKind.available)
    func lateReset(_ kind: PollerKind) async throws {
        let handler = Large()
        try await withServer(kind, handler) { port, _ in
            let client = try RawClient(port: port)
            try await client.send("GET /r16000000 HTTP/1.1\r\nHost: a\r\n\r\n")
            let received = try await client.receive()
            #expect(received.bytes.count == head.utf8.count + 8 + 4 + 16_000_000 && received.close == .reset)
            try await eventually { handler.counts.endings == [.reset] }
        }
    }

    @Test("A client that never reads and leaves is forgotten, its exchanges ended", arguments: PollerKind.available)
    func leaves(_ kind: PollerKind) async throws {
        let handler = Large()
        try await withServer(kind, handler) { port, listener in
            var client: RawClient? = try RawClient(port: port)
            try await client?.send(requests(100, of: 1_000_000))
            try await eventually { handler.counts.arrived > 0 }
            client?.vanish()
            client = nil
            try await eventually { handler.counts.endings.last == .clientLeft }
            try await eventually { handler.counts.endings.count == handler.counts.arrived }
            #expect(handler.counts.arrived < 100)
            try await eventually {
                await withCheckedContinuation { continuation in
                    listener.connectionCount { continuation.resume(returning: $0 == 0) }
                }
            }
        }
    }
}
