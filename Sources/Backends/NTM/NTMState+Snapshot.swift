import PushSimJSONText
import PushSimSimulation
import PushSimWire

extension NTMState {
    func control(
        _ name: String, _ method: String, _ body: JSONValue?, _ world: inout World
    ) throws(ControlError) -> ControlAnswer? {
        switch (method, name) {
        case ("POST", "tokens"): return try mint(body, &world)
        case ("POST", "notifications"):
            var answer = ControlAnswer(202)
            answer.deliveries = try notify(body, &world)
            return answer
        default: return nil
        }
    }

    func reset() {
        subscribers = [:]
        living = [:]
        accounts = [:]
        topics = [:]
        generations = [:]
        rooms = [:]
        notifications = 0
        tokensMinted = 0
        expiredBearers = []
        nextSequence = 1
    }

    var snapshot: JSON {
        let all = subscribers.values.sorted { $0.sequence < $1.sequence }
        return [
            "subscribers": .array(
                all.map { subscriber in
                    var entry = Self.describe(subscriber, placed(subscriber))
                    entry.set("account", .text(subscriber.account))
                    return entry
                }),
            "registrations": .array(
                generations.sorted { Self.precedes($0.key, $1.key) }.map { key, count in
                    [
                        "proto": .text(key.proto), "token": .text(key.token), "app_domain": .text(key.domain),
                        "count": .int(count),
                    ]
                }),
            "rooms": .array(
                sorted(rooms).map {
                    ["topic": .text($0.key), "room_id": .text($0.value.roomID), "trace_id": .text($0.value.traceID)]
                }),
            "expired_tokens": .array(
                expiredBearers.sorted { $0.lexicographicallyPrecedes($1) }.map { .text($0) }),
            "notifications": .int(notifications), "tokens": .int(tokensMinted),
        ]
    }

    /// The place among a topic's subscribers, which get their deliveries in this order: by topic, where it is not that of
    /// their registering.
    private func placed(_ subscriber: Subscriber) -> [[UInt8]: Int] {
        var places: [[UInt8]: Int] = [:]
        for subscription in subscriber.subscriptions {
            let ids = topics[subscription.topic.name] ?? []
            let sequences = ids.compactMap { subscribers[ByteKey($0)]?.sequence }
            if sequences == sequences.sorted() { continue }
            places[subscription.topic.name] = (ids.firstIndex(of: subscriber.id) ?? 0) + 1
        }
        return places
    }

    private func sorted<Value>(_ table: [[UInt8]: Value]) -> [(key: [UInt8], value: Value)] {
        table.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    }

    private static func precedes(_ left: Subscriber.Key, _ right: Subscriber.Key) -> Bool {
        if left.proto != right.proto { return left.proto.lexicographicallyPrecedes(right.proto) }
        if left.token != right.token { return left.token.lexicographicallyPrecedes(right.token) }
        return left.domain.lexicographicallyPrecedes(right.domain)
    }

    func restore(_ snapshot: JSONValue) throws(ControlError) {
        let fresh = NTMState(firstObligation)
        fresh.options = options
        fresh.issuer = issuer
        var reader = try MemberReader(snapshot, path: "$.ntm")
        var places: [[UInt8]: [[UInt8]: Int]] = [:]
        for (index, entry) in try reader.elements("subscribers").enumerated() {
            let path = "$.ntm.subscribers[\(index)]"
            let (subscriber, own) = try Self.subscriber(entry, path, index + 1, strict: options.strictPSTN)
            guard fresh.subscribers[ByteKey(subscriber.id)] == nil, fresh.living[subscriber.key] == nil else {
                throw ControlError("stands twice", path: path)
            }
            fresh.add(subscriber)
            for (topic, place) in own { places[topic, default: [:]][subscriber.id] = place }
        }
        for (topic, place) in places {
            let natural = fresh.topics[topic] ?? []
            fresh.topics[topic] = natural.enumerated().sorted {
                (place[$0.element] ?? .max, $0.offset) < (place[$1.element] ?? .max, $1.offset)
            }.map(\.element)
        }
        for (index, entry) in try reader.elements("registrations").enumerated() {
            var count = try MemberReader(entry, path: "$.ntm.registrations[\(index)]")
            let key = try Self.key(&count)
            fresh.generations[key] = max(1, try count.count("count"))
            try count.finish()
        }
        for (index, entry) in try reader.elements("rooms").enumerated() {
            var room = try MemberReader(entry, path: "$.ntm.rooms[\(index)]")
            let topic = Array(try room.required("topic").utf8)
            fresh.rooms[topic] = Room(
                roomID: Array(try room.required("room_id").utf8), traceID: Array(try room.required("trace_id").utf8))
            try room.finish()
        }
        fresh.expiredBearers = Set((try reader.strings("expired_tokens") ?? []).map { Array($0.utf8) })
        fresh.notifications = try reader.count("notifications")
        fresh.tokensMinted = try reader.count("tokens")
        try reader.finish()
        take(fresh)
    }

    private func take(_ other: NTMState) {
        subscribers = other.subscribers
        living = other.living
        accounts = other.accounts
        topics = other.topics
        generations = other.generations
        rooms = other.rooms
        notifications = other.notifications
        tokensMinted = other.tokensMinted
        expiredBearers = other.expiredBearers
        nextSequence = other.nextSequence
    }

    private static func key(_ reader: inout MemberReader) throws(ControlError) -> Subscriber.Key {
        Subscriber.Key(
            proto: Array(try reader.required("proto").utf8), token: Array(try reader.required("token").utf8),
            domain: Array(try reader.required("app_domain").utf8))
    }

    private static func subscriber(
        _ entry: JSONValue, _ path: String, _ sequence: Int, strict: Bool
    ) throws(ControlError) -> (Subscriber, places: [(topic: [UInt8], place: Int)]) {
        var reader = try MemberReader(entry, path: path)
        var places: [(topic: [UInt8], place: Int)] = []
        let subscriber = Subscriber(
            id: Array(try reader.required("id").utf8), key: try key(&reader),
            account: Array(try reader.required("account").utf8), lang: Array((try reader.string("lang") ?? "en").utf8),
            badge: Array((try reader.string("badge") ?? "0").utf8), sequence: sequence)
        for (index, element) in try reader.elements("subscriptions").enumerated() {
            var subscription = try MemberReader(element, path: "\(path).subscriptions[\(index)]")
            let name = try subscription.required("topic")
            let apnTopic = try subscription.string("apn_topic").map { Array($0.utf8) }
            let place = try subscription.int("place")
            try subscription.finish()
            guard let topic = Topic(Array(name.utf8), strictPSTN: strict) else {
                throw ControlError("\"\(name)\" is no topic", path: "\(path).subscriptions[\(index)].topic")
            }
            guard !subscriber.subscriptions.contains(where: { $0.topic.name == topic.name }) else {
                throw ControlError("stands twice", path: "\(path).subscriptions[\(index)].topic")
            }
            subscriber.subscriptions.append(.init(topic: topic, apnTopic: apnTopic))
            if let place { places.append((topic.name, place)) }
        }
        try reader.finish()
        return (subscriber, places)
    }
}
