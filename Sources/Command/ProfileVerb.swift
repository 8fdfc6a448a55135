import PushSim
import PushSimFaults
import PushSimJSONText
import PushSimSimulation
import PushSimWire

/// `pushsim profile check | explain | list`.
enum ProfileVerb {
    static func run(_ arguments: Arguments) throws {
        let names = ["check", "explain", "list"]
        guard let what = arguments.rest.first else {
            throw UsageError(message: "Say what to do: profile check, explain or list.", verb: "profile")
        }
        let files = Array(arguments.rest.dropFirst())
        switch what {
        case "check": try check(files, arguments.has("json"))
        case "explain": try explain(files, arguments)
        case "list": try list(arguments)
        default:
            throw UsageError(
                message: "There is no \"profile \(what)\".\(Suggestion.text(what, names))", verb: "profile")
        }
    }

    /// A profile from a file, or where there is none of that name a shipped one.
    static func load(_ name: String) throws(Finding) -> Profile {
        let bytes: [UInt8]
        if let shipped = ShippedProfiles.text(name) {
            bytes = shipped
        } else {
            do throws(Finding) {
                bytes = try Files.read(name)
            } catch {
                let near = Suggestion.text(name, ShippedProfiles.names)
                throw Finding(message: "\(error.message); nor is it one of the shipped profiles.\(near)")
            }
        }
        do throws(ProfileError) {
            return try ProfileReader.read(bytes, Vocabulary(Service.allBackends), fallbackName: name)
        } catch {
            throw Finding(message: error.mistakes.map { "\(name):\($0)" }.joined(separator: "\n"))
        }
    }

    private static func check(_ files: [String], _ isJSON: Bool) throws {
        if files.isEmpty { throw UsageError(message: "Name the files to check.", verb: "profile") }
        var findings: [String] = []
        var rows: [JSON] = []
        for file in files {
            do throws(Finding) {
                let profile = try load(file)
                rows.append(["file": .string(file), "rules": .int(profile.rules.count), "mistakes": .array([])])
                if !isJSON { Files.out("\(file): good, \(counted(profile.rules.count, "rule", "rules"))\n") }
            } catch {
                let lines = error.message.split(separator: "\n").map { JSON.string(String($0)) }
                rows.append(["file": .string(file), "rules": .null, "mistakes": .array(lines)])
                findings.append(error.message)
            }
        }
        if isJSON { Files.out(JSON.array(rows).description + "\n") }
        if !findings.isEmpty { throw Finding(message: findings.joined(separator: "\n")) }
    }

    private static func list(_ arguments: Arguments) throws {
        var rows: [JSON] = []
        for name in ShippedProfiles.names {
            let profile = try load(name)
            rows.append(["name": .string(name), "about": .string(profile.about ?? "")])
            if !arguments.has("json") { Files.out(Help.pad(name, 22) + (profile.about ?? "") + "\n") }
        }
        if arguments.has("json") { Files.out(JSON.array(rows).description + "\n") }
    }

    private static func explain(_ files: [String], _ arguments: Arguments) throws {
        guard files.count == 1 else { throw UsageError(message: "Name one profile to explain.", verb: "profile") }
        let profile = try load(files[0])
        if let path = arguments.last("journal") {
            // A journal says what its decisions were drawn from.
            for name in ["calls", "seed", "scope", "key", "json"] where arguments.has(name) {
                throw UsageError(message: "--journal has no --\(name).", verb: "profile")
            }
            return try audit(profile, path)
        }
        let calls = try number(arguments, "calls") ?? 20
        let seed = try number(arguments, "seed").map { UInt64($0) } ?? profile.seed ?? 1
        let draws = Draws(seed: seed, seedName: arguments.last("scope") ?? "default")
        let engine = FaultEngine(profile, now: 0)
        var rows: [JSON] = []
        for (index, rule) in profile.rules.enumerated() {
            for outcome in engine.explain(index, key: arguments.last("key") ?? "", calls: calls, draws: draws) {
                var row: JSON = ["rule": .string(rule.id), "call": .int(outcome.call), "fires": .bool(outcome.fires)]
                if let draw = outcome.draw { row.set("draw", .number(String(draw))) }
                let delay = outcome.delay.map { "\(Double($0) / 1_000_000)ms" }
                if let delay { row.set("delay", .string(delay)) }
                rows.append(row)
                if arguments.has("json") { continue }
                let draw = outcome.draw.map { "  (drew \($0))" } ?? ""
                Files.out(
                    Help.pad(rule.id, 16) + Help.pad("call \(outcome.call)", 10)
                        + (outcome.fires ? "fires" : "lets it pass") + (delay.map { " after \($0)" } ?? "") + draw
                        + "\n")
            }
        }
        if arguments.has("json") { Files.out(JSON.array(rows).description + "\n") }
    }

    /// Whether each decision of a recorded journal is what the profile says.
    private static func audit(_ profile: Profile, _ path: String) throws {
        let bytes = try Files.read(path)
        let audit: DecisionAudit
        do {
            audit = try DecisionAudit(try JSONDocument(bytes).root, profile)
        } catch {
            throw Finding(message: "\(path): \(error)")
        }
        let differences = audit.differences()
        guard differences.isEmpty else {
            throw Finding(message: differences.map(\.description).joined(separator: "\n"))
        }
        Files.out("\(path): \(audit.count) decisions, each as the profile says\n")
    }

    private static func number(_ arguments: Arguments, _ name: String) throws(UsageError) -> Int? {
        guard let text = arguments.last(name) else { return nil }
        guard let number = decimalDigits(text.utf8), number <= 1_000_000 else {
            throw UsageError(message: "--\(name) takes a number up to 1000000, not \"\(text)\".", verb: "profile")
        }
        return number
    }
}
