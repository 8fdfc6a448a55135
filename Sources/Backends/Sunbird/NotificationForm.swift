import PushSimJSONText
import PushSimSimulation
import PushSimWire

/// A notification as Sunbird's apps read it, and what of it decides when it counts (contract sunbird.md, "Payload
/// profiles").
struct SunbirdNotification: Sendable {
    enum Form: String, Sendable {
        case design, control, draft, shipped
    }

    let json: JSON
    /// The text of its id, by which a device knows it again.
    let id: [UInt8]
    /// Nanoseconds since 1970, from which it may be shown; nil at once.
    let begins: Int64?
    /// From which it is gone; nil never.
    var ends: Int64?
    /// How long after its sending it is gone, where that decides; in nanoseconds.
    let lasts: Int64?
    /// Of one of the app's own, which nobody sends: how long after the install it is shown, in nanoseconds.
    let afterInstall: Int64?

    /// Reads without asking whether it is any good.
    /// - Parameter now: from which an expiry without an epoch counts.
    init(unchecked value: JSONValue, _ form: Form, now: Int64) {
        json = JSON(value)
        let own = value[form == .control ? "notificationid" : "id"]
        // However it is spelt: 1.0 is 1.
        id = own?.int.map { Array(String($0).utf8) } ?? Self.text(own)
        lasts = form == .control ? Self.milliseconds(value["expiry"]) : nil
        switch form {
        case .design, .draft:
            let hours = value[form == .design ? "relativetime" : "relative"]?.int.map(Int64.init)
            afterInstall = value["epoch"] == nil ? hours.flatMap { Self.product($0, 3_600_000_000_000) } : nil
            begins = value["epoch"]?.stringBytes.flatMap(Self.epoch)
            // One that is no span ends nothing.
            let minutes = value["expiry"]?.int.flatMap { $0 > 0 ? Int64($0) : nil }
            ends = Self.end(Self.sum(begins, minutes.flatMap { Self.product($0, 60_000_000_000) }))
        case .control:
            (begins, afterInstall) = (nil, nil)
            ends = Self.end(Self.sum(now, lasts))
        case .shipped:
            afterInstall = nil
            begins = Self.instant(Self.text(value["displayTime"]))
            ends = Self.end(Self.instant(Self.text(value["expiry"])))
        }
    }

    /// - Parameter types: the numbers of DOWNTIME, GREETINGS, NON-DISPLAY and OTHERS in the form design.
    /// - Throws: what is wrong, and in which member.
    init(_ value: JSONValue, _ form: Form, types: [Int], now: Int64, path: String) throws(ControlError) {
        guard value.kind == .object else { throw ControlError("must be an object, not \(value.kindName)", path: path) }
        if let twice = value.firstDuplicate {
            throw ControlError("\"\(twice.name)\" stands twice", path: "\(path).\(twice.name)")
        }
        switch form {
        case .design: try Self.checkDesign(value, types, path)
        case .control: try Self.checkControl(value, path)
        case .draft: try Self.checkDraft(value, path)
        case .shipped: try Self.checkShipped(value, path)
        }
        self.init(unchecked: value, form, now: now)
    }

    /// It is sent for the first time.
    mutating func begins(at now: Int64) {
        if let lasts { ends = Self.end(Self.sum(now, lasts)) }
    }

    /// Whether it is of this moment that nobody gets it any more.
    func isOver(_ now: Int64) -> Bool { ends.map { now >= $0 } ?? false }

    // MARK: the forms

    private static func checkDesign(_ value: JSONValue, _ types: [Int], _ path: String) throws(ControlError) {
        try checkNumber(value["id"], "\(path).id")
        let type = try checkType(value["type"], types, "\(path).type")
        let isShown = types.prefix(2).contains(type)
        try checkTimes(value, local: "relativetime", path)
        guard let action = value["actiondata"] else {
            if isShown { throw ControlError("is missing", path: "\(path).actiondata") }
            return
        }
        guard action.kind == .object else {
            throw ControlError("must be an object, not \(action.kindName)", path: "\(path).actiondata")
        }
        if isShown || action["translations"] != nil {
            try checkTranslations(action["translations"], "\(path).actiondata.translations")
        }
    }

