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
        let known = cassette.placeholders
        if let stranger = secrets.keys.map({ $0.bytes.text }).sorted().first(where: { !known.contains($0) }) {
            throw UsageError(message: "--secret \(stranger): no placeholder is called so.", verb: "record")
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
            let answered = live.ask(entry)
            if case .failure(let failure) = answered.outcome, let why = unreachable(failure, recorded) {
                stop(live)
                throw Finding(message: "\(place): the upstream cannot be reached (\(why)); nothing more was asked")
            }
            // Secrets differ from run to run, and are not to stand in a log.
            let (left, right) = CassetteRedaction.comparable(recorded, answered, cassette.about.redact)
            found += CassetteDiff.outcome(left, right).map { "\(place): \($0)" }
        }
        stop(live)
        if !found.isEmpty { throw Finding(message: "\(path) has drifted:\n  " + found.joined(separator: "\n  ")) }
        Files.out("\(path): the upstream still answers so, \(counted(asked, "entry", "entries")) asked\n")
    }

    private static func unreachable(_ failure: CassetteEntry.Failure, _ recorded: CassetteEntry) -> String? {
        if case .failure(let own) = recorded.outcome, own.kind == failure.kind { return nil }
        return [.refused, .dns, .tls].contains(failure.kind) ? failure.kind.rawValue : nil
    }

    private static func stop(_ live: Recorder) {
        let done = DispatchSemaphore(value: 0)
        live.stop { done.signal() }
        done.wait()
    }
}
