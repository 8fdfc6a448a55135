import PushSimJSONText
import PushSimSimulation
import PushSimWire

extension NTMState {
    func register(_ bearer: Bearer, _ call: Call, _ world: inout World) throws(NTMError) -> Response {
        let fields = try readFields(call)
        guard !fields.isEmpty else { throw .invalid("The body is empty: proto, token and app_domain are needed.") }
        let proto = try text(fields, "proto")
        guard let proto, isAllowed(proto) else {
            throw .invalid("proto must be one of \(options.protocols.map(\.text).joined(separator: ", ")).")
        }
        guard let token = try text(fields, "token"), token.count > 0 else {
            throw .invalid("token is missing or empty.")
        }
        guard let domain = try text(fields, "app_domain"), domain.count > 0 else {
            throw .invalid("app_domain is missing or empty.")
        }
        let lang = try text(fields, "lang") ?? Self.usualLang
        let badge = try text(fields, "badge") ?? Self.usualBadge
        try checkDomain(bearer, domain)
        let key = Subscriber.Key(proto: proto, token: token, domain: domain)
        try noteProtocol(bearer.account, proto, call, &world)
        if let subscriber = living[key] {
            if options.reRegistersSame { return success(id: subscriber.id) }
            remove(subscriber)
        }
        let generation = generations[key, default: 0]
        generations[key] = generation + 1
        let id = world.draws.hex("ntm subscriber", [proto, token, domain], index: generation, count: idLength)
        add(
            Subscriber(
                id: id, key: key, account: bearer.account, lang: lang, badge: badge, sequence: nextSequence))
        return success(id: id)
    }

    private static let usualLang = Array<UInt8>("en")
    private static let usualBadge = Array<UInt8>("0")

    private func isAllowed(_ proto: [UInt8]) -> Bool {
        var index = 0
        while index < options.protocols.count {
            if options.protocols[index].isSame(as: proto) { return true }
            index += 1
        }
        return false
    }

    /// How many digits an id has, so that the answer is 40 bytes in every style.
    private var idLength: Int {
        switch options.bodyStyle {
        case .object: 30
        case .stringified: 24
        case .pair: 32
        }
    }

    private func success(id: [UInt8]) -> Response {
        let body: [UInt8] =
            switch options.bodyStyle {
            case .object: id.between("{\"id\":\"", "\"}\n")
            case .stringified: id.between("\"{\\\"id\\\":\\\"", "\\\"}\"\n")
            case .pair: id.between("\"id\": \"", "\"")
            }
        return Response(status: 200, body: body)
    }

    func readFields(_ call: Call) throws(NTMError) -> RequestFields {
        let fields: RequestFields
        do throws(RequestFields.Unreadable) {
            fields = try RequestFields(call)
        } catch {
            throw .unreadable(error.message)
        }
        if fields.isOtherJSON { throw .unreadable("The body is JSON, but no object.") }
        return fields
    }

    /// A field's text; a field of another type is a mistake of its own.
    private func text(_ fields: RequestFields, _ name: StaticString) throws(NTMError) -> [UInt8]? {
        switch fields[name] {
        case .absent: return nil
        case .other: throw .invalid("\(name) must be a string.")
        case .text(let text):
            guard text.isUTF8 else { throw .invalid("\(name) is not UTF-8.") }
            return text
        }
    }

    /// The doc wants the subscriber of one protocol gone before that of another is made.
    private func noteProtocol(
        _ account: [UInt8], _ proto: [UInt8], _ call: Call, _ world: inout World
    ) throws(NTMError) {
        var others = false
        let own = accounts[ByteKey(account)] ?? []
        var index = 0
        while index < own.count {
            others = others || !own[index].key.proto.isSame(as: proto)
            index += 1
        }
        guard others else { return met(.oneProtocol, &world) }
        broken(.oneProtocol, call, "\(proto.text) is registered while another protocol's subscriber lives.", &world)
        if options.rejectsSwitch {
            throw .invalid("Another protocol is registered for this user: deregister it first.")
        }
    }

    func add(_ subscriber: Subscriber) {
        subscribers[ByteKey(subscriber.id)] = subscriber
        living[subscriber.key] = subscriber
        accounts[ByteKey(subscriber.account), default: []].append(subscriber)
        nextSequence = max(nextSequence, subscriber.sequence + 1)
        for subscription in subscriber.subscriptions {
            topics[subscription.topic.name, default: []].append(subscriber.id)
        }
    }

