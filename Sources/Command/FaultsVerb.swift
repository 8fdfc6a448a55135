import PushSimFaults
import PushSimJSONText
import PushSimSimulation
import PushSimWebPush

/// `pushsim faults`: every fault that a profile can name.
enum FaultsVerb {
    static func run(_ arguments: Arguments) throws {
        if let stray = arguments.rest.first {
            throw UsageError(message: "faults takes no \"\(stray)\".", verb: "faults")
        }
        if arguments.has("json") { return Files.out(json.description + "\n") }
        var text = "Records: then: { record: \"<id or name>\" } on a delivery, or POST /__pushsim/records\n"
        for fault in records {
            text +=
                "  \(fault.id)  " + Help.pad(fault.name, 28) + Help.pad(fault.stage?.rawValue ?? "opens", 9)
                + "\(fault.about); a correct client \(fault.client)\n"
        }
        text += "Header fields: then: { headers: \"<id>\" } on a delivery; concerns the push service, not the client\n"
        for fault in HeaderFault.all { text += "  " + Help.pad(fault.id, 16) + fault.about + "\n" }
        text += "Order and time: as written, on a delivery\n"
        for fault in RecordFault.sequences {
            text += "  \(fault.id)  " + Help.pad("then: { \(fault.how) }", 46)
            text += "\(fault.about); a correct client \(fault.client)\n"
        }
        Files.out(text)
    }

    private static var records: [RecordFault] { RecordFault.all + [.repeatedNonce] }

    private static var json: JSON {
        let records = records.map { fault -> JSON in
            [
                "id": .string(fault.id), "name": .string(fault.name), "about": .string(fault.about),
                "fails_at": .string(fault.stage?.rawValue ?? "none"), "client": .string(fault.client),
            ]
        }
        let headers = HeaderFault.all.map {
            JSON.object([.init("id", .string($0.id)), .init("about", .string($0.about))])
        }
        let sequences = RecordFault.sequences.map { fault -> JSON in
            [
                "id": .string(fault.id), "about": .string(fault.about), "then": .string(fault.how),
                "client": .string(fault.client),
            ]
        }
        return ["records": .array(records), "headers": .array(headers), "sequences": .array(sequences)]
    }
}
