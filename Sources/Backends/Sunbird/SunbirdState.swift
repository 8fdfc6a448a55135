import PushSimJSONText
import PushSimSimulation
import PushSimWire

/// One token of FCM. Part of the state, so used only under its scope's lock.
final class FCMDevice {
    struct Subscription {
        let topic: [UInt8]
        /// Nanoseconds since 1970.
        let since: Int64
    }

    let token: [UInt8]
    /// Which of the scope's tokens it is, in the order in which they became known.
    let sequence: Int
    /// Since when it is known; nanoseconds since 1970.
    let since: Int64
    /// In the order of subscribing; the default topic is not among them unless it was asked for.
    var subscriptions: [Subscription] = []
    /// Ids of notifications that it was reported to have shown.
    var shown: Set<[UInt8]> = []
    /// Of which tenant its user is, where that was told, and which ones the user has left.
    var tenant: [UInt8]?
    var left: Set<[UInt8]> = []
    /// Whether FCM has made it in the place of another, and no call has named it since.
    var isUnused = false

    init(_ token: [UInt8], sequence: Int, since: Int64) {
        self.token = token
        self.sequence = sequence
        self.since = since
    }

    func isOn(_ topic: [UInt8]) -> Bool { subscriptions.contains { $0.topic.isSame(as: topic) } }
}

struct SunbirdOptions {
    var form = SunbirdNotification.Form.design
    /// Of the form design: DOWNTIME, GREETINGS, NON-DISPLAY and OTHERS.
    var types = [1, 2, 3, 4]
    var isOneText = true
    var validates = true
    var defaultTopic: [UInt8] = []
    var isStrict = true
    var isLegacyOver = false

    init() {}

    init(_ values: OptionValues) {
        form = SunbirdNotification.Form(rawValue: values["sunbird.payload"]) ?? .design
        types = OptionValues.numbers(values["sunbird.types"])
        isOneText = values["sunbird.encoding"] == "json"
        validates = values["sunbird.validation"] == "on"
        // The shipped apps are on another by themselves.
        let named = values["sunbird.defaultTopic"]
        defaultTopic = TopicName.bare(Array((form == .shipped && named == "General" ? "all" : named).utf8))
        isStrict = values["sunbird.topicNames"] == "strict"
        isLegacyOver = values["sunbird.legacyFCM"] == "deprecated"
    }
}

/// What Sunbird and FCM know in one scope. Used under the scope's lock.
final class SunbirdState: BackendState {
    let backendName = "sunbird"
    let firstObligation: Int
    var options = SunbirdOptions()
    var devices: [ByteKey: FCMDevice] = [:]
    /// In the order in which they became known.
    var order: [FCMDevice] = []
    /// Tokens that were known and are lost.
    var lost: Set<ByteKey> = []
    /// Tokens that were replaced, and by which.
    var rotated: [ByteKey: [UInt8]] = [:]
    /// Who is on a topic, in the order of subscribing.
    var topics: [ByteKey: [FCMDevice]] = [:]
    var broadcasts: [Broadcast] = []
    var nextSequence = 1
    var nextBroadcast = 1
    /// Messages that FCM took, so that each has an id of its own.
    var messages = 0
    /// Counts what takes the place of all state, so that no timer of before acts on it.
    var generation = 0

    init(_ firstObligation: Int) { self.firstObligation = firstObligation }

    enum Duty: Int {
        case topics, once, inTime, tenants, rotated
    }

    func met(_ duty: Duty, _ world: inout World) { world.ledger.met(firstObligation + duty.rawValue) }

    func broken(_ duty: Duty, _ call: Int, _ why: String, _ world: inout World) {
        world.ledger.broken(firstObligation + duty.rawValue, call, why)
    }

    func optionsChanged(_ values: OptionValues) { options = SunbirdOptions(values) }

    // MARK: answers

    func answer(_ match: RouteMatch, _ call: Call, _ world: inout World) -> Answer {
        switch match {
        case .unknown:
            return Answer(GoogleError(status: 404, name: "NOT_FOUND", message: "There is no such method.").response)
        case .wrongMethod(let methods):
            let allowed = methods.joined(separator: ", ")
            var response = GoogleError(
                status: 405, name: "UNIMPLEMENTED", message: "This method takes \(allowed)."
            ).response
            response.fields.append(HeaderField("Allow", allowed))
            return Answer(response)
        case .route(let index, let parameters):
            guard let name = Sunbird.RouteName(rawValue: index) else {
                return Answer(GoogleError(status: 500).response)
            }
            do throws(GoogleError) {
                return Answer(try route(name, parameters, call, &world))
            } catch {
                return Answer(Self.told(error, name))
            }
        }
    }

    func scripted(_ status: Int, retryAfter: Int64?, _ call: Call, _ world: inout World) -> Answer {
        guard case .route(let index, _) = call.match, let name = Sunbird.RouteName(rawValue: index) else {
            return Answer(GoogleError(status: status).response)
        }
        if status < 400 {
            // A success of which the profile says no more.
            if name == .register { return Answer(Self.text("token=\((call.facts.token ?? []).text)", status: status)) }
            if name != .send, name != .sendSync { return Answer(Self.json(.object([]), status: status)) }
            return Answer(envelope(call, &world, status: status, code: "OK", message: nil))
        }
        if name == .send || name == .sendSync {
            let code = status >= 500 ? "SERVER_ERROR" : status == 404 ? "RESOURCE_NOT_FOUND" : "CLIENT_ERROR"
            return Answer(envelope(call, &world, status: status, code: code, message: StatusText.reason(status)))
        }
        return Answer(Self.told(GoogleError(status: status), name))
    }

