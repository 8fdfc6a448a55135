import Dispatch
import PushSimJSONText
import PushSimWire
import Synchronization

/// A running server that a verb talks to.
struct Remote {
    private let url: String
    private let host: String
    private let port: Int

    init(_ arguments: Arguments, verb: String) throws(UsageError) {
        url = arguments.last("url") ?? "http://127.0.0.1:8025"
        guard let (host, port) = Self.address(url) else {
            throw UsageError(
                message: "--url takes http:// with an address of loopback and a port, not \"\(url)\".", verb: verb)
        }
        self.host = host
        self.port = port
    }

    func post(_ path: String, _ body: JSON) throws -> Response { try send("POST", path, body.bytes) }

    func get(_ path: String) throws -> Response { try send("GET", path, []) }

    private func send(_ method: String, _ path: String, _ body: [UInt8]) throws -> Response {
        let loop = try EventLoop.start()
        let call = HTTPClient.Call(
            host: host, port: port, method: method, target: path,
            fields: [HeaderField("Content-Type", "application/json")], body: body)
        let done = DispatchSemaphore(value: 0)
        let result = Mutex<Result<Response, HTTPClient.Failure>>(.failure(.timeout))
        let box = Box(result)
        HTTPClient.send(call, on: loop) { outcome in
            box.value.withLock { $0 = outcome }
            done.signal()
        }
        done.wait()
        switch box.value.withLock({ $0 }) {
        case .success(let response): return response
        case .failure(.refused): throw Finding(message: "nobody listens at \(url); start it with 'pushsim serve'")
        case .failure(let failure): throw Finding(message: "\(url): \(failure)")
        }
    }

    private final class Box: Sendable {
        let value: Mutex<Result<Response, HTTPClient.Failure>>
        init(_ value: consuming sending Mutex<Result<Response, HTTPClient.Failure>>) { self.value = value }
    }

    /// The host and port of an http URL on loopback; nil for any other: nothing leaves the machine.
    static func address(_ url: String) -> (host: String, port: Int)? {
        guard url.hasPrefix("http://") else { return nil }
        let authority = url.dropFirst(7).prefix { $0 != "/" }
        guard let colon = authority.lastIndex(of: ":"),
            let port = decimalDigits(authority[authority.index(after: colon)...].utf8), port < 65_536
        else { return nil }
        var host = String(authority[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        return host == "localhost" || host == "::1" || host.hasPrefix("127.") ? (host, port) : nil
    }
}
