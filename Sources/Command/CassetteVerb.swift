import PushSimCassettes
import PushSimJSONText
import PushSimSimulation
import PushSimWire

/// `pushsim cassette show | check`.
enum CassetteVerb {
    static func run(_ arguments: Arguments) throws {
        let names = ["show", "check"]
        guard let what = arguments.rest.first else {
            throw UsageError(message: "Say what to do: cassette show or check.", verb: "cassette")
        }
        let files = Array(arguments.rest.dropFirst())
        if files.isEmpty { throw UsageError(message: "Name the cassettes.", verb: "cassette") }
        switch what {
        case "show": for file in files { show(try CassetteFile.load(file)) }
        case "check": try check(files)
        default:
            throw UsageError(
                message: "There is no \"cassette \(what)\".\(Suggestion.text(what, names))", verb: "cassette")
        }
    }

    private static func show(_ cassette: Cassette) {
        Files.out("\(cassette.name): \(cassette.entries.count) entries\n")
        for (index, entry) in cassette.entries.enumerated() {
            let outcome: String
            switch entry.outcome {
            case .answer(let answer):
                outcome =
                    "\(answer.status)  "
                    + (answer.body == .notCaptured ? "body not captured" : "\(answer.body.octets.count) octets")
            case .failure(let failure): outcome = "failed: \(failure)"
            }
            Files.out("  \(index + 1)  \(entry.line)  \(outcome)\n")
        }
        for note in cassette.notes { Files.out("  (\(note))\n") }
    }

    private static func check(_ files: [String]) throws(Finding) {
        var findings: [String] = []
        for file in files {
            let cassette = try CassetteFile.load(file)
            for (index, entry) in cassette.entries.enumerated() {
                if case .answer(let answer) = entry.outcome, answer.body == .notCaptured {
                    findings.append("\(file): entry \(index + 1), \(entry.line): the body was not captured")
                }
            }
            findings += cassette.notes.map { "\(file): \($0)" }
            if findings.isEmpty { Files.out("\(file): good, \(cassette.entries.count) entries\n") }
        }
        if !findings.isEmpty { throw Finding(message: findings.joined(separator: "\n")) }
    }
}
