import PushSimFaults
import PushSimJSONText
import PushSimWebPush

/// `pushsim faults`: every fault that a profile can name.
enum FaultsVerb {
    static func run(_ arguments: Arguments) throws {
        if let stray = arguments.rest.first {
            throw UsageError(message: "faults takes no \"\(stray)\".", verb: "faults")
        }
        if arguments.has("json") {
            let rows = RecordFault.all.map { fault -> JSON in
                [
                    "id": .string(fault.id), "name": .string(fault.name), "about": .string(fault.about),
                    "fails_at": .string(fault.stage?.rawValue ?? "none"), "client": .string(fault.client),
                ]
            }
            return Files.out(JSON.object([.init("records", .array(rows))]).description + "\n")
        }
        Files.out("Records: then: { record: \"<id or name>\" } on a delivery, or POST /__pushsim/records\n")
        for fault in RecordFault.all {
            Files.out(
                "  \(fault.id)  " + Help.pad(fault.name, 28) + Help.pad(fault.stage?.rawValue ?? "opens", 9)
                    + "\(fault.about); a correct client \(fault.client)\n")
        }
    }
}
