import PushSimJSONText
import PushSimSimulation
import PushSimWire

// `then` of a rule about deliveries.
extension ProfileReader {
    private static let deliveryKeys = [
        "answer", "payload", "drop", "duplicate", "fresh", "hold", "late", "reorder", "headers",
    ]
    private static let laterDeliveryKeys = ["record", "ring", "wire", "connection"]

    mutating func deliveryActions(_ value: JSONValue) -> DeliveryActions {
        var actions = DeliveryActions()
        guard let fields = fields(value, "\"then\" of a delivery", Self.deliveryKeys, later: Self.laterDeliveryKeys)
        else { return actions }
        if value.members.isEmpty { mistake(value, "\"then\" says nothing: what is to happen?") }
        actions.answer = fields["answer"].flatMap { deliveryAnswer($0) }
        actions.payload = fields["payload"].flatMap { payload($0) }
        if let drop = fields["drop"] { actions.drop = flag(drop, "drop") ?? false }
        actions.duplicate = fields["duplicate"].flatMap { count($0, "duplicate", from: 2, to: 1000) }
        if let fresh = fields["fresh"] {
            actions.isFresh = flag(fresh, "fresh") ?? false
            if fields["duplicate"] == nil {
                mistake(fresh, "\"fresh\" says how duplicates are made: give \"duplicate\"")
            }
        }
        actions.hold = fields["hold"].flatMap { duration($0, "hold") }
        actions.late = fields["late"].flatMap { duration($0, "late") }
        actions.reorder = fields["reorder"].flatMap { count($0, "reorder", from: 2, to: 1000) }
        if let headers = fields["headers"] { actions.headers = changes(headers) }
        return actions
    }

    private mutating func count(_ value: JSONValue, _ name: String, from least: Int, to most: Int) -> Int? {
        if let number = value.int, number >= least, number <= most { return number }
        wrong(value, name, "a whole number from \(least) to \(most)")
        return nil
    }

    private mutating func deliveryAnswer(_ value: JSONValue) -> DeliveryActions.Answer? {
        guard let fields = fields(value, "\"answer\"", ["status", "reason", "retryAfter"]) else { return nil }
        guard let status = fields["status"] else {
            mistake(value, "\"answer\" needs a \"status\"")
            return nil
        }
        guard let number = status.int, (200...599).contains(number) else {
            wrong(status, "status", "a number from 200 to 599")
            return nil
        }
        var answer = DeliveryActions.Answer(status: number)
        answer.reason = fields["reason"].flatMap { text($0, "reason") }
        answer.retryAfter = fields["retryAfter"].flatMap { duration($0, "retryAfter") }
        return answer
    }

    private mutating func payload(_ value: JSONValue) -> DeliveryActions.Payload? {
        guard let fields = fields(value, "\"payload\"", ["set", "drop", "userdata"], later: ["actiondata"]) else {
            return nil
        }
        var payload = DeliveryActions.Payload()
        if let set = fields["set"] {
            guard set.kind == .object else {
                wrong(set, "set", "an object of paths and values")
                return nil
            }
            for member in set.members {
                if let path = self.path(member.key) { payload.set.append((path, json(member.value))) }
            }
        }
        if let drop = fields["drop"] {
            let paths = drop.kind == .array ? drop.elements : [drop]
            payload.drop = paths.compactMap { path($0) }
        }
        if let userdata = fields["userdata"] {
            let text = userdata.stringBytes
            payload.userdata = text == Array("notJSON".utf8) ? Array("{not JSON".utf8) : text ?? json(userdata).bytes
        }
        return payload
    }

    private mutating func path(_ value: JSONValue) -> JSONPath? {
        if let text = value.string, let path = JSONPath(text), !path.steps.isEmpty { return path }
        mistake(value, "\(value.sourceText) is no path such as \"data.channel_id\"")
        return nil
    }

    /// Names with the value they are to have; null leaves the field out.
    private mutating func changes(_ value: JSONValue) -> [(name: [UInt8], value: [UInt8]?)] {
        guard value.kind == .object else {
            wrong(value, "headers", "an object of names and values")
            return []
        }
        var found: [(name: [UInt8], value: [UInt8]?)] = []
        for member in value.members {
            let name = member.key.stringBytes ?? []
            let text = member.value.stringBytes ?? (member.value.kind == .number ? Array(member.value.source) : nil)
            guard HeaderField.isName(name), text != nil || member.value.isNull, text.map(HeaderField.isValue) ?? true
            else {
                mistake(member.key, "this is no header that HTTP allows, with a text, a number or null")
                continue
            }
            found.append((name, text))
        }
        return found
    }
}
