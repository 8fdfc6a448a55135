import CPushSimSystem
import Foundation
import PushSimCassettes
import PushSimRecorder
import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Testing

/// A folder of its own, gone afterwards.
func withFolder<Result>(
    isolation: isolated (any Actor)? = #isolation, _ body: (URL) async throws -> Result
) async throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await body(folder)
}

/// The nastier upstream is `Tests/EndToEndTests/recording.py`, over the real binary.
@Suite("Recording in a test (cassettes.md)")
struct RecordingTests {
    private let options = ["ntm.connection": "keep-alive"]

    private func register(_ port: Int, _ account: String, _ token: String) async throws -> Response {
        try await call(
            port: port, "POST", "/v1/subscriber", fields: [("Authorization", "Bearer \(account)")],
            body: #"{"proto":"apns","token":"\#(token)","app_domain":"example.com"}"#)
    }

    @Test("A session is recorded, holds no secret, and replays for another token with that token's own values")
    func session() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("register.har")
            let fake = try await PushSim.start(clock: .frozen, options: options)
            let recorded = try await PushSim.record(upstream: fake.url, to: file) { recording in
                try await register(recording.url.port ?? 0, "alice-session", "device-one").body
            }
            await fake.stop()
            let text = try String(contentsOf: file, encoding: .utf8)
            #expect(!text.contains("alice-session") && !text.contains("device-one"))
            #expect(text.contains("Bearer {{authorization.1}}") && text.contains("{{token.1}}"))
            let replay = try await PushSim.replay(file)
            #expect(try await register(replay.url.port ?? 0, "bob", "device-two").body == recorded)
            let third = try await register(replay.url.port ?? 0, "bob", "device-two")
            #expect(third.status == 501)
            #expect(replay.unmatchedCalls.count == 1 && replay.leftovers.isEmpty)
            await replay.stop()
        }
    }

    @Test("A client that half-closes gets the whole answer while it is recorded, and in a replay that takes its time")
    func halfClose() async throws {
        struct Unfinished: Error {}
        try await withFolder { folder in
            let file = folder.appendingPathComponent("half.har")
            let fake = try await PushSim.start(
                profile: .json5("{ rules: [ { then: { wire: { dribble: { pieces: 4, over: '80ms' } } } } ] }"),
                options: options)
            let body = #"{"proto":"apns","token":"device-one","app_domain":"example.com"}"#
            func ask(_ port: Int?) async throws -> RawClient.Received {
                let client = try RawClient(port: port ?? 0)
                let fields = "Host: a\r\nAuthorization: Bearer a\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
                try await client.send("POST /v1/subscriber HTTP/1.1\r\n" + fields + body)
                client.finishSending()
                return try await client.receive()
            }
            var timed = RecordingOptions()
            timed.keepsTimings = true
            let recorded = try await PushSim.record(upstream: fake.url, to: file, options: timed) { recording in
                try await ask(recording.url.port)
            }
            #expect(recorded.status == 200 && recorded.close == .fin && recorded.text.hasSuffix("\"}\n"))
            await fake.stop()
            var playback = Playback()
            playback.speed = 1
            let replay = try await PushSim.replay(file, playback: playback)
            let replayed = try await ask(replay.url.port)
            #expect(replayed.bytes == recorded.bytes && replayed.close == .fin)
            await replay.stop()
            let entry = try CassetteStore.load(file.path).entries[0]
            guard case .answer(let answer) = entry.outcome else { throw Unfinished() }
            #expect(answer.status == 200)
        }
    }

    @Test("A failed body leaves the cassette alone and writes a partial one")
    func failure() async throws {
        struct Failed: Error {}
        try await withFolder { folder in
            let file = folder.appendingPathComponent("a.har")
            try Data("old".utf8).write(to: file)
            let fake = try await PushSim.start(clock: .frozen, options: options)
            await #expect(throws: Failed.self) {
                try await PushSim.record(upstream: fake.url, to: file) { recording in
                    _ = try await register(recording.url.port ?? 0, "alice-session", "device-one")
                    throw Failed()
                }
            }
            await fake.stop()
            #expect(try Data(contentsOf: file) == Data("old".utf8))
            let partial = try CassetteStore.load(folder.appendingPathComponent("a.partial.har").path)
            #expect(partial.entries.count == 1)
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
            #expect(names == ["a.har", "a.partial.har"])
        }
    }

    @Test("A second recorder on one file is refused, and may have it once the first has stopped")
    func lock() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("a.har")
            let fake = try await PushSim.start(options: options)
            let first = try await PushSim.record(upstream: fake.url, to: file)
            await #expect(throws: RecordingError.self) { try await PushSim.record(upstream: fake.url, to: file) }
            _ = try await register(first.url.port ?? 0, "a", "t")
            try await first.stop()
            let second = try await PushSim.record(upstream: fake.url, to: file)
            let failure = await #expect(throws: RecordingError.self) { try await second.stop() }
            #expect(failure?.description.contains("nothing was recorded") == true)
            #expect(try CassetteStore.load(file.path).entries.count == 1)
            await fake.stop()
        }
    }

    @Test("A cassette goes behind its link; the lock is that of the file, and what is no file is refused")
    func links() async throws {
        try await withFolder { folder in
            let (file, link) = (folder.appendingPathComponent("real.har"), folder.appendingPathComponent("link.har"))
            try Data("old".utf8).write(to: file)
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
            let fake = try await PushSim.start(options: options)
            let first = try await PushSim.record(upstream: fake.url, to: link)
            await #expect(throws: RecordingError.self) { try await PushSim.record(upstream: fake.url, to: file) }
            _ = try await register(first.url.port ?? 0, "a", "t")
            try await first.stop()
            #expect(try CassetteStore.load(file.path).entries.count == 1)
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == file.path)
            for path in ["/dev/full", folder.path, folder.appendingPathComponent("no/a.har").path] {
                await #expect(throws: RecordingError.self) {
                    try await PushSim.record(upstream: fake.url, to: URL(fileURLWithPath: path))
                }
            }
            await fake.stop()
        }
    }

    @Test("What lies in the folder of bodies and is none stays there")
    func strangers() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let bodies = folder.appendingPathComponent("a.bodies")
        try FileManager.default.createDirectory(at: bodies, withIntermediateDirectories: true)
        // The digest of "mine", as a recording before this one would have named it.
        let old = bodies.appendingPathComponent("3fd30542fe3f61b14bd4a4b2dc0b6fb30fa6f63ebce52dd1778aaa8c4dc02cff")
        let mine = ["notes.txt", String(repeating: "a", count: 64)].map { bodies.appendingPathComponent($0) }
        for file in mine + [old] { try Data("mine".utf8).write(to: file) }
        let files = HARWriter.files(Cassette(name: "a"), name: "a")
        try CassetteStore.write(files, to: folder.appendingPathComponent("a.har").path)
        #expect(mine.allSatisfy { FileManager.default.fileExists(atPath: $0.path) })
        #expect(!FileManager.default.fileExists(atPath: old.path))
    }

    @Test(
        "What is no upstream or no rule is refused with what would be one",
        arguments: [
            ("ftp://a.example", "header:X", "is no upstream such as"),
            ("http://a.example/api", "header:X", "has a path"),
            ("http://user@a.example", "header:X", "is no upstream"), ("http://a.example", "heder:X", "header:NAME"),
            ("http://a.example", "json:$.a..b", "is no path"), ("http://a.example", "regex:(", "no regular expression"),
            ("http://a.example", "query:", "header:NAME"),
            ("http://a.example", "regex:(a+)+b", "a repetition within a repetition"),
            ("http://a.example", "regex:((a|b)*c){1,9}", "a repetition within a repetition"),
            ("http://a.example", "regex:hunter2", "is the secret itself"),
        ])
    func mistakes(_ upstream: String, _ rule: String, _ message: String) async throws {
        let url = try #require(URL(string: upstream))
        var options = RecordingOptions()
        options.redact = [rule]
        let error = await #expect(throws: RecordingError.self) {
            try await PushSim.record(upstream: url, to: URL(fileURLWithPath: "/nowhere/a.har"), options: options)
        }
        #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
    }

    @Test("A delivery that passes through is an entry of its own direction, without its endpoint")
    func deliveries() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("push.har")
            let fake = try await PushSim.start(clock: .frozen)
            var options = RecordingOptions()
            options.pushUpstream = fake.url
            let status = try await PushSim.record(
                upstream: fake.url, to: file, options: options
            ) { recording in
                try await call(
                    port: recording.url.port ?? 0, "POST", "/push/secret-endpoint-1",
                    fields: [("TTL", "60"), ("Content-Encoding", "aes128gcm")], body: "record"
                ).status
            }
            await fake.stop()
            let cassette = try CassetteStore.load(file.path)
            #expect(cassette.entries.count == 1 && cassette.entries[0].isDelivery)
            #expect(cassette.entries[0].url.path.text == "/push/{{endpoint.1}}")
            #expect(status == 201 && cassette.entries[0].answer?.status == status)
            #expect(try !String(contentsOf: file, encoding: .utf8).contains("secret-endpoint"))
        }
    }

    @Test("Timings are kept where asked for, and replayed on the simulation clock; dates move by the recording's age")
    func timings() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("slow.har")
            let fake = try await PushSim.start(
                profile: .json5("{ rules: [ { then: { delay: '40ms' } } ] }"), options: options)
            var recordingOptions = RecordingOptions()
            recordingOptions.keepsTimings = true
            _ = try await PushSim.record(upstream: fake.url, to: file, options: recordingOptions) { recording in
                try await register(recording.url.port ?? 0, "alice-session", "device-one")
            }
            await fake.stop()
            let cassette = try CassetteStore.load(file.path)
            let (entry, begun) = (cassette.entries[0], try #require(cassette.about.recordedAt))
            let wait = try #require(entry.timing?.wait)
            #expect(wait >= 40_000_000)
            let recorded = try #require(entry.answer?.headers.first("date").flatMap { HTTPDate.parse($0) })
            var playback = Playback()
            playback.speed = 1
            playback.shiftsDates = true
            let replay = try await PushSim.replay(file, playback: playback, clock: .frozen(at: "2150-01-01T00:00:00Z"))
            let client = try RawClient(port: replay.url.port ?? 0)
            let body = #"{"proto":"apns","token":"x1234","app_domain":"example.com"}"#
            try await client.send(
                "POST /v1/subscriber HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
            try await eventually { replay.journal.count == 1 }
            await replay.advance(by: .nanoseconds(wait - 1))
            #expect(try await client.receive(first: 20).bytes.isEmpty)
            await replay.advance(by: .seconds(1))
            let answer = try await client.answer()
            let date = try #require(answer.fields.first("date").flatMap { HTTPDate.parse($0) })
            // As long after the new beginning as it was after that of the recording.
            let start = try #require(CivilTime.seconds(year: 2150, month: 1, day: 1))
            #expect(abs(date - start - (recorded - begun / 1_000_000_000)) <= 1)
            await replay.stop()
        }
    }

    @Test("Without libcurl nothing else is touched: the fixture's modules do not know the recorder")
    func fixtureIsFree() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../Sources")
        for part in [
            "Wire", "JSONText", "WebPush", "Simulation", "Faults", "Backends", "Cassettes", "PushSim", "Testing",
        ] {
            let files = FileManager.default.enumerator(atPath: folder.appendingPathComponent(part).path)
            for case let name as String in files ?? FileManager.DirectoryEnumerator() where name.hasSuffix(".swift") {
                let text = try String(
                    contentsOf: folder.appendingPathComponent(part).appendingPathComponent(name), encoding: .utf8)
                #expect(
                    !text.contains("import CPushSimCurl") && !text.contains("import PushSimRecorder"), "\(part)/\(name)"
                )
            }
        }
    }
}
