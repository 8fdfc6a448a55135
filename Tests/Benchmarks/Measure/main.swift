import CPushSimBenchmarkLoop
import CPushSimSystem
import Foundation
import PushSim
import PushSimWebPush
import PushSimWire

// Speed in process. Each figure stands beside what it is to be compared with, measured in the same run.

func cpuNanoseconds() -> Double { Double(clock()) * 1e9 / Double(CLOCKS_PER_SEC) }

/// CPU microseconds of one turn: the median of five runs.
func cost(_ times: Int, _ body: (Int) -> Void) -> Double {
    let runs = (0..<5).map { _ in
        let before = cpuNanoseconds()
        body(times)
        return (cpuNanoseconds() - before) / 1000 / Double(times)
    }
    return runs.sorted()[2]
}

func milliseconds(_ body: () async throws -> Void) async rethrows -> Double {
    let before = pushsim_monotonic_clock()
    try await body()
    return Double(pushsim_monotonic_clock() - before) / 1e6
}

func say(_ text: String) { print(text) }

func records() throws {
    guard let device = KeyPair(scalar: [UInt8](repeating: 7, count: 32)) else { return }
    let receiver = try ReceiverKeys(publicKey: device.publicKey, authSecret: [UInt8](repeating: 1, count: 16))
    let text = [UInt8](repeating: 65, count: 987)
    var number: UInt64 = 0
    let own = cost(5000) { times in
        for _ in 0..<times {
            number += 1
            var scalar = [UInt8](repeating: 9, count: 32)
            withUnsafeBytes(of: number) { scalar.replaceSubrange(8..<16, with: $0) }
            guard let sender = KeyPair(scalar: scalar) else { continue }
            _ = Record.encrypt(
                text, to: receiver, sender: sender, salt: Array(scalar.prefix(16)), padding: .to(2816))
        }
    }
    let loop = cost(5000) { _ = pushsim_loop_multiply(Int32($0)) }
    say(
        String(
            format: "a record: %.1f us of CPU; the two multiplications in C: %.1f us; ratio %.2f", own, loop, loop / own
        ))
}

func starts() async throws {
    var servers: [Double] = []
    for _ in 0..<200 {
        servers.append(
            try await milliseconds {
                let sim = try await PushSim.start()
                await sim.stop()
            })
    }
    let sim = try await PushSim.start()
    var scopes: [Double] = []
    for number in 0..<200 {
        let call = Array("GET /v1/subscriber/x HTTP/1.1\r\nHost: localhost\r\nX-PushSim-Scope: s\(number)\r\n\r\n".utf8)
        let reset = Array(
            "POST /__pushsim/reset HTTP/1.1\r\nHost: localhost\r\nX-PushSim-Scope: s\(number)\r\n\r\n".utf8)
        scopes.append(
            try await milliseconds {
                _ = try await sim.respond(to: call)
                _ = try await sim.respond(to: reset)
            })
    }
    await sim.stop()
    say(
        String(
            format: "a server in process, started and stopped: %.2f ms; a scope, first call and reset: %.3f ms",
            servers.sorted()[100], scopes.sorted()[100]))
}

func memory() -> Int {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return pages * 4096
}

func fleet() async throws {
    let count = 10_000
    let sim = try await PushSim.start(options: ["fluxer.rateLimits": "off", "journal.bytes": "0"])
    let key = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    func register(_ number: Int) async throws {
        let body =
            #"{"platform":"android_unified_push","token":"https://push.pushsim.example/push/\#(number)","encryption_key":"\#(key)","auth_secret":"BTBZMqHH6r4Tts7J_aSIgg"}"#
        let head =
            "POST /v1/users/@me/mobile-devices HTTP/1.1\r\nHost: localhost\r\nAuthorization: alice\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
        _ = try await sim.respond(to: Array((head + body).utf8))
    }
    for number in 0..<100 { try await register(number) }
    let before = memory()
    for number in 100..<(count + 100) { try await register(number) }
    let each = (memory() - before) / count
    let cpu = cpuNanoseconds()
    let time = try await milliseconds {
        _ = try await sim.fluxer.notify(channel: "42", title: "Hi", body: "there")
    }
    say(
        String(
            format: "%d devices: %d bytes a registration; a notification in all inboxes after %.2f s (%.2f s of CPU)",
            count, each, time / 1000, (cpuNanoseconds() - cpu) / 1e9))
    await sim.stop()
}

try records()
try await starts()
try await fleet()
