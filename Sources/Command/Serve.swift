import CPushSimSystem
import Dispatch
import PushSim
import PushSimFaults
import PushSimJSONText
import PushSimRecorder
import PushSimSimulation
import PushSimWire
import Synchronization

/// `pushsim serve`, and `pushsim replay`, which serves recordings.
struct Serve {
    private let arguments: Arguments
    private var settings = Service.Settings()
    private let host: String
    private let port: Int

    init(_ arguments: Arguments) throws {
        if let stray = arguments.rest.first {
            throw UsageError(message: "serve takes no \"\(stray)\".", verb: "serve")
        }
        try self.init(arguments, replaying: nil)
    }

    /// - Parameter player: makes what plays recordings in the place of the backends.
    init(_ arguments: Arguments, replaying player: (@Sendable () -> any Player)?) throws {
        self.arguments = arguments
        settings.makePlayer = player
        if player != nil { settings.options.raiseBodyLimit() }
        // Replaying, nothing goes out whatever is asked.
        if player == nil { settings.carrier = NetworkCarrier() }
        host = arguments.last("host") ?? "127.0.0.1"
        port = try Self.number(arguments, "port", 8025, upTo: 65_535)
        if let path = arguments.last("config") { try Configuration.read(path, into: &settings) }
        for option in arguments.all("option") { try Self.change(option, &settings) }
        try Self.limit(arguments.all("backend"), &settings)
        if let seed = arguments.last("seed") {
            guard let number = UInt64(seed), seed.utf8.first != 43 else {
                throw UsageError(message: "--seed takes a whole number from 0, not \"\(seed)\".", verb: "serve")
            }
            settings.seed = number
        }
        if let clock = arguments.last("clock") { settings.clock = try Self.clock(clock) }
        if let profile = arguments.last("profile") { settings.profile = try ProfileVerb.load(profile) }
        settings.controlToken = arguments.last("control-token").map { Array($0.utf8) }
        if !isLoopback, settings.controlToken == nil {
            throw UsageError(
                message: "--host \(host) is not loopback, so the control API needs a --control-token.", verb: "serve")
        }
    }

    private var isLoopback: Bool { host == "localhost" || host == "::1" || host.hasPrefix("127.") }

    static func number(
        _ arguments: Arguments, _ name: String, _ usual: Int, upTo limit: Int, verb: String = "serve"
    ) throws(UsageError) -> Int {
        guard let text = arguments.last(name) else { return usual }
        guard let number = decimalDigits(text.utf8), number <= limit else {
            throw UsageError(message: "--\(name) takes a number up to \(limit), not \"\(text)\".", verb: verb)
        }
        return number
    }

    private static func limit(_ names: [String], _ settings: inout Service.Settings) throws(UsageError) {
        let known = Service.allBackends.map(\.name)
        for name in names where !known.contains(name) {
            throw UsageError(
                message: "There is no backend \"\(name)\".\(Suggestion.text(name, known)) Known: "
                    + known.joined(separator: ", ") + ".", verb: "serve")
        }
        if !names.isEmpty { settings.backends = Service.allBackends.filter { names.contains($0.name) } }
    }

    private static func change(_ option: String, _ settings: inout Service.Settings) throws(UsageError) {
        let parts = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else {
            throw UsageError(message: "--option takes name=value, not \"\(option)\".", verb: "serve")
        }
        do throws(OptionError) {
            try settings.options.change(String(parts[0]), to: String(parts[1]))
        } catch {
            throw UsageError(message: error.description, verb: "serve")
        }
    }

    private static func clock(_ text: String) throws(UsageError) -> SimulationClock {
        switch text {
        case "real": return .real
        case "frozen": return .frozen()
        default:
            guard let instant = TimeText.instant(text) else {
                throw UsageError(
                    message: "--clock takes real, frozen or an RFC 3339 time from 1970 to 2200, not \"\(text)\".",
                    verb: "serve")
            }
            return .frozen(at: instant)
        }
    }