    /// In the words of the route: a device's form is answered in text, the rest in JSON.
    private static func told(_ error: GoogleError, _ route: Sunbird.RouteName) -> Response {
        if route == .register { return text("Error=\(error.code ?? error.name)", status: error.status) }
        return error.response
    }

    func refusesUnread(_ call: Call, _ world: inout World) -> Bool {
        guard case .route(let index, _) = call.match, let name = Sunbird.RouteName(rawValue: index) else {
            return false
        }
        return name != .send && name != .sendSync && !Self.hasCredential(call)
    }

    /// Any will do; what an app itself sends has headers of its own.
    private static func hasCredential(_ call: Call) -> Bool {
        let own = call.head.values("x-goog-firebase-installations-auth") + call.head.values("x-goog-api-key")
        return !(call.head.value(.authorization) ?? []).isEmpty || own.contains { !$0.isEmpty }
    }

    private func route(
        _ name: Sunbird.RouteName, _ parameters: [ArraySlice<UInt8>], _ call: Call, _ world: inout World
    ) throws(GoogleError) -> Response {
        if name == .send || name == .sendSync { return platformSend(call, isSync: name == .sendSync, &world) }
        guard Self.hasCredential(call) else { throw .unauthenticated }
        switch name {
        case .send, .sendSync: return platformSend(call, isSync: name == .sendSync, &world)
        case .sendMessage: return try sendMessage(parameters, call, &world)
        case .sendLegacy: return try sendLegacy(call, &world)
        case .batchAdd: return try batch(call, isAdding: true, &world)
        case .batchRemove: return try batch(call, isAdding: false, &world)
        case .relate: return try relate(parameters, call, &world)
        case .info: return try info(parameters, call)
        case .register: return try register(call, &world)
        case .changeTopic: return try changeTopic(parameters, call, &world)
        }
    }

    static func json(_ body: JSON, status: Int = 200) -> Response {
        Response(
            status: status, fields: [HeaderField("Content-Type", "application/json; charset=UTF-8")],
            body: body.bytes)
    }

    static func text(_ body: String, status: Int = 200) -> Response {
        Response(
            status: status, fields: [HeaderField("Content-Type", "text/plain; charset=UTF-8")],
            body: Array(body.utf8))
    }

    func object(_ call: Call) throws(GoogleError) -> JSONValue {
        guard let body = call.plainBody() else {
            throw .malformed("The body's Content-Encoding cannot be undone.")
        }
        do throws(JSONError) {
            let root = try JSONDocument(body).root
            if root.kind == .object { return root }
        } catch {
            throw .malformed("Invalid JSON payload received. \(error.description)")
        }
        throw .malformed("Invalid JSON payload received. It is no object.")
    }

    // MARK: faults

    func lose(_ what: String, _ tokens: [[UInt8]], _ call: Call, _ world: inout World) {
        for token in tokens {
            if what == "registration" {
                forget(token, asLost: true)
            } else if let device = devices[ByteKey(token)], let topic = call.facts.topic {
                unsubscribe(device, topic)
            }
        }
    }

    /// A device that registers with no token of its own is known by what it is.
    func spoilToken(_ fault: String, _ tokens: [[UInt8]], _ call: Call, _ world: inout World) {
        guard fault == "rotate" else { return }
        var tokens = tokens
        if call.facts.tokens.isEmpty, let form = DeviceForm(call), form.topic == nil {
            tokens = [current(Self.newToken(form.identity, &world))]
        }
        for token in tokens { _ = rotate(token, &world) }
    }

    func makes(_ what: String, _ call: Call) -> Bool {
        guard case .route(let index, _) = call.match, let name = Sunbird.RouteName(rawValue: index) else {
            return false
        }
        switch name {
        case .batchAdd, .relate, .changeTopic: return true
        case .register: return what == "registration" || call.facts.topic != nil
        default: return false
        }
    }

    /// Nothing is sent to a token that is gone or off the topic.
    func mayReach(_ delivery: Delivery) -> Bool {
        guard let device = devices[ByteKey(delivery.token)] else { return false }
        guard let topic = delivery.topic else { return true }
        return topic == options.defaultTopic || device.isOn(topic)
    }

    func registrationGone(_ delivery: Delivery, _ world: inout World) { forget(delivery.token, asLost: true) }

    // MARK: reports

    func reported(_ delivery: Delivery, _ did: Report, _ world: inout World) {
        guard did == .shown, let text = delivery.plaintext, let root = (try? JSONDocument(text))?.root else { return }
        // By what the device got, which a profile may have changed.
        let notification = SunbirdNotification(unchecked: root, options.form, now: delivery.time)
        guard !notification.id.isEmpty else { return }
        if let device = devices[ByteKey(delivery.token)] {
            if device.shown.insert(notification.id).inserted {
                met(.once, &world)
            } else {
                broken(.once, 0, "\(delivery.name): id \(notification.id.text) was shown before.", &world)
            }
        }
        let now = world.clock.now
        if let begins = notification.begins, now < begins {
            broken(.inTime, 0, "\(delivery.name) was shown before its epoch.", &world)
        } else if notification.isOver(now) {
            broken(.inTime, 0, "\(delivery.name) was shown after it had expired.", &world)
        } else {
            met(.inTime, &world)
        }
    }
}
