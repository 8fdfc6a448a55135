import Dispatch
import PushSimJSONText
import PushSimWire
import Synchronization

/// A running server that a verb talks to.
struct Remote {
    private let url: String
    private let host: String
    private let port: Int
    /// `/__scope/<name>`, or nothing.
    private let basePath: String
    private let controlToken: String?

    init(_ arguments: Arguments, verb: String) throws(UsageError) {
        url = arguments.last("url") ?? "http://127.0.0.1:8025"
        guard let (host, port, path) = Self.address(url), let basePath = Self.scope(path) else {
            throw UsageError(
                message: "--url takes http:// with an address of loopback, a port and at most /__scope/<name>, "
                    + "not \"\(url)\".", verb: verb)
        }
        self.host = host
        self.port = port
        self.basePath = basePath
        controlToken = arguments.last("control-token")
    }

    func post(_ path: String, _ body: JSON) throws -> Response { try send("POST", path, body.bytes) }

    func get(_ path: String) throws -> Response { try send("GET", path, []) }

    private func send(_ method: String, _ path: String, _ body: [UInt8]) throws -> Response {
        let loop = try EventLoop.start()
        var call = HTTPClient.Call(
            host: host, port: port, method: method, target: basePath + path,
            fields: [HeaderField("Content-Type", "application/json")], body: body)
        if let controlToken { call.fields.append(HeaderField("Authorization", "Bearer \(controlToken)")) }
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

    /// The parts of an http URL on loopback; nil for any other: nothing leaves the machine.
    static func address(_ url: String) -> (host: String, port: Int, path: String)? {
        guard url.hasPrefix("http://") else { return nil }
        let authority = url.dropFirst(7).prefix { $0 != "/" }
        guard let colon = authority.lastIndex(of: ":"),
            let port = decimalDigits(authority[authority.index(after: colon)...].utf8), (1...65_535).contains(port)
        else { return nil }
        var host = String(authority[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        guard host == "localhost" || host == "::1" || host.hasPrefix("127.") else { return nil }
        return (host, port, String(url.dropFirst(7 + authority.count)))
    }

    /// The base path of a scope; nil for any other path than that or none.
    private static func scope(_ path: String) -> String? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).drop { $0.isEmpty }
        if parts.isEmpty { return "" }
        guard parts.first == "__scope", parts.count == 2 || parts.count == 3 && parts.last?.isEmpty == true else {
            return nil
        }
        return "/__scope/\(parts[parts.startIndex + 1])"
    }
}

/// What a control call was refused for: the member's name is part of it.
extension Response {
    func problem(flags: [String: String] = [:]) -> String {
        let error = (try? JSONDocument(body)).map { JSON($0.root) }?["error"]
        guard let message = error?["message"]?.string else { return "the server answered \(status)" }
        guard let path = error?["path"]?.string, path != "$" else { return message }
        let member = path.hasPrefix("$.") ? String(path.dropFirst(2)) : path
        return "\(flags[member].map { "--\($0)" } ?? member) \(message)"
    }
}
