@_exported public import PushSim
import PushSimCassettes
import PushSimWire
import Synchronization

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What a recording keeps and hides beside the usual.
public struct RecordingOptions: Hashable, Sendable {
    /// What is a secret beside what always is: `header:NAME`, `query:NAME`, `form:NAME`, `json:PATH`, `regex:PATTERN`.
    public var redact: [String] = []
    /// Whether routing ids are secrets too.
    public var redactsRoutingIDs = false
    /// Whether entries stand in the order in which their requests began, for a strict replay.
    public var keepsOrder = false
    /// Whether the file says when things were.
    public var keepsTimings = false
    /// Where `/push/<id>` is passed on to, so that deliveries are recorded too.
    public var pushUpstream: URL?
    /// What the cassette calls the upstream, where that is to be the same wherever it ran.
    public var origin: URL?
    /// A file of certificates to trust instead of the system's.
    public var certificates: URL?
    /// How long an answer may take, in real time.
    public var patience: Duration = .seconds(60)

    /// The usual.
    public init() {}
}

/// A running recorder: clients talk to `url`, it talks to the upstream, and `stop` writes the cassette.
public final class Recording: Sendable {
    /// What clients take for the server.
    public let url: URL
    private let path: String
    private let recorder: Recorder
    private let listener: Listener
    private let lock: CassetteLock
    private let isStopped = Mutex(false)

    init(_ settings: RecorderSettings, to file: URL) async throws {
        path = file.path
        do {
            lock = try CassetteLock(path)
            recorder = try Recorder(settings)
            guard let loop = EventLoop.shared else { throw CassetteError("the system gives no event loop") }
            listener = try Listener(host: "127.0.0.1", port: 0, loops: [loop], handler: recorder)
        } catch {
            throw RecordingError(description: "\(error)")
        }
        guard let url = URL(string: "http://127.0.0.1:\(listener.port)") else {
            throw RecordingError(description: "the port \(listener.port) makes no URL")
        }
        self.url = url
        let listener = listener
        let failure = await withCheckedContinuation { continuation in
            listener.open { continuation.resume(returning: $0) }
        }
        if let failure { throw RecordingError(description: failure.description) }
    }

    /// How many exchanges are over.
    public var count: Int { recorder.count }

    /// Stops, and writes the cassette in the place of an older one.
    /// - Throws: `RecordingError` where a secret would be written, or the file cannot be.
    public func stop() async throws { try await end(at: path) }

    /// Stops, and writes what there is to `<name>.partial.har`: the cassette stays as it was.
    public func fail() async throws {
        try await end(at: "\(CassetteStore.folder(path))/\(CassetteStore.name(path)).partial.har")
    }

    private func end(at path: String) async throws {
        let wasStopped = isStopped.withLock { stopped in
            defer { stopped = true }
            return stopped
        }
        if wasStopped { return }
        await withCheckedContinuation { continuation in listener.close { continuation.resume() } }
        await withCheckedContinuation { continuation in recorder.stop { continuation.resume() } }
        defer { lock.release() }
        if recorder.count == 0 {
            throw RecordingError(description: "nothing was recorded: \(self.path) stays as it was")
        }
        do throws(CassetteError) {
            try CassetteStore.write(try recorder.files(name: CassetteStore.name(path)), to: path)
        } catch {
            throw RecordingError(description: error.description)
        }
    }
}

/// Why nothing was recorded or written.
public struct RecordingError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What, where, and what to do.
    public let description: String
}

extension PushSim {
    /// Begins to record what clients say to a server.
    /// - Parameters:
    ///   - upstream: the server's origin, such as `https://ntm.example.com`.
    ///   - file: the cassette.
    /// - Throws: `RecordingError` where a rule is none, another recorder has the file, or there is no libcurl.
    public static func record(
        upstream: URL, to file: URL, options: RecordingOptions = RecordingOptions()
    ) async throws -> Recording {
        var settings: RecorderSettings
        do throws(CassetteError) {
            settings = RecorderSettings(upstream: try RecorderSettings.origin(upstream.absoluteString))
            if let push = options.pushUpstream {
                settings.pushUpstream = try RecorderSettings.origin(push.absoluteString)
            }
            if let origin = options.origin { settings.origin = try RecorderSettings.origin(origin.absoluteString) }
            for rule in options.redact { settings.redaction.rules.append(try RedactionRule(rule)) }
        } catch {
            throw RecordingError(description: error.description)
        }
        settings.redaction.redactsRoutingIDs = options.redactsRoutingIDs
        if options.keepsOrder { settings.redaction.order = .start }
        settings.keepsTimings = options.keepsTimings
        settings.certificates = options.certificates?.path
        let (seconds, attoseconds) = options.patience.components
        settings.wholeLimit = max(1, min(seconds, 1 << 32)) * 1_000_000_000
        if seconds <= 0 { settings.wholeLimit = max(1_000_000, attoseconds / 1_000_000_000) }
        return try await Recording(settings, to: file)
    }

    /// Records what `body` does. Where it throws, the cassette stays as it was and `<name>.partial.har` is written.
    public static func record<Result>(
        upstream: URL, to file: URL, options: RecordingOptions = RecordingOptions(),
        isolation: isolated (any Actor)? = #isolation, _ body: (Recording) async throws -> Result
    ) async throws -> Result {
        let recording = try await record(upstream: upstream, to: file, options: options)
        let result: Result
        do {
            result = try await body(recording)
        } catch {
            try await recording.fail()
            throw error
        }
        try await recording.stop()
        return result
    }
}
