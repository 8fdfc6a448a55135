import PushSimWire

/// Says what it was asked, so that a test sees what the server understood.
final class Echo: RequestHandler {
    let limits: ServerLimits

    init(_ limits: ServerLimits) { self.limits = limits }

    func headArrived(_ exchange: Exchange) {}

    func requestArrived(_ exchange: Exchange) {
        let request = exchange.request
        let text = "\(request.head.methodText) \(request.head.text(request.head.path)) \(request.body.text)"
        let response = Response(status: 200, body: Array(text.utf8))
        exchange.finish(
            WireScript(response.bytes(isHead: request.head.methodText == "HEAD"), end: .keep))
    }

    func exchangeEnded(_ exchange: Exchange, _ ending: Ending) {}

    func answer(to failure: RequestFailure, _ exchange: Exchange?) -> [UInt8] {
        Response(status: failure.status, fields: [HeaderField("Connection", "close")]).bytes()
    }
}

func withServer(
    _ kind: PollerKind, limits: ServerLimits = ServerLimits(), _ body: (Int, Listener) async throws -> Void
) async throws {
    try await withServer(kind, Echo(limits), body)
}

func withServer(
    _ kind: PollerKind, _ handler: any RequestHandler, _ body: (Int, Listener) async throws -> Void
) async throws {
    let loop = try EventLoop.start(kind)
    let listener = try Listener(host: "127.0.0.1", port: 0, loops: [loop], handler: handler)
    await withCheckedContinuation { continuation in listener.open { _ in continuation.resume() } }
    try await body(listener.port, listener)
    await withCheckedContinuation { continuation in listener.close { continuation.resume() } }
    loop.stop()
}
