package import PushSimJSONText
package import PushSimWire

/// What a backend is, apart from any scope: its tables, and what it can say of a call without looking at state.
package protocol Backend: Sendable {
    var name: String { get }
    var table: RouteTable { get }
    var options: [OptionDescription] { get }
    var obligations: [Obligation] { get }
    /// The paths it owns, for people.
    var ownedPaths: [String] { get }
    /// Calls under `/__pushsim/<name>/`, such as `POST notifications`.
    var controls: [ControlDescription] { get }
    /// What profiles may name under `lose` and `token`.
    var losable: [String] { get }
    var tokenFaults: [String] { get }
    var kinds: [String] { get }
    /// Nil where the path is not this backend's.
    func match(_ head: RequestHead, _ path: RequestHead.Span) -> RouteMatch?
    func identify(_ route: Int, _ parameters: [ArraySlice<UInt8>], _ call: Call) -> Facts
    /// - Parameter firstObligation: the ledger's number of its first obligation.
    func makeState(firstObligation: Int) -> any BackendState
}

/// What a backend knows in one scope. Used under the scope's lock.
package protocol BackendState: AnyObject {
    func optionsChanged(_ options: OptionValues)
    var backendName: String { get }
    func answer(_ match: RouteMatch, _ call: Call, _ world: inout World) -> Answer
    /// The answer with a scripted status and no scripted body.
    /// - Parameter retryAfter: nanoseconds, where the profile says when to come back.
    func scripted(_ status: Int, retryAfter: Int64?, _ call: Call, _ world: inout World) -> Answer
    /// Loses what `what` names of the call's subject, as a server that forgets.
    /// - Parameter tokens: of those that the call names, the ones that are concerned.
    func lose(_ what: String, _ tokens: [[UInt8]], _ call: Call, _ world: inout World)
    /// Whether the call makes what it is to lose, so that it is lost after the answer.
    func makes(_ what: String, _ call: Call) -> Bool
    /// Whether the call is refused by its head alone, so that its body is not wanted.
    func refusesUnread(_ call: Call, _ world: inout World) -> Bool
    func spoilToken(_ fault: String, _ tokens: [[UInt8]], _ call: Call, _ world: inout World)
    /// Changes an answer of discovery as a profile wants it.
    func changeDiscovery(_ response: inout Response, _ patch: JSON)
    /// A profile has decided on a delivery; what concerns the state is done now.
    func prepare(_ delivery: Delivery, _ actions: DeliveryActions, _ world: inout World)
    /// What a push service's answer to a delivery means.
    func judge(_ delivery: Delivery, _ status: Int, _ reason: String?) -> Verdict
    /// Whether what was kept back may still be sent.
    func mayReach(_ delivery: Delivery) -> Bool
    /// The push service has said that the device is gone.
    func registrationGone(_ delivery: Delivery, _ world: inout World)
    /// Somebody tells what the device did with a delivery.
    func reported(_ delivery: Delivery, _ did: Report, _ world: inout World)
    /// A call under `/__pushsim/<backend>/`; nil where there is none of that name.
    func control(_ name: String, _ method: String, _ body: JSONValue?, _ world: inout World) throws(ControlError)
        -> ControlAnswer?
    var snapshot: JSON { get }
    /// Replaces all state with what `snapshot` gave. Throws before anything is changed.
    func restore(_ snapshot: JSONValue) throws(ControlError)
    /// All that was to be restored has been: what is to happen by itself later is set now.
    func restored(_ world: inout World)
    func reset()
}

/// What a device did with a delivery.
package enum Report: String, Sendable, CaseIterable {
    case shown, discarded, rang, ended
}

/// A backend's answer to a call.
package struct Answer: Sendable {
    package var response: Response
    /// Whether the connection ends after it.
    package var closes: Bool
    /// Of a recording: exactly what goes over the wire where no profile changes it.
    package var script: WireScript?
    /// Of a call that no recording answers: why.
    package var unmatched: String?

    package init(_ response: Response, closes: Bool = false) {
        self.response = response
        self.closes = closes
    }
}

