import CPushSimSystem
import PushSimCassettes
import PushSimSimulation
import PushSimWire

/// `pushsim cassette show | check | diff | redact | import | export`.
enum CassetteVerb {
    private static let names = ["show", "check", "diff", "redact", "import", "export"]

    static func run(_ arguments: Arguments) throws {
        guard let what = arguments.rest.first else {
            throw UsageError(
                message: "Say what to do: cassette \(names.joined(separator: ", ")).", verb: "cassette")
        }
        let files = Array(arguments.rest.dropFirst())
        guard names.contains(what) else {
            throw UsageError(
                message: "There is no \"cassette \(what)\".\(Suggestion.text(what, names))", verb: "cassette")
        }
        if files.isEmpty { throw UsageError(message: "Name the cassettes.", verb: "cassette") }
        if arguments.has("out"), ["show", "check", "diff"].contains(what) {
            throw UsageError(message: "cassette \(what) writes nothing: it takes no --out.", verb: "cassette")
        }
        if arguments.has("timings"), what != "import" {
            throw UsageError(message: "--timings belongs to cassette import.", verb: "cassette")
        }
        if arguments.has("fix"), what != "check" {
            throw UsageError(message: "--fix belongs to cassette check.", verb: "cassette")
        }
        switch what {
        case "show": for file in files { show(try load(file)) }
        case "check": try check(files, arguments)
        case "diff": try diff(files)
        default: try write(what, files, arguments)
        }
    }

    private static func load(_ file: String) throws(Finding) -> Cassette {
        do throws(CassetteError) {
            return try CassetteStore.load(file)
        } catch {
            throw Finding(message: error.description)
        }
    }

    // MARK: reading

    private static func show(_ cassette: Cassette) {
        Files.out("\(cassette.name): \(counted(cassette.entries.count, "entry", "entries"))\n")
        for (index, entry) in cassette.entries.enumerated() {
            let outcome: String
            switch entry.outcome {
            case .answer(let answer):
                outcome =
                    "\(answer.status)  "
                    + (answer.body == .notCaptured ? "body not captured" : "\(answer.body.octets.count) octets")
            case .failure(let failure):
                let told = failure.answer.map { ", after \($0.status) and \($0.body.octets.count) octets" } ?? ""
                outcome = "failed: \(failure.kind == .other ? failure.detail : failure.kind.rawValue)\(told)"
            }
            let direction = entry.isDelivery ? "delivery  " : ""
            Files.out("  \(index + 1)  \(direction)\(entry.line)  \(outcome)\n")
        }
        for note in cassette.notes { Files.out("  (\(note))\n") }
    }

    private static func check(_ files: [String], _ arguments: Arguments) throws {
        var findings: [String] = []
        for file in files {
            var cassette = try load(file)
            if arguments.has("fix") {
                try rewrite(cassette, to: file, arguments)
                cassette = try load(file)
            }
            let own = CassetteCheck.findings(cassette, now: pushsim_wall_clock())
            findings += own.map { "\(file): \($0)" }
            for remark in CassetteCheck.remarks(cassette) { Files.out("(\(file): \(remark))\n") }
            if own.isEmpty { Files.out("\(file): good, \(counted(cassette.entries.count, "entry", "entries"))\n") }
        }
        if !findings.isEmpty { throw Finding(message: findings.joined(separator: "\n")) }
    }

    private static func diff(_ files: [String]) throws {
        guard files.count == 2 else {
            throw UsageError(message: "cassette diff takes two cassettes.", verb: "cassette")
        }
        let differences = CassetteDiff.differences(try load(files[0]), try load(files[1]))
        if !differences.isEmpty { throw Finding(message: "they differ:\n  " + differences.joined(separator: "\n  ")) }
        Files.out("They mean the same.\n")
    }

    // MARK: writing

    private static func write(_ what: String, _ files: [String], _ arguments: Arguments) throws {
        guard files.count == 1 else {
            throw UsageError(message: "cassette \(what) takes one cassette.", verb: "cassette")
        }
        let cassette = try load(files[0])
        let out = arguments.last("out")
        switch what {
        case "redact": try rewrite(cassette, to: out ?? files[0], arguments)
        case "import":
            guard let out else { throw UsageError(message: "cassette import needs --out.", verb: "cassette") }
            var imported = cassette
            if !arguments.has("timings") { imported.about.recordedAt = nil }
            try rewrite(imported, to: out, arguments)
            for note in cassette.notes { Files.out("(\(note))\n") }
        default:
            guard let out else { throw UsageError(message: "cassette export needs --out.", verb: "cassette") }
            let strict = HARWriter.files(cassette, name: CassetteStore.name(out), isStrict: true)
            try store(strict, out)
        }
        Files.out("\(out ?? files[0]): \(counted(cassette.entries.count, "entry", "entries"))\n")
    }

    private static func rewrite(_ cassette: Cassette, to path: String, _ arguments: Arguments) throws {
        var redaction = CassetteRedaction()
        redaction.normalises = false
        let rules = try RecordVerb.rules(arguments, "cassette")
        let known = Set(rules.map(\.text))
        redaction.rules =
            cassette.about.redact.filter { !known.contains($0) }.compactMap { try? RedactionRule($0) } + rules
        redaction.redactsRoutingIDs = arguments.has("redact-routing-ids")
        do throws(CassetteError) {
            try CassetteStore.write(
                try redaction.files(cassette, name: CassetteStore.name(path)), to: path)
        } catch {
            throw Finding(message: error.description)
        }
    }

    private static func store(_ files: CassetteFiles, _ path: String) throws(Finding) {
        do throws(CassetteError) {
            try CassetteStore.write(files, to: path)
        } catch {
            throw Finding(message: error.description)
        }
    }
}
