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
        for secret in arguments.all("secret") {
            let parts = secret.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw UsageError(message: "--secret takes name=value.", verb: "replay")
            }
            settings.secrets[ByteKey(Array(parts[0].utf8))] = Array(parts[1].utf8)
        }
        let cassettes = try arguments.rest.map { try CassetteFile.load($0) }
        let chosen = settings
        try Serve(arguments, replaying: { CassettePlayer(cassettes, chosen) }).run()
    }
}