/// A call of the control API that a backend takes.
package struct ControlDescription: Hashable, Sendable {
    package let method: String
    /// Behind the backend's name; `{x}` is one segment.
    package let pattern: String
    /// Whether its query is read, in the place of a body: an object of texts.
    package let takesQuery: Bool

    package init(_ method: String, _ pattern: String, takesQuery: Bool = false) {
        self.method = method
        self.pattern = pattern
        self.takesQuery = takesQuery
    }

    package func matches(_ name: String) -> Bool {
        let (own, given) = (pattern.split(separator: "/"), name.split(separator: "/"))
        return own.count == given.count && zip(own, given).allSatisfy { $0.hasPrefix("{") || $0 == $1 }
    }
}

/// Answers every call of a scope in the place of the backends. Used under the scope's lock.
package protocol Player: AnyObject {
    /// - Parameters:
    ///   - now: nanoseconds since 1970, by the scope's clock.
    ///   - isExact: whether only `Answer.script` is wanted where there is one, since no profile changes it.
    func answer(_ call: Call, now: Int64, isExact: Bool) -> Answer
    /// What was pushed in the recording and is to be pushed again now that a call has been answered.
    func pushes(after call: Call) -> [RecordedPush]
    /// What has not been asked for.
    var leftovers: [String] { get }
    func reset()
}

/// A delivery that was recorded.
package struct RecordedPush: Sendable {
    /// The endpoint as it was registered.
    package let token: [UInt8]
    package let headers: [HeaderField]
    /// As it was recorded.
    package let body: [UInt8]
    package let plaintext: [UInt8]?
    /// Base64url keys that the endpoint was registered with in the replay, where they are known.
    package let keys: (encryption: [UInt8], auth: [UInt8])?
    /// Nanoseconds from now, on the scope's clock.
    package let delay: Int64

    package init(
        token: [UInt8], headers: [HeaderField], body: [UInt8], plaintext: [UInt8]?,
        keys: (encryption: [UInt8], auth: [UInt8])?, delay: Int64
    ) {
        self.token = token
        self.headers = headers
        self.body = body
        self.plaintext = plaintext
        self.keys = keys
        self.delay = delay
    }
}

/// What a control call answers.
package struct ControlAnswer: Sendable {
    package var status: Int
    package var body: JSON?
    /// What was sent: the answer waits for it, and says what came of it.
    package var deliveries: [Delivery]?

    package init(_ status: Int, _ body: JSON? = nil) {
        self.status = status
        self.body = body
    }
}

/// A mistake in a control call: what, and in which member.
package struct ControlError: Error, Hashable, Sendable, CustomStringConvertible {
    package let code: String
    package let message: String
    package let path: String

    package init(_ message: String, path: String = "$", code: String = "invalid") {
        self.code = code
        self.message = message
        self.path = path
    }

    package var description: String { path == "$" ? message : "\(path): \(message)" }
}

