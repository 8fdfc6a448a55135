import PushSimJSONText
import PushSimSimulation
import PushSimWire

extension NTMState {
    func register(_ bearer: Bearer, _ call: Call, _ world: inout World) throws(NTMError) -> Response {
        let fields = try readFields(call)
        guard !fields.isEmpty else { throw .invalid("The body is empty: proto, token and app_domain are needed.") }
        let proto = try text(fields, "proto")
        guard let proto, options.protocols.contains(proto) else {
            throw .invalid("proto must be one of \(options.protocols.map(\.text).joined(separator: ", ")).")
        }
        guard let token = try text(fields, "token"), !token.isEmpty else {
            throw .invalid("token is missing or empty.")
        }
        guard let domain = try text(fields, "app_domain"), !domain.isEmpty else {
            throw .invalid("app_domain is missing or empty.")
        }
        let lang = try text(fields, "lang") ?? Array("en")
        let badge = try text(fields, "badge") ?? Array("0")
        try checkDomain(bearer, domain)
        let key = Subscriber.Key(proto: proto, token: token, domain: domain)
        try noteProtocol(bearer.account, proto, call, &world)
        if let id = living[key] {
            if options.reRegistersSame { return success(id: id) }
            remove(id)
        }
        let generation = generations[key, default: 0]
        generations[key] = generation + 1
        let id = world.draws.hex("ntm subscriber", [proto, token, domain], index: generation, count: idLength)
        add(
            Subscriber(
                id: id, key: key, account: bearer.account, lang: lang, badge: badge, sequence: nextSequence))
        return success(id: id)
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
        var body: [UInt8] = []
        body.reserveCapacity(40)
        switch options.bodyStyle {
        case .object: body = Array("{\"id\":\"") + id + Array("\"}\n")
        case .stringified: body = Array("\"{\\\"id\\\":\\\"") + id + Array("\\\"}\"\n")
        case .pair: body = Array("\"id\": \"") + id + Array("\"")
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
        guard let text = fields.text(name) else {
            if fields.has(name) { throw .invalid("\(name) must be a string.") }
            return nil
        }
        guard String(validating: text, as: UTF8.self) != nil else { throw .invalid("\(name) is not UTF-8.") }
        return text
    }

    /// The doc wants the subscriber of one protocol gone before that of another is made.
    private func noteProtocol(
        _ account: [UInt8], _ proto: [UInt8], _ call: Call, _ world: inout World
    ) throws(NTMError) {
        let others = (accounts[account] ?? []).contains { subscribers[$0].map { $0.key.proto != proto } ?? false }
        guard others else { return met(.oneProtocol, &world) }
        broken(.oneProtocol, call, "\(proto.text) is registered while another protocol's subscriber lives.", &world)
        if options.rejectsSwitch {
            throw .invalid("Another protocol is registered for this user: deregister it first.")
        }
    }

    func add(_ subscriber: Subscriber) {
        subscribers[subscriber.id] = subscriber
        living[subscriber.key] = subscriber.id
        accounts[subscriber.account, default: []].insert(subscriber.id)
        nextSequence = max(nextSequence, subscriber.sequence + 1)
        for subscription in subscriber.subscriptions {
            topics[subscription.topic.name, default: []].append(subscriber.id)
        }
    }

    func remove(_ id: [UInt8]) {
        guard let subscriber = subscribers.removeValue(forKey: id) else { return }
        living[subscriber.key] = nil
        accounts[subscriber.account]?.remove(id)
        if accounts[subscriber.account]?.isEmpty == true { accounts[subscriber.account] = nil }
        for subscription in subscriber.subscriptions { leave(subscription.topic.name, id) }
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
        remove(subscriber.id)
        met(.logout, &world)
        return success()
    }

    /// The living subscriber that the path names.
    /// - Parameter status: the storage error of the verb.
    private func subscriber(
        _ parameters: [ArraySlice<UInt8>], _ status: Int, _ call: Call, _ world: inout World
    ) throws(NTMError) -> Subscriber {
        let id = parameters.first.map(Array.init) ?? []
        if let subscriber = subscribers[id] {
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
        var subscriber = try subscriber(parameters, 452, call, &world)
        try checkDomain(bearer, subscriber.key.domain)
        try checkTopic(topic, subscriber, call, &world)
        if let index = subscriber.subscriptions.firstIndex(where: { $0.topic.name == topic.name }) {
            if options.repeatStatus == 409 {
                throw NTMError(status: 409, code: "HTTP-409", message: "The subscriber is on this topic already.")
            }
            if let apnTopic {
                subscriber.subscriptions[index] = .init(topic: topic, apnTopic: apnTopic)
                subscribers[subscriber.id] = subscriber
            }
            return success()
        }
        subscriber.subscriptions.append(.init(topic: topic, apnTopic: apnTopic))
        subscribers[subscriber.id] = subscriber
        topics[topic.name, default: []].append(subscriber.id)
        return success()
    }

    func unsubscribe(
        _ parameters: [ArraySlice<UInt8>], _ bearer: Bearer, _ call: Call, _ world: inout World
    ) throws(NTMError) -> Response {
        let topic = try topic(parameters, call, &world)
        var subscriber = try subscriber(parameters, 454, call, &world)
        try checkDomain(bearer, subscriber.key.domain)
        try checkTopic(topic, subscriber, call, &world)
        notePSTN(topic, call, &world)
        subscriber.subscriptions.removeAll { $0.topic.name == topic.name }
        subscribers[subscriber.id] = subscriber
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
        let found = subscribers.values.filter { $0.key.proto == proto && $0.key.token == token }
        guard let subscriber = found.min(by: { $0.sequence < $1.sequence }) else {
            throw .storage(options.unknownIs404 ? 404 : 452, "No \(proto.text) subscriber has this token.")
        }
        return success(Self.describe(subscriber))
    }

    func list(_ parameters: [ArraySlice<UInt8>]) throws(NTMError) -> Response {
        guard let raw = parameters.last, let text = Topic.decode(raw) else {
            throw .unreadable("The topic has a bad percent-escape.")
        }
        guard let topic = Topic(text, strictPSTN: options.strictPSTN) else {
            throw .invalid("\"\(text.text)\" is no topic.")
        }
        let found = (topics[topic.name] ?? []).compactMap { subscribers[$0] }
        return success(["topic": .text(topic.name), "subscribers": .array(found.map(Self.describe))])
    }

    static func describe(_ subscriber: Subscriber) -> JSON {
        [
            "id": .text(subscriber.id), "proto": .text(subscriber.key.proto), "token": .text(subscriber.key.token),
            "app_domain": .text(subscriber.key.domain), "lang": .text(subscriber.lang),
            "badge": .text(subscriber.badge),
            "subscriptions": .array(
                subscriber.subscriptions.map { subscription in
                    var entry: JSON = ["topic": .text(subscription.topic.name)]
                    if let apnTopic = subscription.apnTopic { entry.set("apn_topic", .text(apnTopic)) }
                    return entry
                }),
        ]
    }

    func lose(_ what: String, _ facts: Facts, _ call: Call, _ world: inout World) {
        let id = facts.subscriber ?? facts.token.flatMap { token in living.first { $0.key.token == token }?.value }
        guard let id, var subscriber = subscribers[id] else { return }
        if what == "subscriber" { return remove(id) }
        let topic = facts.topic.flatMap { Topic($0, strictPSTN: options.strictPSTN) }
        let lost = subscriber.subscriptions.filter { topic == nil || $0.topic.name == topic?.name }
        subscriber.subscriptions.removeAll { lost.contains($0) }
        subscribers[id] = subscriber
        for subscription in lost { leave(subscription.topic.name, id) }
    }
}
