package import PushSimJSONText
package import PushSimWebPush
import PushSimWire

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

    package enum ActionData: String, Sendable, CaseIterable {
        /// A text that no reader of JSON takes.
        case notJSON
        /// An object where apps expect the text of one.
        case object
    }

    /// What is changed in the plaintext after shrinking, before it is encrypted.
    package struct Payload: Sendable {
        package var set: [(path: JSONPath, value: JSON)] = []
        package var drop: [JSONPath] = []
        /// Of NTM: what takes the place of `userdata`.
        package var userdata: [UInt8]?
        /// Of Sunbird: what becomes of the action's data.
        package var actiondata: ActionData?

        package init() {}

        package func apply(to json: inout JSON) {
            for change in set { json.set(change.path.steps[...], change.value) }
            for path in drop { json.remove(path.steps[...]) }
        }
    }

    package enum Ring: String, Sendable, CaseIterable {
        /// Its call is over.
        case dead
        /// It has rung out.
        case expired
        /// For another account.
        case foreign
        /// A notification instead.
        case notification
    }

    /// A header field to change, to repeat, or with no value to leave out.
    package struct HeaderChange: Hashable, Sendable {
        package let name: [UInt8]
        package let values: [[UInt8]]

        package init(_ name: [UInt8], _ values: [[UInt8]]) {
            self.name = name
            self.values = values
        }
    }

    package var answer: Answer?
    package var record: RecordFault?
    package var payload: Payload?
    package var ring: Ring?
    package var drop = false
    package var duplicate: Int?
    /// Whether duplicates are encrypted anew.
    package var isFresh = false
    /// Nanoseconds on the simulation clock.
    package var hold: Int64?
    /// Nanoseconds after the time to live has run out.
    package var late: Int64?
    package var reorder: Int?
    /// By whose rule it is shuffled.
    package private(set) var reorderRule: String?
    package var headers: [HeaderChange] = []
    /// What is wrong with the sender's identification, by the id of its row.
    package var vapid: String?
    package var connection: ConnectionFault?
    package var wire: WireFaults?
    /// Asked as `headers`, so that it stays with the delivery: how its length is told.
    package var headerWire: WireFaults?
    /// What octets on the wire are drawn by.
    package private(set) var wireChance: Chance?

    package init() {}

    /// Whether a retry is a call of its own for this.
    package var isAboutAttempts: Bool { answer != nil || connection != nil || wire != nil }

    /// Whether time may pass before it is sent.
    package var keepsBack: Bool { hold != nil || late != nil || reorder != nil }

    /// Whether what the device gets is not what was sent.
    package var changesContent: Bool {
        payload != nil || !headers.isEmpty || vapid != nil || headerWire != nil
    }

    /// What of it concerns one attempt only.
    package var ofAttempt: DeliveryActions {
        var actions = DeliveryActions()
        (actions.answer, actions.connection, actions.wire) = (answer, connection, wire)
        return actions
    }

    /// Takes over what is not yet decided: of two rules that act, the earlier wins.
    package mutating func merge(_ later: DeliveryActions, _ chance: Chance) {
        answer = answer ?? later.answer
        record = record ?? later.record
        payload = payload ?? later.payload
        ring = ring ?? later.ring
        drop = drop || later.drop
        if duplicate == nil { (duplicate, isFresh) = (later.duplicate, later.isFresh) }
        hold = hold ?? later.hold
        late = late ?? later.late
        if reorder == nil, later.reorder != nil { (reorder, reorderRule) = (later.reorder, chance.rule) }
        vapid = vapid ?? later.vapid
        connection = connection ?? later.connection
        if wire == nil, later.wire != nil { (wire, wireChance) = (later.wire, chance) }
        headerWire = headerWire ?? later.headerWire
        for change in later.headers where !headers.contains(where: { $0.name.equalsIgnoringCase(change.name) }) {
            headers.append(change)
        }
    }
}