/// Reads the members of a control call's body, one by one, and then refuses those that nobody asked for.
package struct MemberReader {
    private let value: JSONValue?
    private let path: String
    private var known: [String] = []

    package init(_ value: JSONValue?, path: String = "$") throws(ControlError) {
        if let value, value.kind != .object {
            throw ControlError("must be an object, not \(value.kindName)", path: path)
        }
        self.value = value
        self.path = path
        if let twice = value?.firstDuplicate {
            throw ControlError("\"\(twice.name)\" stands twice", path: "\(path).\(twice.name)")
        }
    }

    package mutating func value(_ name: String) -> JSONValue? {
        known.append(name)
        guard let found = value?.member(name), !found.isNull else { return nil }
        return found
    }

    package mutating func string(_ name: String) throws(ControlError) -> String? {
        guard let found = value(name) else { return nil }
        guard let text = found.string else { throw wrong(name, "a string", found) }
        return text
    }

    package mutating func int(_ name: String) throws(ControlError) -> Int? {
        guard let found = value(name) else { return nil }
        guard let number = found.int else { throw wrong(name, "a whole number", found) }
        return number
    }

    package mutating func bool(_ name: String) throws(ControlError) -> Bool? {
        guard let found = value(name) else { return nil }
        guard let value = found.bool else { throw wrong(name, "a boolean", found) }
        return value
    }

    package mutating func object(_ name: String) throws(ControlError) -> JSONValue? {
        guard let found = value(name) else { return nil }
        guard found.kind == .object else { throw wrong(name, "an object", found) }
        return found
    }

    /// The elements of an array; none where it is left out.
    package mutating func elements(_ name: String) throws(ControlError) -> [JSONValue] {
        known.append(name)
        guard let found = value?.member(name) else { return [] }
        guard found.kind == .array else { throw wrong(name, "an array", found) }
        return found.elements
    }

    /// A whole number from 0, so far from the last that it can be counted on; 0 where it is left out.
    package mutating func count(_ name: String) throws(ControlError) -> Int {
        known.append(name)
        guard let found = value?.member(name) else { return 0 }
        guard let number = found.int, (0...Self.mostCount).contains(number) else {
            throw ControlError(
                "must be a whole number from 0 to \(Self.mostCount)\(found.kind == .number ? "" : ", not \(found.kindName)")",
                path: "\(path).\(name)")
        }
        return number
    }

    /// What every reader of JSON holds exactly (RFC 8259 section 6).
    package static let mostCount = 1 << 53 - 1

    package mutating func strings(_ name: String) throws(ControlError) -> [String]? {
        guard let found = value(name) else { return nil }
        guard found.kind == .array, found.elements.allSatisfy({ $0.kind == .string }) else {
            throw wrong(name, "an array of strings", found)
        }
        return found.elements.compactMap(\.string)
    }

    /// A time such as `2026-01-01T00:00:00Z`, in nanoseconds since 1970.
    package mutating func time(_ name: String) throws(ControlError) -> Int64? {
        guard let text = try string(name) else { return nil }
        guard let time = TimeText.instant(text) else {
            throw ControlError("\"\(text)\" is no time such as \"2026-01-01T00:00:00Z\"", path: "\(path).\(name)")
        }
        return time
    }

    package mutating func required(_ name: String) throws(ControlError) -> String {
        guard let text = try string(name) else { throw ControlError("is missing", path: "\(path).\(name)") }
        return text
    }

    /// A duration such as `90s`, in nanoseconds.
    package mutating func duration(_ name: String) throws(ControlError) -> Int64? {
        guard let text = try string(name) else { return nil }
        guard let nanoseconds = TimeText.duration(text) else {
            throw ControlError("\"\(text)\" is no duration such as \"500ms\" or \"90s\"", path: "\(path).\(name)")
        }
        return nanoseconds
    }

    package func finish() throws(ControlError) {
        guard let stranger = value?.members.first(where: { member in !known.contains { $0 == member.name } }) else {
            return
        }
        throw ControlError(
            known.isEmpty
                ? "is not known here: nothing is."
                : "is not known here.\(Suggestion.text(stranger.name, known)) Known are: \(known.joined(separator: ", ")).",
            path: "\(path).\(stranger.name)", code: "unknownMember")
    }

    package func wrong(_ name: String, _ wanted: String, _ found: JSONValue) -> ControlError {
        ControlError("must be \(wanted), not \(found.kindName)", path: "\(path).\(name)")
    }
}

extension BackendState {
    package func judge(_ delivery: Delivery, _ status: Int, _ reason: String?) -> Verdict {
        switch status {
        case 200...299: .accepted
        case 404, 410: .removed
        case 429, 500...599: .retry
        default: .rejected
        }
    }

    package func makes(_ what: String, _ call: Call) -> Bool { false }

    package func refusesUnread(_ call: Call, _ world: inout World) -> Bool { false }

    package func mayReach(_ delivery: Delivery) -> Bool { true }

    package func restored(_ world: inout World) {}

    package func registrationGone(_ delivery: Delivery, _ world: inout World) {}

    package func changeDiscovery(_ response: inout Response, _ patch: JSON) {}

    package func prepare(_ delivery: Delivery, _ actions: DeliveryActions, _ world: inout World) {}

    package func reported(_ delivery: Delivery, _ did: Report, _ world: inout World) {}
}
