package import PushSimCassettes
package import PushSimWebPush
package import PushSimWire
import Synchronization

/// How a recording is made.
package struct RecorderSettings: Sendable {
    /// Scheme and authority of the real server.
    package var upstream: RecordedURL
    /// Where `/push/<id>` goes, where deliveries are recorded too.
    package var pushUpstream: RecordedURL?
    /// What the cassette calls the upstream, where that is to be the same wherever it ran.
    package var origin: RecordedURL?
    /// What the cassette calls the push upstream.
    package var pushOrigin: RecordedURL?
    /// What opens the records of deliveries.
    package var deviceKeys: DeviceKeys?
    /// A file of certificates to trust instead of the system's.
    package var certificates: String?
    /// Nanoseconds of real time.
    package var connectLimit: Int64 = 10_000_000_000
    package var wholeLimit: Int64 = 60_000_000_000
    package var redaction = CassetteRedaction()
    /// Whether the file says when things were, and how long they took.
    package var keepsTimings = false

    package init(upstream: RecordedURL) {
        self.upstream = upstream
        redaction.order = .identity
    }

    /// An origin: `http` or `https`, a host, and no path.
    /// - Throws: a message that says what is wrong with it.
    package static func origin(_ text: String) throws(CassetteError) -> RecordedURL {
        guard let url = RecordedURL(Array(text.utf8)),
            ["http", "https"].contains(url.origin.prefix { $0 != 58 }.map { $0 }.text),
            url.origin.count > 8, !url.origin.contains(64)
        else { throw CassetteError("\"\(text)\" is no upstream such as https://ntm.example.com") }
        guard url.target == [Byte.slash] else {
            throw CassetteError(
                "the upstream \(text) has a path; give \(url.origin.text) and let the client ask for the path")
        }
        return url
    }
}

