import CPushSimSystem
import Dispatch
import PushSim
import PushSimCassettes
import PushSimRecorder
import PushSimSimulation
import PushSimWebPush
import PushSimWire
import Synchronization

/// `pushsim record`: a reverse proxy that writes a cassette when it is stopped.
enum RecordVerb {
    static func run(_ arguments: Arguments) throws {
        if let stray = arguments.rest.first {
            throw UsageError(message: "record takes no \"\(stray)\".", verb: "record")
        }
        if let cassette = arguments.last("verify-live") {
            if arguments.has("out") {
                throw UsageError(message: "--verify-live writes no cassette: leave out --out.", verb: "record")
            }
            let secrets = try ReplayVerb.secrets(arguments, "record")
            return try LiveCheck.run(cassette, try settings(arguments), secrets)
        }
        guard let out = arguments.last("out") else {
            throw UsageError(message: "record needs --out, the cassette to write.", verb: "record")
        }
        let signals = pushsim_stop_signals()
        if signals < 0 { throw Finding(message: SystemError("signals", signals).description) }
        let recorder: Recorder
        let lock: CassetteLock
        do {
            lock = try CassetteLock(out)
            recorder = try Recorder(try settings(arguments))
        } catch let error as CassetteError {
            throw Finding(message: error.description)
        }
        let port = try Serve.number(arguments, "port", 8025, upTo: 65_535, verb: "record")
        let host = arguments.last("host") ?? "127.0.0.1"
        let listener = try Listening.start(host, port, [try EventLoop.start()], recorder)
        try Listening.open(listener)
        let url = "http://\(Serve.reachable(host)):\(listener.port)"
        Files.out("pushsim \(Version.text) recording \(arguments.last("upstream") ?? "") at \(url)\n")
        if let path = arguments.last("ready-file") { try Files.write(Array("\(url)\n".utf8), to: path) }
        Serve.waitForStop(signals)
        let open = recorder.underway
        wait { done in listener.close(done) }
        wait { done in recorder.stop(done) }
        if let path = arguments.last("ready-file") { _ = pushsim_file_remove(path) }
        if open > 0 {
            Files.error("(\(counted(open, "exchange was", "exchanges were")) under way and is not in the cassette)\n")
        }
        if recorder.count == 0 { throw Finding(message: "nothing was recorded: \(out) stays as it was") }
        try withExtendedLifetime(lock) {
            do {
                try CassetteStore.write(try recorder.files(name: CassetteStore.name(out)), to: out)
            } catch let error as CassetteError {
                throw Finding(message: error.description)
            }
        }
        Files.out("\(out): \(counted(recorder.count, "entry", "entries"))\n")
    }

    private static func wait(_ begin: (@escaping @Sendable () -> Void) -> Void) {
        let done = DispatchSemaphore(value: 0)
        begin { done.signal() }
        done.wait()
    }

    static func settings(_ arguments: Arguments) throws -> RecorderSettings {
        guard let upstream = arguments.last("upstream") else {
            throw UsageError(message: "record needs --upstream, the real server.", verb: "record")
        }
        var settings: RecorderSettings
        do throws(CassetteError) {
            settings = RecorderSettings(upstream: try RecorderSettings.origin(upstream))
            if let push = arguments.last("push-upstream") { settings.pushUpstream = try RecorderSettings.origin(push) }
            if let push = arguments.last("push-origin") { settings.pushOrigin = try RecorderSettings.origin(push) }
            if let origin = arguments.last("origin") { settings.origin = try RecorderSettings.origin(origin) }
        } catch {
            throw UsageError(message: error.description, verb: "record")
        }
        settings.redaction.rules = try rules(arguments, "record")
        settings.redaction.redactsRoutingIDs = arguments.has("redact-routing-ids")
        if arguments.has("keep-order") { settings.redaction.order = .start }
        settings.deviceKeys = try deviceKeys(arguments)
        settings.keepsTimings = arguments.has("timings")
        if let path = arguments.last("ca") {
            let bytes = try Files.read(path)
            guard bytes.text.contains("-----BEGIN CERTIFICATE-----") else {
                throw Finding(message: "\(path) holds no certificate in PEM")
            }
            settings.certificates = path
        }
        if let text = arguments.last("timeout") {
            guard let limit = TimeText.duration(text), limit >= 1_000_000 else {
                throw UsageError(message: "--timeout takes a time such as 30s, not \"\(text)\".", verb: "record")
            }
            settings.wholeLimit = limit
            settings.connectLimit = min(limit, settings.connectLimit)
        }
        return settings
    }

    private static func deviceKeys(_ arguments: Arguments) throws(UsageError) -> DeviceKeys? {
        let (key, secret) = (arguments.last("private-key"), arguments.last("auth-secret"))
        if key == nil, secret == nil { return nil }
        guard let key, let secret else {
            throw UsageError(message: "--private-key and --auth-secret belong together.", verb: "record")
        }
        do throws(KeyError) {
            return try DeviceKeys(privateKey: Array(key.utf8), authSecret: Array(secret.utf8))
        } catch {
            throw UsageError(message: "\(error)", verb: "record")
        }
    }

    static func rules(_ arguments: Arguments, _ verb: String) throws(UsageError) -> [RedactionRule] {
        var rules: [RedactionRule] = []
        for text in arguments.all("redact") {
            do throws(CassetteError) {
                rules.append(try RedactionRule(text))
            } catch {
                throw UsageError(message: error.description, verb: verb)
            }
        }
        return rules
    }
}
