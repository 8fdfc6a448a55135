import PushSimJSONText
import PushSimSimulation
import PushSimWebPush
import PushSimWire

// `then` of a rule about deliveries.
extension ProfileReader {
    static let deliveryKeys = [
        "answer", "record", "payload", "ring", "drop", "duplicate", "fresh", "hold", "late", "reorder", "headers",
        "wire",
        "connection", "setState",
    ]

    mutating func deliveryActions(_ value: JSONValue, _ on: Matcher) -> DeliveryActions {
        var actions = DeliveryActions()
        guard let fields = fields(value, "\"then\" of a delivery", Self.deliveryKeys) else { return actions }
        if value.members.isEmpty { mistake(value, "\"then\" says nothing: what is to happen?") }
        actions.answer = fields["answer"].flatMap { deliveryAnswer($0) }
        actions.record = fields["record"].flatMap { record($0) }
        actions.payload = fields["payload"].flatMap { payload($0) }
        if let ring = fields["ring"] {
            actions.ring = choice(ring, "ring", "ring", DeliveryActions.Ring.allCases.map(\.rawValue))
                .flatMap { DeliveryActions.Ring(rawValue: $0) }
        }
        if let wire = fields["wire"] { actions.wire = self.wire(wire) }
        if let connection = fields["connection"] {
            actions.connection = self.connection(connection, &actions.wire)
        }
        if let drop = fields["drop"] {
            actions.drop = flag(drop, "drop") ?? false
            if drop.kind == .false { mistake(drop, "\"drop\" takes true: without it nothing is dropped") }
        }
        actions.duplicate = fields["duplicate"].flatMap { whole($0, "duplicate", from: 2, to: 1000) }
        if let fresh = fields["fresh"] {
            actions.isFresh = flag(fresh, "fresh") ?? false
            if fields["duplicate"] == nil {
                mistake(fresh, "\"fresh\" says how duplicates are made: give \"duplicate\"")
            }
        }
        actions.hold = fields["hold"].flatMap { duration($0, "hold") }
        actions.late = fields["late"].flatMap { duration($0, "late") }
        actions.reorder = fields["reorder"].flatMap { whole($0, "reorder", from: 2, to: 1000) }
        if let headers = fields["headers"] { change(headers, &actions) }
        checkReach(fields, on)
        return actions
    }

    /// What could never happen to the deliveries that the rule is about.
    private mutating func checkReach(_ fields: [String: JSONValue], _ on: Matcher) {
        let isRecord = on.backend == nil || on.backend == "fluxer"
        if let record = fields["record"], !isRecord || on.transport != nil && on.transport != "webpush" {
            mistake(record, "only Web Push has records, and these deliveries are none")
        }
        if let ring = fields["ring"], !isRecord || on.kind != nil && on.kind != "ring" {
            mistake(ring, "only Fluxer's rings can be changed so: kind \"ring\"")
        }
        if let headers = fields["headers"], !isRecord || on.transport != nil && on.transport != "webpush" {
            mistake(headers, "only Web Push has header fields, and these deliveries are none")
        }
        if let drop = fields["drop"], drop.kind == .true,
            let other = fields.keys.sorted().first(where: { $0 != "drop" && $0 != "setState" })
        {
            mistake(drop, "a delivery that is dropped has no \"\(other)\"")
        }
        if let payload = fields["payload"], payload.member("userdata") != nil, on.backend ?? "ntm" != "ntm" {
            mistake(payload, "\"userdata\" is NTM's; use \"set\"")
        }
        if let payload = fields["payload"], payload.member("actiondata") != nil, on.backend ?? "sunbird" != "sunbird" {
            mistake(payload, "\"actiondata\" is Sunbird's; use \"set\"")
        }
    }

    private mutating func record(_ value: JSONValue) -> RecordFault? {
        guard let text = text(value, "record") else { return nil }
        if let fault = RecordFault.find(text) { return fault }
        if HeaderFault.find(text) != nil {
            mistake(value, "\"\(text)\" concerns header fields: write headers: \"\(text)\"")
            return nil
        }
        if let how = RecordFault.sequences.first(where: { $0.id == text })?.how {
            mistake(value, "\"\(text)\" is no record but a course of events: write \(how)")
            return nil
        }
        let known = RecordFault.all.flatMap { [$0.id, $0.name] }
        mistake(
            value, "unknown record fault \"\(text)\".\(Suggestion.text(text, known)) `pushsim faults` lists them.")
        return nil
    }

    /// Names with the value they are to have, or the id of a row of the catalogue.
    private mutating func change(_ value: JSONValue, _ actions: inout DeliveryActions) {
        guard let text = value.string else {
            actions.headers += changes(value)
            return
        }
        guard let fault = HeaderFault.find(text) else {
            let known = HeaderFault.all.map(\.id)
            let variants = known.filter { $0.hasPrefix("\(text).") }
            if !variants.isEmpty {
                mistake(value, "\"\(text)\" has variants: say which of \(variants.joined(separator: ", "))")
                return
            }
            mistake(
                value,
                "unknown header fault \"\(text)\".\(Suggestion.text(text, known)) Known: \(known.joined(separator: ", "))."
            )
            return
        }
        fault.apply(to: &actions)
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
        guard let fields = fields(value, "\"payload\"", ["set", "drop", "userdata", "actiondata"]) else {
            return nil
        }
        if value.members.isEmpty { mistake(value, "\"payload\" says nothing: what is to change?") }
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
        if let actiondata = fields["actiondata"] {
            payload.actiondata = text(actiondata, "actiondata").flatMap { DeliveryActions.ActionData(rawValue: $0) }
            if payload.actiondata == nil { wrong(actiondata, "actiondata", "\"notJSON\" or \"object\"") }
        }
        return payload
    }

    private mutating func path(_ value: JSONValue) -> JSONPath? {
        if let text = value.string, let path = JSONPath(text), !path.steps.isEmpty { return path }
        mistake(value, "\(value.sourceText) is no path such as \"data.channel_id\"")
        return nil
    }

    /// Names with the value they are to have; null leaves the field out.
    private mutating func changes(_ value: JSONValue) -> [DeliveryActions.HeaderChange] {
        guard value.kind == .object else {
            wrong(value, "headers", "an object of names and values")
            return []
        }
        var found: [DeliveryActions.HeaderChange] = []
        for member in value.members {
            let name = member.key.stringBytes ?? []
            let text = member.value.stringBytes ?? (member.value.kind == .number ? Array(member.value.source) : nil)
            guard HeaderField.isName(name), text != nil || member.value.isNull, text.map(HeaderField.isValue) ?? true
            else {
                mistake(member.key, "this is no header that HTTP allows, with a text, a number or null")
                continue
            }
            found.append(.init(name, text.map { [$0] } ?? []))
        }
        return found
    }
}