    func remove(_ subscriber: Subscriber) {
        subscribers[ByteKey(subscriber.id)] = nil
        living[subscriber.key] = nil
        let account = ByteKey(subscriber.account)
        accounts[account]?.removeAll { $0 === subscriber }
        if accounts[account]?.isEmpty == true { accounts[account] = nil }
        for subscription in subscriber.subscriptions { leave(subscription.topic.name, subscriber.id) }
    }

    /// APNs has said that the device is gone.
    func registrationGone(_ delivery: Delivery, _ world: inout World) {
        if let id = delivery.subscriber, let subscriber = subscribers[ByteKey(id)] { remove(subscriber) }
    }

    func leave(_ topic: [UInt8], _ id: [UInt8]) {
        topics[topic]?.removeAll { $0 == id }
        if topics[topic]?.isEmpty == true { topics[topic] = nil }
    }

    func deregister(
        _ parameters: [ArraySlice<UInt8>], _ bearer: Bearer, _ call: Call, _ world: inout World
    ) throws(NTMError) -> Response {
        let subscriber = try subscriber(parameters, 454, call, &world)
        try checkDomain(bearer, subscriber.key.domain)
        remove(subscriber)
        met(.logout, &world)
        return success()
    }

    /// The living subscriber that the path names.
    /// - Parameter status: the storage error of the verb.
    private func subscriber(
        _ parameters: [ArraySlice<UInt8>], _ status: Int, _ call: Call, _ world: inout World
    ) throws(NTMError) -> Subscriber {
        let id = parameters.first.map(Array.init) ?? []
        if let subscriber = subscribers[ByteKey(id)] {
            met(.liveSubscriber, &world)
            return subscriber
        }
        broken(.liveSubscriber, call, "\"\(id.text)\" is no living subscriber.", &world)
        throw .storage(options.unknownIs404 ? 404 : status, "There is no subscriber \"\(id.text)\".")
    }

    func subscribe(
        _ parameters: [ArraySlice<UInt8>], _ bearer: Bearer, _ call: Call, _ world: inout World
    ) throws(NTMError) -> Response {
        let topic = try topic(parameters, call, &world)
        let fields = try readFields(call)
        let apnTopic = try text(fields, "apn_topic")
        let subscriber = try subscriber(parameters, 452, call, &world)
        try checkDomain(bearer, subscriber.key.domain)
        try checkTopic(topic, subscriber, call, &world)
        if let index = subscriber.subscriptions.firstIndex(where: { $0.topic.name == topic.name }) {
            if options.repeatStatus == 409 {
                throw NTMError(status: 409, code: "HTTP-409", message: "The subscriber is on this topic already.")
            }
            if let apnTopic { subscriber.subscriptions[index] = .init(topic: topic, apnTopic: apnTopic) }
            return success()
        }
        subscriber.subscriptions.append(.init(topic: topic, apnTopic: apnTopic))
        topics[topic.name, default: []].append(subscriber.id)
        return success()
    }

    func unsubscribe(
        _ parameters: [ArraySlice<UInt8>], _ bearer: Bearer, _ call: Call, _ world: inout World
    ) throws(NTMError) -> Response {
        let topic = try topic(parameters, call, &world)
        let subscriber = try subscriber(parameters, 454, call, &world)
        try checkDomain(bearer, subscriber.key.domain)
        try checkTopic(topic, subscriber, call, &world)
        notePSTN(topic, call, &world)
        subscriber.subscriptions.removeAll { $0.topic.name == topic.name }
        leave(topic.name, subscriber.id)
        return success()
    }

    private func notePSTN(_ topic: Topic, _ call: Call, _ world: inout World) {
        guard topic.kind == "pstn" else { return }
        guard topic.hasForeignPrefix else { return met(.pstn, &world) }
        broken(.pstn, call, "A PSTN topic is revoked with the app domain before its name.", &world)
    }

