import CPushSimSystem
import PushSim
import PushSimSimulation

@main
enum Main {
    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        pushsim_exit(run(words))
    }

    /// The exit code: 0, 1 for findings, 2 for a mistake on the command line.
    private static func run(_ words: [String]) -> Int32 {
        do {
            try dispatch(words)
            return 0
        } catch let error as UsageError {
            Files.error("Error: \(error.message) See 'pushsim\(error.verb.map { " \($0)" } ?? "") --help'.\n")
            return 2
        } catch let finding as Finding {
            Files.error("Error: \(finding.message)\n")
            return 1
        } catch {
            Files.error("Error: \(error)\n")
            return 1
        }
    }

    private static func dispatch(_ words: [String]) throws {
        guard let first = words.first else {
            throw UsageError(message: "Say what to do: one of \(Help.verbs.map(\.name).joined(separator: ", ")).")
        }
        if first == "--help" || first == "-h" { return Files.out(Help.overview) }
        if first == "--version" { return Files.out("pushsim \(Version.text)\n") }
        guard let verb = Help.verbs.first(where: { $0.name == first }) else {
            throw UsageError(
                message: "There is no verb \"\(first)\".\(Suggestion.text(first, Help.verbs.map(\.name)))")
        }
        let rest = Array(words.dropFirst())
        let beforeEnd = rest.prefix { $0 != "--" }
        if beforeEnd.contains("--help") { return Files.out(Help.screen(verb)) }
        let arguments = try Arguments(rest, verb.flags, verb: verb.name)
        switch verb.name {
        case "serve": try Serve(arguments).run()
        case "push": try PushVerb.run(arguments)
        case "record": try RecordVerb.run(arguments)
        case "replay": try ReplayVerb.run(arguments)
        case "cassette": try CassetteVerb.run(arguments)
        case "faults": try FaultsVerb.run(arguments)
        case "verify": try VerifyVerb.run(arguments)
        case "routes": try RoutesVerb.run(arguments)
        case "profile": try ProfileVerb.run(arguments)
        case "version": Files.out("pushsim \(Version.text)\n")
        default: try help(arguments)
        }
    }

    private static func help(_ arguments: Arguments) throws(UsageError) {
        guard let name = arguments.rest.first else { return Files.out(Help.overview) }
        guard let verb = Help.verbs.first(where: { $0.name == name }) else {
            throw UsageError(message: "There is no verb \"\(name)\".\(Suggestion.text(name, Help.verbs.map(\.name)))")
        }
        Files.out(Help.screen(verb))
    }
}
