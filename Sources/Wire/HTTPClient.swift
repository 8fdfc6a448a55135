import CPushSimSystem

/// A small client for plain http: one request, one connection, one answer.
package enum HTTPClient {
    package enum Failure: Error, Hashable, Sendable, CustomStringConvertible {
        case refused
        case timeout
        case reset
        case malformed(String)
        case dns
        case tls
        /// Nothing was sent.
        case unsent(String)

        /// In words, as the journal has it.
        package var description: String {
            switch self {
            case .refused: "refused"
            case .timeout: "timeout"
            case .reset: "reset"
            case .dns: "dns"
            case .tls: "tls"
            case .malformed(let what): "malformed: \(what)"
            case .unsent(let why): "unsent: \(why)"
            case .system(let error): error.description
            }
        }
        case system(SystemError)
    }

    package struct Call: Sendable {
        package var host: String
        package var port: Int
        package var method: String
        package var target: String
        package var fields: [HeaderField]
        package var body: [UInt8]
        /// Nanoseconds of real time.
        package var connectLimit: Int64 = 5_000_000_000
        package var wholeLimit: Int64 = 10_000_000_000
        /// What goes over the wire instead of the request as it should be; waits on a clock count as none.
        package var script: WireScript?

        package init(
            host: String, port: Int, method: String, target: String, fields: [HeaderField] = [], body: [UInt8] = []
        ) {
            self.host = host
            self.port = port
            self.method = method
            self.target = target
            self.fields = fields
            self.body = body
        }

        /// The request line with its CR LF.
        package var startLine: [UInt8] { Array("\(method) \(target) HTTP/1.1\r\n".utf8) }

        /// The fields as they are sent, without the length of the body.
        package var allFields: [HeaderField] {
            let authority = host.utf8.contains(Byte.colon) ? "[\(host)]:\(port)" : "\(host):\(port)"
            var all = fields
            if fields.first("host") == nil { all.insert(HeaderField("Host", authority), at: 0) }
            all.append(HeaderField("Connection", "close"))
            return all
        }

        var steps: WireScript {
            if let script { return script }
            var out = startLine
            for field in allFields { out += field.name + [Byte.colon, Byte.space] + field.value + [13, 10] }
            if !body.isEmpty || method == "POST" || method == "PUT" || method == "PATCH" {
                out += Array("Content-Length: \(body.count)\r\n".utf8)
            }
            out += [13, 10]
            return WireScript(out + body, end: .keep)
        }
    }

    /// Sends on `loop`; `done` is called there once.
    package static func send(
        _ call: Call, on loop: EventLoop, _ done: @escaping @Sendable (Result<Response, Failure>) -> Void
    ) {
        loop.execute { ClientConnection(call, loop, done).start() }
    }
}

/// `@unchecked Sendable`: touched only on its loop.
private final class ClientConnection: EventSource, @unchecked Sendable {
    private let call: HTTPClient.Call
    private let loop: EventLoop
    private var output: [UInt8] = []
    private let script: WireScript
    private var nextStep = 0
    private var pace: UInt64?
    private var done: (@Sendable (Result<Response, HTTPClient.Failure>) -> Void)?
    private var descriptor: Int32 = -1
    private var token: UInt64?
    private var timer: UInt64?
    private var isConnected = false
    private var sent = 0
    private var parser: ResponseParser

    init(
        _ call: HTTPClient.Call, _ loop: EventLoop,
        _ done: @escaping @Sendable (Result<Response, HTTPClient.Failure>) -> Void
    ) {
        self.call = call
        self.loop = loop
        self.done = done
        script = call.steps
        parser = ResponseParser(isHead: call.method == "HEAD")
    }

    func start() {
        guard let port = UInt16(exactly: call.port) else { return finish(.failure(.refused)) }
        descriptor = pushsim_connect(call.host, port)
        if descriptor < 0 { return finish(.failure(.refused)) }
        do throws(SystemError) {
            token = try loop.watch(descriptor, [.writable], self)
        } catch {
            return finish(.failure(.system(error)))
        }
        let begun = pushsim_monotonic_clock()
        timer = loop.schedule(at: begun + min(call.connectLimit, call.wholeLimit)) { [self] in
            guard isConnected else { return finish(.failure(.timeout)) }
            timer = loop.schedule(at: begun + call.wholeLimit) { [self] in finish(.failure(.timeout)) }
        }
    }

    func ready(_ readiness: Poller.Readiness) {
        if !isConnected {
            let result = pushsim_connect_result(descriptor)
            if result < 0 { return finish(.failure(.refused)) }
            isConnected = true
        }
        if readiness.contains(.writable), pace == nil { write() }
        // What was sent may have been the end.
        guard done != nil else { return }
        if readiness.contains(.readable) || readiness.contains(.broken) { read() }
    }

    /// Sends what is due; the end of the script comes after its last byte.
    private func write() {
        while true {
            if sent < output.count {
                let count = output.withUnsafeBytes { bytes in
                    pushsim_send(descriptor, bytes.baseAddress.map { $0 + sent }, bytes.count - sent)
                }
                // A peer that answers early and closes breaks the sending; its answer may still be there to read.
                if count < 0, SystemError("send", count).code != SystemError.wouldBlock {
                    nextStep = script.steps.count
                    return want(.readable)
                }
                sent += max(0, Int(count))
                if sent < output.count { return want([.writable, .readable]) }
            }
            guard nextStep < script.steps.count else { return conclude() }
            let step = script.steps[nextStep]
            nextStep += 1
            switch step {
            case .bytes(let bytes): (output, sent) = (bytes, 0)
            case .wait: continue
            case .pace(let nanoseconds):
                want(.readable)
                pace = loop.schedule(at: pushsim_monotonic_clock() + nanoseconds) { [weak self] in
                    self?.pace = nil
                    if self?.done != nil { self?.write() }
                }
                return
            }
        }
    }

    private func conclude() {
        switch script.end {
        case .keep, .stall, .open, .relayed: want(.readable)
        case .fin, .half:
            _ = pushsim_shutdown_write(descriptor)
            want(.readable)
        case .rst:
            _ = pushsim_linger_none(descriptor)
            finish(.failure(.reset))
        }
    }

    private func want(_ readiness: Poller.Readiness) {
        if let token { loop.change(descriptor, readiness, token: token) }
    }

    private func read() {
        let count = pushsim_receive(descriptor, loop.scratch.baseAddress, loop.scratch.count)
        do throws(ResponseParser.Failure) {
            if count > 0 {
                let bytes = UnsafeRawBufferPointer(rebasing: loop.scratch[..<Int(count)])
                if let response = try parser.receive(bytes) { finish(.success(response)) }
            } else if count == 0 {
                finish(.success(try parser.finish()))
            } else if SystemError("recv", count).code != SystemError.wouldBlock {
                finish(.failure(.reset))
            }
        } catch {
            switch error {
            case .cutShort: finish(.failure(.reset))
            case .tooLarge: finish(.failure(.malformed("answer too large")))
            case .malformed(let what): finish(.failure(.malformed(what)))
            }
        }
    }

    private func finish(_ result: Result<Response, HTTPClient.Failure>) {
        guard let done else { return }
        self.done = nil
        if let timer { loop.cancel(timer) }
        if let pace { loop.cancel(pace) }
        if let token { loop.unwatch(descriptor, token: token) }
        token = nil
        if descriptor >= 0 { _ = pushsim_close(descriptor) }
        done(result)
    }
}