    private static func checkDraft(_ value: JSONValue, _ path: String) throws(ControlError) {
        try checkNumber(value["id"], "\(path).id")
        _ = try checkType(value["type"], [1, 2], "\(path).type")
        try checkTimes(value, local: "relative", path)
        if value["translations"] != nil { try checkTranslations(value["translations"], "\(path).translations") }
    }

    private static func checkControl(_ value: JSONValue, _ path: String) throws(ControlError) {
        for name in ["actiontype", "notificationtype", "notificationid"] as [StaticString] {
            guard let text = value[name]?.stringBytes, !text.isEmpty else {
                throw ControlError("must be a text", path: "\(path).\(name)")
            }
        }
        let kind = value["actiontype"]?.string ?? ""
        guard kind == "display" || kind == "non-display" else {
            throw ControlError("must be display or non-display, not \"\(kind)\"", path: "\(path).actiontype")
        }
        guard let expiry = milliseconds(value["expiry"]), expiry > 0 else {
            throw ControlError("must be milliseconds such as \"34646millis\"", path: "\(path).expiry")
        }
        if let data = value["data"], data.kind != .string {
            throw ControlError("must be a text, not \(data.kindName)", path: "\(path).data")
        }
    }

    private static let actions = [
        "codePush", "courseUpdate", "contentUpdate", "bookUpdate", "updateApp", "extURL", "contentURL",
        "certificateUpdate", "search",
    ]

    private static func checkShipped(_ value: JSONValue, _ path: String) throws(ControlError) {
        for member in value.members where member.value.kind != .string {
            throw ControlError("must be a text, as all data of FCM is", path: "\(path).\(member.name)")
        }
        let id = text(value["id"])
        guard decimalDigits(id.first == 45 ? Array(id.dropFirst()) : id) != nil else {
            throw ControlError("must be a whole number as text", path: "\(path).id")
        }
        guard ["1", "2", "3"].contains(text(value["type"]).text) else {
            throw ControlError("must be 1, 2 or 3 as text", path: "\(path).type")
        }
        for name in ["displayTime", "expiry"] as [StaticString] {
            guard let instant = instant(text(value[name])), instant > 0 else {
                throw ControlError("must be a time in seconds or milliseconds as text", path: "\(path).\(name)")
            }
        }
        guard let given = value["actionData"] else { throw ControlError("is missing", path: "\(path).actionData") }
        guard let action = (try? JSONDocument(given.stringBytes ?? []))?.root, action.kind == .object else {
            throw ControlError("must be the text of a JSON object", path: "\(path).actionData")
        }
        guard let type = action["actionType"]?.string, actions.contains(type) else {
            throw ControlError(
                "must be one of \(actions.joined(separator: ", "))", path: "\(path).actionData.actionType")
        }
        for name in ["title", "description"] as [StaticString] where action[name]?.string == nil {
            throw ControlError("must be a text", path: "\(path).actionData.\(name)")
        }
        for name in ["thumbnail", "banner", "deepLink", "identifier", "filter"] as [StaticString] {
            if let value = action[name], value.kind != .string {
                throw ControlError("must be a text, not \(value.kindName)", path: "\(path).actionData.\(name)")
            }
        }
        if let filter = action["filter"]?.stringBytes, (try? JSONDocument(filter)) == nil {
            throw ControlError("must be the text of JSON", path: "\(path).actionData.filter")
        }
    }

    // MARK: members

    private static func checkNumber(_ value: JSONValue?, _ path: String) throws(ControlError) {
        guard let value else { throw ControlError("is missing", path: path) }
        let digits = value.source.first == 45 ? value.source.dropFirst() : value.source
        let isLong = value.kind == .number && digits.allSatisfy { $0 >= 48 && $0 <= 57 }
        guard isLong || value.int != nil else { throw ControlError("must be a whole number", path: path) }
    }

