import Dispatch
import PushSimCassettes
import PushSimRecorder
import PushSimWire

/// Replays a cassette's requests against the upstream and says what it answers otherwise.
enum LiveCheck {
    static func run(_ path: String, _ settings: RecorderSettings, _ secrets: [ByteKey: [UInt8]]) throws {
        let cassette: Cassette
        let live: Recorder
        do {
            cassette = try CassetteStore.load(path)
            live = try Recorder(settings)
        } catch let error as CassetteError {
            throw Finding(message: error.description)
        }
        var found: [String] = []
        var asked = 0
        for (index, recorded) in cassette.entries.enumerated() where !recorded.isDelivery {
            let place = "entry \(index + 1), \(recorded.line)"
            let (entry, missing) = recorded.filled(secrets)
            if !missing.isEmpty {
                Files.out(
                    "(\(place): not asked; give it --secret \(missing.map { "\($0)=…" }.joined(separator: " --secret ")))\n"
                )
                continue
            }
            asked += 1
            found += CassetteDiff.outcome(entry.normalised, live.ask(entry).normalised).map { "\(place): \($0)" }
        }
        let done = DispatchSemaphore(value: 0)
        live.stop { done.signal() }
        done.wait()
        if !found.isEmpty { throw Finding(message: "\(path) has drifted:\n  " + found.joined(separator: "\n  ")) }
        Files.out("\(path): the upstream still answers so, \(counted(asked, "entry", "entries")) asked\n")
    }
}
