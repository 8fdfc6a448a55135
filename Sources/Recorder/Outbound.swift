import CPushSimCurl
import CPushSimSystem
import PushSimWire
import Synchronization

/// One request to the outside.
struct OutboundCall: Sendable {
    /// Scheme and authority.
    var origin: String
    var method: String
    /// Path and query as they are to stand on the wire.
    var target: [UInt8]
    /// Of HTTP/1: a client of HTTP/1.0 is given what the upstream says to one, which is no chunks.
    var minorVersion = 1
    var fields: [HeaderField]
    /// Nil sends neither body nor length.
    var body: [UInt8]?
    /// Nanoseconds of real time.
    var connectLimit: Int64
    var wholeLimit: Int64
    /// A file of certificates to trust instead of the system's.
    var certificates: String?
}

/// How a transfer ended.
enum OutboundEnd: Sendable {
    case good, dns, refused, tls, timeout, closed, cut, reset, malformed, other
}

/// Who hears of a transfer, on the thread of `Outbound`.
protocol OutboundListener: AnyObject, Sendable {
    func receivedHeadLine(_ bytes: UnsafeBufferPointer<UInt8>)
    func receivedBody(_ bytes: UnsafeBufferPointer<UInt8>)
    func ended(_ end: OutboundEnd, _ message: String)
}

/// Outbound HTTP by libcurl, on a thread of its own.
///
/// `@unchecked Sendable`: `multi` is touched by that thread only, but for `pushsim_multi_wake`, which any may call while
/// the thread runs; the rest is behind a `Mutex`.
final class Outbound: @unchecked Sendable {
    typealias Job = @Sendable (Outbound) -> Void

    private struct Inbox {
        var jobs: [Job] = []
        var isStopping = false
    }

    private let inbox = Mutex(Inbox())
    private let multi: OpaquePointer
    /// Transfers under way, by their listener. On the thread only. What libcurl is given to call lives as long.
    private var transfers: [ObjectIdentifier: Transfer] = [:]
    private var stopped: [@Sendable () -> Void] = []

    private final class Transfer {
        let outbound: Outbound
        let listener: any OutboundListener
        var handle: UnsafeMutableRawPointer?

        init(_ outbound: Outbound, _ listener: any OutboundListener) {
            self.outbound = outbound
            self.listener = listener
        }

        static func at(_ context: UnsafeMutableRawPointer?) -> Transfer? {
            context.map { Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
        }
    }

    /// - Throws: where there is no libcurl.
    init() throws(SystemError) {
        var message = [CChar](repeating: 0, count: 256)
        if pushsim_curl_open(&message, message.count) < 0 {
            let end = message.firstIndex(of: 0) ?? message.endIndex
            throw SystemError(String(decoding: message[..<end].map { UInt8(bitPattern: $0) }, as: UTF8.self), 2)
        }
        guard let made = pushsim_multi_make() else { throw SystemError("libcurl", 12) }
        multi = made
        let context = Unmanaged.passRetained(self).toOpaque()
        let result = pushsim_thread_start(
            "pushsim-out",
            { context in
                guard let context else { return }
                Unmanaged<Outbound>.fromOpaque(context).takeRetainedValue().run()
            }, context)
        if result < 0 {
            Unmanaged<Outbound>.fromOpaque(context).release()
            throw SystemError("pthread_create", result)
        }
    }

    /// Runs `job` on the thread, soon.
    func submit(_ job: @escaping Job) {
        inbox.withLock(of: self) { inbox in
            // Woken under the lock, so that the thread cannot have ended in between.
            if inbox.isStopping { return }
            inbox.jobs.append(job)
            pushsim_multi_wake(multi)
        }
    }

    /// Ends the thread; `done` is called on it when nothing is under way any more.
    func stop(_ done: @escaping @Sendable () -> Void) {
        submit { outbound in
            outbound.stopped.append(done)
            outbound.inbox.withLock(of: outbound) { $0.isStopping = true }
        }
    }

    private func run() {
        while true {
            let (jobs, isStopping) = inbox.withLock(of: self) { inbox in
                defer { inbox.jobs = [] }
                return (inbox.jobs, inbox.isStopping)
            }
            for job in jobs { job(self) }
            if isStopping { break }
            if jobs.isEmpty { pushsim_multi_step(multi, 60_000) }
        }
        for transfer in transfers.values { if let handle = transfer.handle { pushsim_multi_remove(multi, handle) } }
        transfers = [:]
        pushsim_multi_free(multi)
        for done in stopped { done() }
        stopped = []
    }

    // MARK: on the thread