    private func topic(
        _ parameters: [ArraySlice<UInt8>], _ call: Call, _ world: inout World
    ) throws(NTMError) -> Topic {
        guard let raw = parameters.last, let text = Topic.decode(raw) else {
            broken(.topics, call, "The topic has a bad escape.", &world)
            throw .unreadable("The topic has a bad percent-escape.")
        }
        guard let topic = Topic(text, strictPSTN: options.strictPSTN), String(validating: text, as: UTF8.self) != nil
        else {
            broken(.topics, call, "\"\(text.text)\" is no topic.", &world)
            throw .invalid(
                "\"\(text.text)\" is no topic: <app domain>/video|chat|audio/<routing id> or federation/pstn/<routing id>."
            )
        }
        return topic
    }

    private func checkTopic(
        _ topic: Topic, _ subscriber: Subscriber, _ call: Call, _ world: inout World
    ) throws(NTMError) {
        guard topic.domain.isEmpty || topic.domain == subscriber.key.domain else {
            broken(.topics, call, "The topic's domain is not the subscriber's.", &world)
            throw .invalid(
                "The topic's domain \(topic.domain.text) is not the subscriber's \(subscriber.key.domain.text).")
        }
        met(.topics, &world)
    }

    // MARK: reads

    func read(_ parameters: [ArraySlice<UInt8>], _ call: Call, _ world: inout World) throws(NTMError) -> Response {
        success(Self.describe(try subscriber(parameters, 452, call, &world)))
    }

    func find(_ parameters: [ArraySlice<UInt8>]) throws(NTMError) -> Response {
        guard let proto = Percent.decode(parameters[0]), let token = Percent.decode(parameters[1]) else {
            throw .unreadable("The path has a bad percent-escape.")
        }
        guard let subscriber = oldest(withToken: token, proto: proto) else {
            throw .storage(options.unknownIs404 ? 404 : 452, "No \(proto.text) subscriber has this token.")
        }
        return success(Self.describe(subscriber))
    }

    private func oldest(withToken token: [UInt8], proto: [UInt8]? = nil) -> Subscriber? {
        subscribers.values.filter { $0.key.token == token && (proto == nil || $0.key.proto == proto) }
            .min { $0.sequence < $1.sequence }
    }

    func list(_ parameters: [ArraySlice<UInt8>]) throws(NTMError) -> Response {
        guard let raw = parameters.last, let text = Topic.decode(raw) else {
            throw .unreadable("The topic has a bad percent-escape.")
        }
        guard let topic = Topic(text, strictPSTN: options.strictPSTN) else {
            throw .invalid("\"\(text.text)\" is no topic.")
        }
        let found = (topics[topic.name] ?? []).compactMap { subscribers[ByteKey($0)] }
        return success(["topic": .text(topic.name), "subscribers": .array(found.map { Self.describe($0) })])
    }

    /// - Parameter places: by topic: the place among its subscribers, where it is told.
    static func describe(_ subscriber: Subscriber, _ places: [[UInt8]: Int] = [:]) -> JSON {
        [
            "id": .text(subscriber.id), "proto": .text(subscriber.key.proto), "token": .text(subscriber.key.token),
            "app_domain": .text(subscriber.key.domain), "lang": .text(subscriber.lang),
            "badge": .text(subscriber.badge),
            "subscriptions": .array(
                subscriber.subscriptions.map { subscription in
                    var entry: JSON = ["topic": .text(subscription.topic.name)]
                    if let apnTopic = subscription.apnTopic { entry.set("apn_topic", .text(apnTopic)) }
                    if let place = places[subscription.topic.name] { entry.set("place", .int(place)) }
                    return entry
                }),
        ]
    }

    func lose(_ what: String, _ tokens: [[UInt8]], _ call: Call, _ world: inout World) {
        let facts = call.facts
        let named = facts.subscriber.flatMap { subscribers[ByteKey($0)] }
        guard let subscriber = named ?? facts.token.flatMap({ oldest(withToken: $0) }) else { return }
        if what == "subscriber" { return remove(subscriber) }
        guard what == "subscription" else { return }
        let topic = facts.topic.flatMap { Topic($0, strictPSTN: options.strictPSTN) }
        let lost = subscriber.subscriptions.filter { topic == nil || $0.topic.name == topic?.name }
        subscriber.subscriptions.removeAll { lost.contains($0) }
        for subscription in lost { leave(subscription.topic.name, subscriber.id) }
    }
}
