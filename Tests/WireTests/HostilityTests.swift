import PushSimTestSupport
import PushSimWire
import Testing

private let good = [
    "POST /v1/subscriber HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde",
    "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nT: u\r\n\r\n",
    "GET http://a/b?c=d HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\nExpect: 100-continue\r\n\r\n",
]

private func mutated(_ generator: inout SeededGenerator) -> [UInt8] {
    var bytes = Array(good[Int.random(in: 0..<good.count, using: &generator)].utf8)
    for _ in 0..<Int.random(in: 1...4, using: &generator) {
        let place = Int.random(in: 0..<bytes.count, using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
        case 1: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: place)
        case 2: bytes.remove(at: place)
        default: bytes.insert(contentsOf: bytes[place...].prefix(8), at: place)
        }
    }
    return bytes
}

@Suite("Hostile and absent clients")
struct HostilityTests {
    @Test("2,000 seeded mutations leave the server answering, and no connection open", arguments: PollerKind.available)
    func mutations(_ kind: PollerKind) async throws {
        try await withServer(kind) { port, listener in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for lane in 0..<8 {
                    group.addTask {
                        var generator = SeededGenerator(state: UInt64(lane))
                        for _ in 0..<250 {
                            let client = try RawClient(port: port)
                            // A server that refuses early may close before all is sent.
                            try? await client.send(mutated(&generator))
                            client.finishSending()
                            #expect(try await client.receive().close != .open)
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await call(port: port, "GET", "/").status == 200)
            try await eventually { await connections(listener) == 0 }
        }
    }

    @Test("200 clients that stop or vanish in mid-request are forgotten", arguments: PollerKind.available)
    func vanishing(_ kind: PollerKind) async throws {
        try await withServer(kind) { port, listener in
            for number in 0..<200 {
                let client = try RawClient(port: port)
                let bytes = Array(good[number % good.count].utf8)
                try await client.send(Array(bytes.prefix(1 + number % (bytes.count - 1))))
                if number % 2 == 0 { client.vanish() }
            }
            #expect(try await call(port: port, "GET", "/").status == 200)
            try await eventually { await connections(listener) == 0 }
        }
    }

    private func connections(_ listener: Listener) async -> Int {
        await withCheckedContinuation { continuation in listener.connectionCount { continuation.resume(returning: $0) }
        }
    }
}
