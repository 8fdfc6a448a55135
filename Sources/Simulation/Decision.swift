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

/// What a profile may want done to a call. What is nil is left as it is.
package struct Actions: Sendable {
    package enum Connection: String, Sendable, CaseIterable {
        case reset, close, stall
    }

    package enum RetryAfter: Hashable, Sendable {
        /// Nanoseconds.
        case seconds(Int64)
        case date(Int64)
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
    /// Forgets counters, quotas and states; the profile stays.
    func reset(now: Int64)
    /// The profile's text, for GET `/profile`; nil where there is none.
    var source: [UInt8]? { get }
}
