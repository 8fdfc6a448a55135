import Dispatch
import PushSim
import PushSimJSONText
import PushSimSimulation
import PushSimWire
import Synchronization

/// `pushsim push`: a push through a running server.
enum PushVerb {
    static func run(_ arguments: Arguments) throws {
        guard arguments.rest.count == 1, arguments.rest[0] == "ntm" else {
            throw UsageError(message: "Say which backend sends it: push ntm.", verb: "push")
        }
        guard let topic = arguments.last("topic") else {
            throw UsageError(message: "--topic is missing.", verb: "push")
        }
        var body: JSON = ["topic": .string(topic), "type": .string(arguments.last("type") ?? "notify")]
        if let userdata = arguments.last("userdata") { body.set("userdata", .string(userdata)) }
        let response = try send("/__pushsim/ntm/notifications", body, arguments.last("url") ?? "http://127.0.0.1:8025")
        let answer = (try? JSONDocument(response.body)).map { JSON($0.root) } ?? .null
        guard response.status == 202 else {
            throw Finding(message: answer["error"]?["message"]?.string ?? "the server answered \(response.status)")
        }
        if arguments.has("json") { return Files.out(response.body.text) }
        let deliveries = answer["deliveries"]?.elements ?? []
        Files.out("\(deliveries.count) deliveries\n")
        for delivery in deliveries {
            let words = ["id", "transport", "subscriber", "outcome"].compactMap { delivery[$0]?.string }
            Files.out("  " + words.joined(separator: "  ") + "\n")
        }
    }

    private static func send(_ path: String, _ body: JSON, _ url: String) throws -> Response {
        let (host, port) = try address(url)
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
    private static func address(_ url: String) throws(UsageError) -> (String, Int) {
        let wrong = UsageError(
            message: "--url takes http:// with an address of loopback and a port, not \"\(url)\".", verb: "push")
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
