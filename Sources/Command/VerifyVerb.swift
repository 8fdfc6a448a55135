import PushSimJSONText
import PushSimWire

/// `pushsim verify`: whether the calls that a running server has had are as wanted.
enum VerifyVerb {
    static func run(_ arguments: Arguments) throws {
        guard let text = arguments.rest.first, arguments.rest.count == 1 else {
            throw UsageError(
                message: "Say which calls: one matcher, such as '{ path: \"/v1/subscriber\" }'.", verb: "verify")
        }
        let request: JSON
        do throws(JSONError) {
            request = JSON(try JSONDocument(Array(text.utf8), dialect: .json5).root)
        } catch {
            throw UsageError(message: "The matcher is no JSON5: \(error.description).", verb: "verify")
        }
        var body: JSON = ["request": request]
        var count: JSON = .object([])
        for (flag, member) in [("exactly", "exactly"), ("at-least", "atLeast"), ("at-most", "atMost")] {
            guard let given = arguments.last(flag) else { continue }
            guard let number = decimalDigits(given.utf8) else {
                throw UsageError(message: "--\(flag) takes a number, not \"\(given)\".", verb: "verify")
            }
            count.set(member, .int(number))
        }
        if count.members?.isEmpty == false { body.set("count", count) }
        if let within = arguments.last("within") { body.set("within", .string(within)) }
        let response = try Remote(arguments, verb: "verify").post("/__pushsim/verify", body)
        let answer = (try? JSONDocument(response.body)).map { JSON($0.root) } ?? .null
        switch response.status {
        case 200: Files.out(arguments.has("json") ? response.body.text : "satisfied\n")
        case 422:
            if arguments.has("json") { Files.out(response.body.text) }
            throw Finding(message: describe(answer))
        // What was asked cannot be asked so.
        case 400: throw UsageError(message: response.problem(), verb: "verify")
        default: throw Finding(message: response.problem())
        }
    }

    private static func describe(_ answer: JSON) -> String {
        var lines = [answer["message"]?.string ?? "not satisfied"]
        if answer["inconclusive"]?.bool == true {
            lines.append("Inconclusive: older calls have left the journal (option journal.bytes).")
        }
        for call in answer["nearest"]?.elements ?? [] {
            let differences = (call["differences"]?.elements ?? []).compactMap(\.string).joined(separator: "; ")
            lines.append(
                "  #\(call["call"]?.int ?? 0) \(call["method"]?.string ?? "") \(call["target"]?.string ?? ""): \(differences)"
            )
        }
        return lines.joined(separator: "\n")
    }
}
