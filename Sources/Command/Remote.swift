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
        (host, port) = try Self.address(url, verb)
    }

    func post(_ path: String, _ body: JSON) throws -> Response {
        let loop = try EventLoop.start()
        let call = HTTPClient.Call(
            host: host, port: port, method: "POST", target: path,
            fields: [HeaderField("Content-Type", "application/json")], body: body.bytes)
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

    /// Loopback only: nothing leaves the machine.
    private static func address(_ url: String, _ verb: String) throws(UsageError) -> (String, Int) {
        let wrong = UsageError(
            message: "--url takes http:// with an address of loopback and a port, not \"\(url)\".", verb: verb)
        guard url.hasPrefix("http://") else { throw wrong }
        let authority = url.dropFirst(7).prefix { $0 != "/" }
        guard let colon = authority.lastIndex(of: ":"),
            let port = decimalDigits(authority[authority.index(after: colon)...].utf8)
        else { throw wrong }
        var host = String(authority[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        guard host == "localhost" || host == "::1" || host.hasPrefix("127.") else { throw wrong }
        return (host, port)
    }
}
