import CPushSimSystem
import Dispatch
package import PushSimWire

/// A plain socket on threads of its own: it says which bytes came and how the connection ended.
package final class RawClient: Sendable {
    package enum Close: String, Sendable {
        /// The peer's FIN.
        case fin
        /// The peer's RST.
        case reset
        /// Nothing more within the time given.
        case open
    }

    package struct Received: Sendable {
        package let bytes: [UInt8]
        package let close: Close

        package var text: String { String(decoding: bytes, as: UTF8.self) }
        package var status: Int? { bytes.count > 12 ? Int(String(decoding: bytes[9..<12], as: UTF8.self)) : nil }
    }

    private let descriptor: Int32
    private static let queue = DispatchQueue(label: "raw clients", attributes: .concurrent)

    package init(port: Int) throws {
        descriptor = pushsim_connect("127.0.0.1", UInt16(port))
        if descriptor < 0 { throw SystemError("connect", descriptor) }
    }

    deinit { _ = pushsim_close(descriptor) }

    package func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    package func send(_ bytes: [UInt8]) async throws {
        try await onThread { [descriptor] in
            var sent = 0
            while sent < bytes.count {
                var watch = pushsim_watch(fd: descriptor, wanted: UInt32(PUSHSIM_WRITABLE), ready: 0)
                guard pushsim_poll(&watch, 1, 5000) > 0 else { throw SystemError("send", 110) }
                let count = bytes.withUnsafeBytes { raw in
                    pushsim_send(descriptor, raw.baseAddress.map { $0 + sent }, raw.count - sent)
                }
                if count < 0 { throw SystemError("send", count) }
                sent += Int(count)
            }
        }
    }

    /// Breaks the connection, as a client that crashes behind a lost network does.
    package func vanish() { _ = pushsim_linger_none(descriptor) }

    package func finishSending() { _ = pushsim_shutdown_write(descriptor) }

    /// Reads to the end of the connection, or for so many milliseconds without a byte.
    /// - Parameters:
    ///   - first: how long to wait for the first byte: short only where none is to come.
    ///   - patience: how long to wait for the next.
    package func receive(first: Int32 = 5000, patience: Int32 = 5000) async throws -> Received {
        try await onThread { [descriptor] in
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                var watch = pushsim_watch(fd: descriptor, wanted: UInt32(PUSHSIM_READABLE), ready: 0)
                guard pushsim_poll(&watch, 1, bytes.isEmpty ? first : patience) > 0 else {
                    return Received(bytes: bytes, close: .open)
                }
                let count = pushsim_receive(descriptor, &buffer, buffer.count)
                if count == 0 { return Received(bytes: bytes, close: .fin) }
                if count < 0 { return Received(bytes: bytes, close: .reset) }
                bytes += buffer[..<Int(count)]
            }
        }
    }

    /// Reads so many octets, or what came before the connection ended.
    package func receive(count: Int) async throws -> [UInt8] {
        try await onThread { [descriptor] in
            var bytes: [UInt8] = []
            while bytes.count < count {
                var watch = pushsim_watch(fd: descriptor, wanted: UInt32(PUSHSIM_READABLE), ready: 0)
                guard pushsim_poll(&watch, 1, 5000) > 0 else { throw SystemError("no answer", 110) }
                var buffer = [UInt8](repeating: 0, count: count - bytes.count)
                let received = pushsim_receive(descriptor, &buffer, buffer.count)
                if received <= 0 { break }
                bytes += buffer[..<Int(received)]
            }
            return bytes
        }
    }

    /// Reads one answer and leaves the connection open.
    package func answer() async throws -> Response {
        try await onThread { [descriptor] in
            var parser = ResponseParser()
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                var watch = pushsim_watch(fd: descriptor, wanted: UInt32(PUSHSIM_READABLE), ready: 0)
                guard pushsim_poll(&watch, 1, 5000) > 0 else { throw SystemError("no answer", 110) }
                let count = pushsim_receive(descriptor, &buffer, buffer.count)
                if count < 0 { throw SystemError("recv", count) }
                if count == 0 { return try parser.finish() }
                if let response = try buffer[..<Int(count)].withUnsafeBytes({ try parser.receive($0) }) {
                    return response
                }
            }
        }
    }

    private func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Self.queue.async { continuation.resume(with: Result(catching: body)) }
        }
    }
}

/// One request on a connection of its own.
package func call(
    port: Int, _ method: String, _ target: String, fields: [(String, String)] = [], body: String = ""
) async throws -> Response {
    let client = try RawClient(port: port)
    var text = "\(method) \(target) HTTP/1.1\r\nHost: localhost\r\n"
    for (name, value) in fields { text += "\(name): \(value)\r\n" }
    if !body.isEmpty { text += "Content-Length: \(body.utf8.count)\r\n" }
    try await client.send(text + "\r\n" + body)
    return try await client.answer()
}

/// Waits until something holds that other threads bring about; fails after five seconds of real time.
package func eventually(_ holds: () async -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(5)
    while !(await holds()) {
        if ContinuousClock.now > end { throw SystemError("it never came to hold", 110) }
        await Task.yield()
    }
}
