import CPushSimSystem
import PushSim
import PushSimCassettes
import PushSimSimulation
import PushSimWire

/// `pushsim replay`: recordings in the place of a server. It fails closed: what was not recorded is 501.
enum ReplayVerb {
    static func run(_ arguments: Arguments) throws {
        if arguments.rest.isEmpty { throw UsageError(message: "Name the cassettes to replay.", verb: "replay") }
        var settings = PlayerSettings()
        if let order = arguments.last("order") {
            guard let known = PlayerSettings.Order(rawValue: order) else {
                throw UsageError(message: "--order takes identity or strict, not \"\(order)\".", verb: "replay")
            }
            settings.order = known
        }
        settings.repeatsLast = arguments.has("repeat-last")
        settings.shiftsDates = arguments.has("shift-dates")
        settings.secrets = try secrets(arguments, "replay")
        if let timing = arguments.last("timing") { settings.speed = try speed(timing) }
        if settings.repeatsLast, settings.order == .strict {
            throw UsageError(message: "--repeat-last belongs to --order identity.", verb: "replay")
        }
        let tape: CassetteTape
        do {
            let cassettes = try arguments.rest.map { try load($0) }
            try check(cassettes, settings)
            tape = CassetteTape(cassettes)
        } catch let error as CassetteError {
            throw Finding(message: error.description)
        }
        let chosen = settings
        try Serve(arguments, replaying: { CassettePlayer(tape, chosen) }).run()
    }

    /// A file, or one of the shipped cassettes by its name.
    private static func load(_ name: String) throws(CassetteError) -> Cassette {
        if pushsim_file_size(name) < 0, let shipped = try ShippedRecordings.load(name) { return shipped }
        return try CassetteStore.load(name).checkedForReplay()
    }

    /// What is asked of cassettes that they do not have.
    private static func check(_ cassettes: [Cassette], _ settings: PlayerSettings) throws {
        let known = settings.secrets.isEmpty ? [] : Set(cassettes.flatMap(\.placeholders))
        if let stranger = settings.secrets.keys.map({ $0.bytes.text }).sorted().first(where: { !known.contains($0) }) {
            throw UsageError(
                message: "--secret \(stranger): no placeholder is called so."
                    + Suggestion.text(stranger, known.sorted()), verb: "replay")
        }
        guard settings.shiftsDates, let timeless = cassettes.first(where: { $0.about.recordedAt == nil }) else {
            return
        }
        throw Finding(
            message: "--shift-dates: \(timeless.name) does not say when it was recorded; record it with --timings")
    }

    private static func speed(_ text: String) throws(UsageError) -> Double? {
        if text == "none" { return nil }
        if text == "recorded" { return 1 }
        guard text.hasPrefix("x"), let speed = Double(text.dropFirst()), speed > 0, speed < 1e6 else {
            throw UsageError(
                message: "--timing takes none, recorded or a speed such as x2, not \"\(text)\".", verb: "replay")
        }
        return speed
    }

    /// What placeholders stand for, by their names.
    static func secrets(_ arguments: Arguments, _ verb: String) throws(UsageError) -> [ByteKey: [UInt8]] {
        var secrets: [ByteKey: [UInt8]] = [:]
        for secret in arguments.all("secret") {
            let parts = secret.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else {
                throw UsageError(message: "--secret takes name=value.", verb: verb)
            }
            secrets[ByteKey(Array(parts[0].utf8))] = Array(parts[1].utf8)
        }
        return secrets
    }
}
