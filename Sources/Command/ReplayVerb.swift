import CPushSimSystem
import PushSim
import PushSimCassettes
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
        let tape: CassetteTape
        do {
            tape = CassetteTape(try arguments.rest.map { try load($0) })
        } catch let error as CassetteError {
            throw Finding(message: error.description)
        }
        let chosen = settings
        try Serve(arguments, replaying: { CassettePlayer(tape, chosen) }).run()
    }

    /// A file, or one of the shipped cassettes by its name.
    private static func load(_ name: String) throws(CassetteError) -> Cassette {
        if pushsim_file_size(name) < 0, let shipped = try ShippedRecordings.load(name) { return shipped }
        return try CassetteStore.load(name)
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