    private static func checkType(
        _ value: JSONValue?, _ known: [Int], _ path: String
    ) throws(ControlError) -> Int {
        guard let value else { throw ControlError("is missing", path: path) }
        guard let type = value.int, known.contains(type) else {
            throw ControlError(
                "must be one of \(known.map(String.init).joined(separator: ", ")), not \(value.sourceText)", path: path)
        }
        return type
    }

    /// A message of the server's has epoch and expiry; one of the app's own has hours after its install instead.
    private static func checkTimes(
        _ value: JSONValue, local: StaticString, _ path: String
    ) throws(ControlError) {
        if let hours = value[local] {
            for name in ["epoch", "expiry"] as [StaticString] where value[name] != nil {
                throw ControlError("does not go together with \(local)", path: "\(path).\(name)")
            }
            // A hundred years.
            guard let number = hours.int, (0...876_000).contains(number) else {
                throw ControlError("must be a whole number of hours from 0 to 876000", path: "\(path).\(local)")
            }
            return
        }
        guard let epoch = value["epoch"] else { throw ControlError("is missing", path: "\(path).epoch") }
        guard let text = epoch.stringBytes, Self.epoch(text) != nil else {
            throw ControlError("must be a time such as \"2016-08-29T02:40:33+0530\"", path: "\(path).epoch")
        }
        guard let expiry = value["expiry"] else { throw ControlError("is missing", path: "\(path).expiry") }
        guard let minutes = expiry.int, minutes > 0 else {
            throw ControlError("must be a whole number of minutes above 0", path: "\(path).expiry")
        }
    }

    /// By language; English is what all others fall back to.
    private static func checkTranslations(_ value: JSONValue?, _ path: String) throws(ControlError) {
        guard let value else { throw ControlError("is missing", path: path) }
        guard value.kind == .object else { throw ControlError("must be an object, not \(value.kindName)", path: path) }
        guard value["en"] != nil else { throw ControlError("is missing", path: "\(path).en") }
        for member in value.members {
            guard member.value["title"]?.string != nil, member.value["msg"]?.string != nil else {
                throw ControlError("must have the texts title and msg", path: "\(path).\(member.name)")
            }
        }
    }

    // MARK: values

    private static func text(_ value: JSONValue?) -> [UInt8] {
        guard let value else { return [] }
        return value.stringBytes ?? Array(value.source)
    }

    /// The design page's form: an offset without a colon.
    static func epoch(_ text: [UInt8]) -> Int64? {
        guard text.count == 24, text[19] == 43 || text[19] == 45, text[10] == 84 else { return nil }
        return TimeText.instant(Array(text[..<22]) + [Byte.colon] + text[22...])
    }

    /// `34646millis`, in nanoseconds.
    private static func milliseconds(_ value: JSONValue?) -> Int64? {
        guard let text = value?.stringBytes, text.count > 6, text.suffix(6).elementsEqual("millis".utf8),
            let number = decimalDigits(text.dropLast(6))
        else { return nil }
        return product(Int64(number), 1_000_000)
    }

    /// Seconds or, from twelve digits on, milliseconds since 1970.
    private static func instant(_ text: [UInt8]) -> Int64? {
        guard let number = decimalDigits(text).map(Int64.init) else { return nil }
        return product(number, text.count >= 12 ? 1_000_000 : 1_000_000_000)
    }

    /// On the simulation clock, which no moment outside is ever on.
    private static func end(_ time: Int64?) -> Int64? {
        guard let time, time < SimulationClock.end else { return nil }
        return max(0, time)
    }

    private static func product(_ number: Int64, _ factor: Int64) -> Int64? {
        let (result, isTooLarge) = number.multipliedReportingOverflow(by: factor)
        return isTooLarge ? nil : result
    }

    private static func sum(_ start: Int64?, _ span: Int64?) -> Int64? {
        guard let start, let span else { return nil }
        let (result, isTooLarge) = start.addingReportingOverflow(span)
        return isTooLarge ? nil : result
    }
}