    func begin(_ call: OutboundCall, _ listener: any OutboundListener) {
        let lines = Self.lines(call)
        let transfer = Transfer(self, listener)
        transfers[ObjectIdentifier(listener)] = transfer
        transfer.handle = Self.withTexts(lines) { fields in
            var made = pushsim_outbound()
            made.fields = fields
            made.field_count = lines.count
            made.connect_milliseconds = Int(call.connectLimit / 1_000_000)
            made.whole_milliseconds = Int(call.wholeLimit / 1_000_000)
            made.context = Unmanaged.passUnretained(transfer).toOpaque()
            made.head_line = { context, bytes, size in
                Transfer.at(context)?.listener.receivedHeadLine(UnsafeBufferPointer(start: bytes, count: size))
            }
            made.body_part = { context, bytes, size in
                Transfer.at(context)?.listener.receivedBody(UnsafeBufferPointer(start: bytes, count: size))
            }
            made.done = { context, end, message in
                guard let transfer = Transfer.at(context) else { return }
                transfer.outbound.finished(transfer, end, message.map { String(cString: $0) } ?? "")
            }
            return add(&made, call)
        }
        if transfer.handle == nil {
            transfers[ObjectIdentifier(listener)] = nil
            listener.ended(.other, "there is no memory")
        }
    }

    private func add(_ made: inout pushsim_outbound, _ call: OutboundCall) -> UnsafeMutableRawPointer? {
        let target = call.target.map { CChar(bitPattern: $0) } + [0]
        let url = "\(call.origin)/"
        let body = call.body ?? []
        return url.withCString { url in
            call.method.withCString { method in
                target.withUnsafeBufferPointer { target in
                    body.withUnsafeBufferPointer { bytes in
                        Self.withOptional(call.certificates) { certificates in
                            (made.url, made.method, made.target) = (url, method, target.baseAddress)
                            (made.body, made.body_size) = (bytes.baseAddress, bytes.count)
                            made.has_body = call.body == nil ? 0 : 1
                            made.ca_file = certificates
                            made.minor_version = Int32(call.minorVersion)
                            return pushsim_multi_add(multi, &made)
                        }
                    }
                }
            }
        }
    }

    /// Forgets a transfer: its listener hears no more of it.
    func cancel(_ listener: any OutboundListener) {
        guard let transfer = transfers.removeValue(forKey: ObjectIdentifier(listener)) else { return }
        if let handle = transfer.handle { pushsim_multi_remove(multi, handle) }
    }

    private func finished(_ transfer: Transfer, _ end: Int32, _ message: String) {
        transfers[ObjectIdentifier(transfer.listener)] = nil
        transfer.listener.ended(Self.end(end), message)
    }

    private static func end(_ code: Int32) -> OutboundEnd {
        switch Int(code) {
        case Int(PUSHSIM_CURL_GOOD): .good
        case Int(PUSHSIM_CURL_DNS): .dns
        case Int(PUSHSIM_CURL_REFUSED): .refused
        case Int(PUSHSIM_CURL_TLS): .tls
        case Int(PUSHSIM_CURL_TIMEOUT): .timeout
        case Int(PUSHSIM_CURL_CLOSED): .closed
        case Int(PUSHSIM_CURL_CUT): .cut
        case Int(PUSHSIM_CURL_RESET): .reset
        case Int(PUSHSIM_CURL_MALFORMED): .malformed
        default: .other
        }
    }

    // MARK: texts

    /// The header list: ours and nothing that libcurl would add.
    private static func lines(_ call: OutboundCall) -> [[CChar]] {
        var lines = call.fields.map { field in
            field.value.isEmpty ? field.name + [59] : field.name + [Byte.colon, Byte.space] + field.value
        }
        for name in ["User-Agent", "Accept", "Expect", "Content-Type"] where call.fields.first(name) == nil {
            lines.append(Array("\(name):".utf8))
        }
        return lines.map { $0.map { CChar(bitPattern: $0) } + [0] }
    }

    private static func withTexts<Result>(
        _ texts: [[CChar]], _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Result
    ) -> Result {
        let flat = texts.flatMap { $0 }
        return flat.withUnsafeBufferPointer { flat in
            var pointers: [UnsafePointer<CChar>?] = []
            var offset = 0
            for text in texts {
                pointers.append(flat.baseAddress.map { $0 + offset })
                offset += text.count
            }
            return pointers.withUnsafeBufferPointer { body($0.baseAddress) }
        }
    }

    private static func withOptional<Result>(_ text: String?, _ body: (UnsafePointer<CChar>?) -> Result) -> Result {
        guard let text else { return body(nil) }
        return text.withCString(body)
    }
}
