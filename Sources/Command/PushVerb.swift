import PushSim
import PushSimJSONText
import PushSimSimulation
import PushSimWire

/// `pushsim push`: a push through a running server.
enum PushVerb {
    static func run(_ arguments: Arguments) throws {
        guard arguments.rest.count == 1, arguments.rest[0] == "ntm" else {
            throw UsageError(message: "Say which backend sends it: push ntm.", verb: "push")
        }
        guard let topic = arguments.last("topic") else {
            throw UsageError(message: "--topic is missing.", verb: "push")
        }
        var body: JSON = ["topic": .string(topic), "type": .string(arguments.last("type") ?? "notify")]
        if let userdata = arguments.last("userdata") { body.set("userdata", .string(userdata)) }
        let response = try Remote(arguments, verb: "push").post("/__pushsim/ntm/notifications", body)
        let answer = (try? JSONDocument(response.body)).map { JSON($0.root) } ?? .null
        guard response.status == 202 else {
            throw Finding(message: answer["error"]?["message"]?.string ?? "the server answered \(response.status)")
        }
        if arguments.has("json") { return Files.out(response.body.text) }
        let deliveries = answer["deliveries"]?.elements ?? []
        Files.out("\(deliveries.count) deliveries\n")
        for delivery in deliveries {
            let words = ["id", "transport", "subscriber", "outcome"].compactMap { delivery[$0]?.string }
            Files.out("  " + words.joined(separator: "  ") + "\n")
        }
    }
}