    func run() throws {
        // Before anything is opened, so that a signal in between is not lost.
        let signals = pushsim_stop_signals()
        if signals < 0 { throw Finding(message: SystemError("signals", signals).description) }
        let loops = try startLoops()
        let log = arguments.has("quiet") ? nil : CallLog()
        var heard: (@Sendable (JournalEntry) -> Void)?
        if let log { heard = { log.note($0) } }
        let service = Service(settings, isLoopback: isLoopback, home: loops[0], heard: heard)
        if let path = arguments.last("state") { try loadState(path, service) }
        let listener = try Listening.start(host, port, loops, service)
        let url = "http://\(Self.reachable(host)):\(listener.port)"
        service.setBaseURL(url)
        service.setListener(listener)
        try Listening.open(listener)
        Files.out("pushsim \(Version.text) listening on \(url)\n")
        if let path = arguments.last("ready-file") { try Files.write(Array("\(url)\n".utf8), to: path) }
        let watch = arguments.last("profile").flatMap { ProfileWatch($0, service) }
        Self.waitForStop(signals)
        watch?.stop()
        let closed = DispatchSemaphore(value: 0)
        listener.close { closed.signal() }
        closed.wait()
        if let path = arguments.last("ready-file") { _ = pushsim_file_remove(path) }
        log?.drain()
        if let path = arguments.last("report") { try Files.write(service.report, to: path) }
        let unmatched = service.unmatched
        let leftovers = service.leftovers
        var findings: [String] = []
        if !unmatched.isEmpty {
            findings.append(
                "\(counted(unmatched.count, "call", "calls")) that no recording answers:" + Self.listed(unmatched))
        }
        let unasked = "nobody asked for:" + Self.listed(leftovers)
        if !leftovers.isEmpty, arguments.has("complete") {
            findings.append(unasked)
        } else if !leftovers.isEmpty {
            Files.error("(\(unasked))\n")
        }
        if !findings.isEmpty { throw Finding(message: findings.joined(separator: "\n")) }
    }

    /// A line each, as many as people read.
    private static func listed(_ lines: [String]) -> String {
        let shown = lines.prefix(20).map { "\n  " + $0 }.joined()
        return lines.count > 20 ? shown + "\n  and \(lines.count - 20) more" : shown
    }

    /// The name under which this machine itself reaches what listens at an address.
    static func reachable(_ host: String) -> String {
        switch host {
        case "0.0.0.0": "127.0.0.1"
        case "::": "[::1]"
        default: host.utf8.contains(58) ? "[\(host)]" : host
        }
    }

    private func startLoops() throws -> [EventLoop] {
        let count = try Self.number(arguments, "loops", 1, upTo: 64)
        var loops: [EventLoop] = []
        for _ in 0..<max(1, count) { loops.append(try EventLoop.start()) }
        return loops
    }

    private func loadState(_ path: String, _ service: Service) throws {
        let bytes = try Files.read(path)
        do {
            try service.loadState(bytes)
        } catch {
            throw Finding(message: "\(path): \(error)")
        }
    }

    static func waitForStop(_ signals: Int32) {
        var watch = pushsim_watch(fd: signals, wanted: UInt32(PUSHSIM_READABLE), ready: 0)
        while pushsim_poll(&watch, 1, -1) <= 0 {}
    }
}

/// One line per call on stderr. Never stops the server: what cannot be written in time is counted and dropped.
final class CallLog: Sendable {
    private static let limit = 4096
    private let queue = DispatchQueue(label: "pushsim.log")
    private let waiting = Mutex((lines: 0, dropped: 0))

    func note(_ entry: JournalEntry) {
        let mayWrite = waiting.withLock { waiting in
            if waiting.lines >= Self.limit {
                waiting.dropped += 1
                return false
            }
            waiting.lines += 1
            return true
        }
        guard mayWrite else { return }
        queue.async { [self] in
            let dropped = waiting.withLock { waiting in
                waiting.lines -= 1
                defer { waiting.dropped = 0 }
                return waiting.dropped
            }
            if dropped > 0 { Files.error("(\(dropped) lines dropped)\n") }
            Files.error(Self.line(entry))
        }
    }

    func drain() { queue.sync {} }

    private static func line(_ entry: JournalEntry) -> String {
        if let attempt = entry.attempt {
            let delivery = attempt.delivery
            return "\(TimeText.rfc3339(entry.time)) #\(entry.index) push \(delivery.name) \(delivery.backend) "
                + "\(delivery.kind) by \(delivery.transport) to \(delivery.token.text) -> \(attempt.outcome.rawValue)\n"
        }
        let target = String(decoding: entry.call.target, as: UTF8.self)
        let outcome = entry.status.map(String.init) ?? entry.ending?.rawValue ?? "open"
        let rules = entry.decision?.rules ?? []
        return "\(TimeText.rfc3339(entry.time)) #\(entry.index) \(entry.call.head.methodText) \(target) -> \(outcome)"
            + (rules.isEmpty ? "" : " [\(rules.joined(separator: ", "))]") + "\n"
    }
}
