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
                    var entry = Self.describe(subscriber)
                    entry.set("account", .text(subscriber.account))
                    return entry
                }),
            "topics": .array(
                sorted(topics).map { ["topic": .text($0.key), "subscribers": .array($0.value.map { .text($0) })] }),
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
        for (index, entry) in (reader.value("subscribers")?.elements ?? []).enumerated() {
            fresh.add(try Self.subscriber(entry, "$.ntm.subscribers[\(index)]", index + 1, strict: options.strictPSTN))
        }
        for (index, entry) in (reader.value("topics")?.elements ?? []).enumerated() {
            var order = try MemberReader(entry, path: "$.ntm.topics[\(index)]")
            let name = Array(try order.required("topic").utf8)
            let listed = try order.strings("subscribers")?.map { Array($0.utf8) } ?? []
            try order.finish()
            guard Set(listed) == Set(fresh.topics[name] ?? []) else {
                throw ControlError("does not list the topic's subscribers", path: "$.ntm.topics[\(index)]")
            }
            fresh.topics[name] = listed
        }
        for (index, entry) in (reader.value("registrations")?.elements ?? []).enumerated() {
            var count = try MemberReader(entry, path: "$.ntm.registrations[\(index)]")
            let key = try Self.key(&count)
            fresh.generations[key] = try count.int("count") ?? 1
            try count.finish()
        }
        for (index, entry) in (reader.value("rooms")?.elements ?? []).enumerated() {
            var room = try MemberReader(entry, path: "$.ntm.rooms[\(index)]")
            let topic = Array(try room.required("topic").utf8)
            fresh.rooms[topic] = Room(
                roomID: Array(try room.required("room_id").utf8), traceID: Array(try room.required("trace_id").utf8))
            try room.finish()
        }
        fresh.expiredBearers = Set((try reader.strings("expired_tokens") ?? []).map { Array($0.utf8) })
        fresh.notifications = try reader.int("notifications") ?? 0
        fresh.tokensMinted = try reader.int("tokens") ?? 0
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
    ) throws(ControlError) -> Subscriber {
        var reader = try MemberReader(entry, path: path)
        let subscriber = Subscriber(
            id: Array(try reader.required("id").utf8), key: try key(&reader),
            account: Array(try reader.required("account").utf8), lang: Array((try reader.string("lang") ?? "en").utf8),
            badge: Array((try reader.string("badge") ?? "0").utf8), sequence: sequence)
        for (index, element) in (reader.value("subscriptions")?.elements ?? []).enumerated() {
            var subscription = try MemberReader(element, path: "\(path).subscriptions[\(index)]")
            let name = try subscription.required("topic")
            let apnTopic = try subscription.string("apn_topic").map { Array($0.utf8) }
            try subscription.finish()
            guard let topic = Topic(Array(name.utf8), strictPSTN: strict) else {
                throw ControlError("\"\(name)\" is no topic", path: "\(path).subscriptions[\(index)].topic")
            }
            subscriber.subscriptions.append(.init(topic: topic, apnTopic: apnTopic))
        }
        try reader.finish()
        return subscriber
    }
}
