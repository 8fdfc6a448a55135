package import PushSimJSONText
package import PushSimWire

/// What the fault engine decided for one call: the rules that fired and what they want done.
package final class Decision: Sendable {
    /// In the order in which they acted.
    package let rules: [String]
    /// The number drawn, where a probability was asked.
    package let draw: Double?
    package let actions: Actions

    package init(rules: [String], draw: Double?, actions: Actions) {
        self.rules = rules
        self.draw = draw
        self.actions = actions
    }
}

/// What was decided for one delivery, or for one more attempt at it.
package struct DeliveryDecision: Sendable {
    package var rules: [String] = []
    package var actions = DeliveryActions()

    package init() {}
}

/// What a profile may want done to a delivery. What is nil or empty is left as it is.
package struct DeliveryActions: Sendable {
    /// What the push service answers the fake.
    package struct Answer: Hashable, Sendable {
        package var status: Int
        package var reason: String?
        /// Nanoseconds.
        package var retryAfter: Int64?

        package init(status: Int, reason: String? = nil, retryAfter: Int64? = nil) {
            self.status = status
            self.reason = reason
            self.retryAfter = retryAfter
        }
    }

    /// What is changed in the plaintext after shrinking, before it is encrypted.
    package struct Payload: Sendable {
        package var set: [(path: JSONPath, value: JSON)] = []
        package var drop: [JSONPath] = []
        /// Of NTM: what takes the place of `userdata`.
        package var userdata: [UInt8]?

        package init() {}

        package func apply(to json: inout JSON) {
            for change in set { json.set(change.path.steps[...], change.value) }
            for path in drop { json.remove(path.steps[...]) }
        }
    }

    package var answer: Answer?
    package var payload: Payload?
    package var drop = false
    package var duplicate: Int?
    /// Whether duplicates are encrypted anew.
    package var isFresh = false
    /// Nanoseconds on the simulation clock.
    package var hold: Int64?
    /// Nanoseconds after the time to live has run out.
    package var late: Int64?
    package var reorder: Int?
    /// A header field to change, or with nil to leave out.
    package var headers: [(name: [UInt8], value: [UInt8]?)] = []

    package init() {}

    /// Whether a retry is a call of its own for this.
    package var isAboutAttempts: Bool { answer != nil }

    /// Takes over what is not yet decided: of two rules that act, the earlier wins.
    package mutating func merge(_ later: DeliveryActions) {
        answer = answer ?? later.answer
        payload = payload ?? later.payload
        drop = drop || later.drop
        if duplicate == nil { (duplicate, isFresh) = (later.duplicate, later.isFresh) }
        hold = hold ?? later.hold
        late = late ?? later.late
        reorder = reorder ?? later.reorder
        for change in later.headers where !headers.contains(where: { $0.name.equalsIgnoringCase(change.name) }) {
            headers.append(change)
        }
    }
}

/// What a profile may want done to a call. What is nil is left as it is.
package struct Actions: Sendable {
    package enum Connection: String, Sendable, CaseIterable {
        case reset, close, stall
    }

    package enum RetryAfter: Hashable, Sendable {
        /// Nanoseconds.
        case seconds(Int64)
        case date(Int64)

        package var nanoseconds: Int64 {
            switch self {
            case .seconds(let wait), .date(let wait): wait
            }
        }
    }

    package var status: Int?
    package var reason: [UInt8]?
    package var headers: [HeaderField]?
    package var body: [UInt8]?
    /// Set with a body given as `json`.
    package var contentType: String?
    package var retryAfter: RetryAfter?
    /// Nanoseconds on the simulation clock.
    package var delay: Int64?
    package var connection: Connection?
    package var lose: String?
    package var token: String?

    package init() {}

    /// Whether the backend is not asked at all.
    package var replacesAnswer: Bool { status != nil || connection != nil }

    /// Takes over what is not yet decided: of two rules that act, the earlier wins.
    package mutating func merge(_ later: Actions) {
        // A body belongs to the status it was given with.
        if status == nil, body == nil {
            body = later.body
            contentType = later.contentType
        }
        status = status ?? later.status
        reason = reason ?? later.reason
        headers = headers ?? later.headers
        retryAfter = retryAfter ?? later.retryAfter
        delay = delay ?? later.delay
        connection = connection ?? later.connection
        lose = lose ?? later.lose
        token = token ?? later.token
    }
}

/// What decides about faults. It is part of the world of its scope, and asked under the scope's lock.
package protocol Decider: AnyObject {
    /// Whether the decision for this call can only fall once the body is there.
    func needsBody(_ call: Call) -> Bool
    /// Decides, once for each call.
    func decide(_ call: Call, now: Int64, draws: Draws) -> Decision?
    /// Decides on a delivery.
    /// - Parameter isRetry: one more attempt: then only what concerns attempts is decided.
    func decide(_ delivery: Delivery, isRetry: Bool, now: Int64, draws: Draws) -> DeliveryDecision?
    /// Forgets counters, quotas and states; the profile stays.
    func reset(now: Int64)
    /// The profile's text, for GET `/profile`; nil where there is none.
    var source: [UInt8]? { get }
}