/// A reverse proxy that keeps what it sees (contract cassettes.md, "Recording").
package final class Recorder: RequestHandler {
    package let limits: ServerLimits = {
        var limits = ServerLimits()
        limits.body = 256 << 20
        limits.streamLag = 1 << 30
        return limits
    }()

    private let settings: RecorderSettings
    private let log = RecordingLog()
    private let outbound: Outbound

    /// - Throws: where there is no libcurl.
    package init(_ settings: RecorderSettings) throws(SystemError) {
        self.settings = settings
        outbound = try Outbound()
    }

    /// How many exchanges are over.
    package var count: Int { log.all.count }

    /// How many exchanges are not over.
    package var underway: Int { log.underway }

    /// Ends what is under way. `done` is called when nothing more is recorded.
    package func stop(_ done: @escaping @Sendable () -> Void) { outbound.stop(done) }

    /// What was recorded, redacted and in order, as it is to be written.
    /// - Throws: where a secret would be written.
    package func files(name: String) throws(CassetteError) -> CassetteFiles {
        var redaction = settings.redaction
        redaction.normalises = !settings.keepsTimings
        return try redaction.files(cassette(name), name: name)
    }

    private func cassette(_ name: String) -> Cassette {
        var cassette = Cassette(name: name, entries: log.all)
        cassette.about.isOwn = true
        if settings.keepsTimings { cassette.about.recordedAt = log.begunAt }
        return cassette
    }

    // MARK: requests

    package func headArrived(_ exchange: Exchange) {}

    package func requestArrived(_ exchange: Exchange) {
        let request = exchange.request
        let isDelivery =
            settings.pushUpstream != nil && request.head.equals(request.head.method, "POST")
            && request.head.text(request.head.path).hasPrefix("/push/")
        let upstream = isDelivery ? settings.pushUpstream ?? settings.upstream : settings.upstream
        let head = request.head
        let query = head.query.map { head.slice($0) }
        let url = RecordedURL(origin: upstream.origin, path: head.slice(head.path), query: query)
        let fields = Self.addressed(head.headerFields, to: upstream)
        var entry = CassetteEntry(
            method: head.slice(head.method), url: url, headers: fields,
            body: .bytes(Self.decoded(request.body, fields)),
            outcome: .failure(.init(.other)))
        entry.isDelivery = isDelivery
        if isDelivery, let keys = settings.deviceKeys {
            entry.plaintext = try? Record.decrypt(request.body, with: keys)
        }
        if head.minorVersion == 0 { entry.httpVersion = Array("HTTP/1.0".utf8) }
        let hasBody = !request.body.isEmpty || head.framing != .none
        let call = call(entry, upstream, hasBody ? request.body : nil)
        let origin = isDelivery ? settings.pushOrigin : settings.origin
        if let origin {
            entry.url.origin = origin.origin
            entry.headers = Self.addressed(fields, to: origin)
        }
        log.begin()
        let relay = Relay(exchange, entry, log, renaming: origin.map { (upstream.origin, $0.origin) })
        exchange.context = relay
        outbound.submit { $0.begin(call, relay) }
    }

    private static let host = Array("Host".utf8)

    /// With the authority of an upstream as their Host.
    private static func addressed(_ fields: [HeaderField], to upstream: RecordedURL) -> [HeaderField] {
        let authority = Array(upstream.origin.drop { $0 != Byte.slash }.dropFirst(2))
        return fields.map { $0.isNamed(host) ? HeaderField($0.name, authority) : $0 }
    }

    /// Of one connection only, and made afresh for the next.
    private static let ownFields = [
        "content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection", "proxy-authenticate",
        "expect", "te", "upgrade", "trailer",
    ].map { Array($0.utf8) }

    private func call(_ entry: CassetteEntry, _ upstream: RecordedURL, _ body: [UInt8]?) -> OutboundCall {
        OutboundCall(
            origin: upstream.origin.text, method: entry.method.text, target: entry.url.target,
            minorVersion: entry.httpVersion == Array("HTTP/1.0".utf8) ? 0 : 1,
            fields: entry.headers.filter { field in !Self.ownFields.contains { field.isNamed($0) } }
                .map(Self.readable), body: body,
            connectLimit: settings.connectLimit, wholeLimit: settings.wholeLimit, certificates: settings.certificates)
    }

    /// An upstream is asked for what can be searched for secrets only: codings that are known here.
    private static func readable(_ field: HeaderField) -> HeaderField {
        guard field.isNamed(acceptEncoding) else { return field }
        let known = field.value.split(separator: Byte.comma).map { Array($0).trimmed }.filter { part in
            let name = Array(part.prefix { $0 != 59 }).trimmed.map(Byte.lowercased).text
            return ["gzip", "x-gzip", "deflate", "identity"].contains(name)
        }
        return HeaderField(
            field.name, known.isEmpty ? Array("identity".utf8) : Array(known.joined(separator: [44, 32])))
    }

    private static let acceptEncoding = Array("accept-encoding".utf8)

    /// A recorded request as it would be sent now; one whose body was coded is sent in that coding.
    func call(_ entry: CassetteEntry) -> OutboundCall {
        let coding = entry.headers.first("content-encoding").flatMap { ContentCoding($0) }
        let body = entry.body.octets
        let hasBody = !body.isEmpty || ["POST", "PUT", "PATCH"].contains(entry.method.text)
        var entry = entry
        entry.headers = Self.addressed(entry.headers, to: settings.upstream)
        return call(entry, settings.upstream, hasBody ? coding?.encodeStored(body) ?? body : nil)
    }

    func submit(_ job: @escaping Outbound.Job) { outbound.submit(job) }

    private static func decoded(_ body: [UInt8], _ fields: [HeaderField]) -> [UInt8] {
        let coding = fields.first("content-encoding").flatMap { ContentCoding($0) }
        return coding.flatMap { try? $0.decode(body, limit: RecordingLog.decodedLimit) } ?? body
    }

    package func exchangeEnded(_ exchange: Exchange, _ ending: Ending) {
        guard ending == .clientLeft, let relay = exchange.context as? Relay else { return }
        outbound.submit { outbound in
            outbound.cancel(relay)
            relay.clientLeft()
        }
    }

    package func answer(to failure: RequestFailure, _ exchange: Exchange?) -> [UInt8] {
        Response(
            status: failure.status,
            fields: [HeaderField("Content-Type", "text/plain"), HeaderField("Connection", "close")],
            body: Array("\(failure.message)\n".utf8)
        ).bytes()
    }
}
