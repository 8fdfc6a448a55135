import PushSimJSONText
import PushSimSimulation
import PushSimWire

extension SunbirdState {
    func reset() {
        generation += 1
        devices = [:]
        order = []
        nextSequence = 1
        lost = []
        rotated = [:]
        topics = [:]
        broadcasts = []
        nextBroadcast = 1
        messages = 0
    }

    var snapshot: JSON {
        let places = places
        return [
            "tokens": .array(
                order.map { device in
                    var entry: JSON = [
                        "token": .text(device.token), "since": .string(TimeText.rfc3339(device.since)),
                        "topics": .array(
                            device.subscriptions.map { subscription in
                                var entry: JSON = [
                                    "topic": .text(subscription.topic),
                                    "since": .string(TimeText.rfc3339(subscription.since)),
                                ]
                                if let place = places[ByteKey(subscription.topic)]?[device.sequence] {
                                    entry.set("place", .int(place))
                                }
                                return entry
                            }),
                        "shown": Self.sorted(device.shown),
                    ]
                    if let tenant = device.tenant { entry.set("tenant", .text(tenant)) }
                    if !device.left.isEmpty { entry.set("left", Self.sorted(device.left)) }
                    if device.isUnused { entry.set("unused", true) }
                    return entry
                }),
            "lost_tokens": Self.sorted(lost.map(\.bytes)),
            "rotated_tokens": .array(
                rotated.sorted { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }.map {
                    ["token": .text($0.key.bytes), "new": .text($0.value)]
                }),
            "broadcasts": .array(broadcasts.map(\.json)), "next_broadcast": .int(nextBroadcast),
            "messages": .int(messages),
        ]
    }

    private static func sorted(_ names: some Sequence<[UInt8]>) -> JSON {
        .array(names.sorted { $0.lexicographicallyPrecedes($1) }.map { .text($0) })
    }

    /// By topic and token: the place among those on a topic, where they are not in the order of having become known.
    private var places: [ByteKey: [Int: Int]] {
        var places: [ByteKey: [Int: Int]] = [:]
        for (topic, devices) in topics {
            let isNatural = zip(devices, devices.dropFirst()).allSatisfy { $0.sequence < $1.sequence }
            if isNatural { continue }
            for (place, device) in devices.enumerated() { places[topic, default: [:]][device.sequence] = place + 1 }
        }
        return places
    }

    func restore(_ snapshot: JSONValue) throws(ControlError) {
        let fresh = SunbirdState(firstObligation)
        fresh.options = options
        var reader = try MemberReader(snapshot, path: "$.sunbird")
        var places: [ByteKey: [Int: Int]] = [:]
        for (index, entry) in try reader.elements("tokens").enumerated() {
            try fresh.restoreToken(entry, "$.sunbird.tokens[\(index)]", &places)
        }
        for (topic, own) in places {
            fresh.topics[topic]?.sort {
                (own[$0.sequence] ?? .max, $0.sequence) < (own[$1.sequence] ?? .max, $1.sequence)
            }
        }
        for (index, text) in (try reader.strings("lost_tokens") ?? []).enumerated() {
            let token = Array(text.utf8)
            guard DeviceToken.isWellFormed(token), fresh.devices[ByteKey(token)] == nil else {
                throw ControlError(
                    "is no registration token, or one that lives", path: "$.sunbird.lost_tokens[\(index)]")
            }
            fresh.lost.insert(ByteKey(token))
        }
        for (index, entry) in try reader.elements("rotated_tokens").enumerated() {
            var own = try MemberReader(entry, path: "$.sunbird.rotated_tokens[\(index)]")
            let (old, new) = (Array(try own.required("token").utf8), Array(try own.required("new").utf8))
            try own.finish()
            guard DeviceToken.isWellFormed(new), fresh.devices[ByteKey(old)] == nil, fresh.rotated[ByteKey(old)] == nil,
                fresh.current(new) != old
            else {
                throw ControlError(
                    "is no registration token, in the place of one that lives, or stands twice",
                    path: "$.sunbird.rotated_tokens[\(index)]")
            }
            fresh.rotated[ByteKey(old)] = new
        }
        for (index, entry) in try reader.elements("broadcasts").enumerated() {
            try fresh.restoreBroadcast(entry, "$.sunbird.broadcasts[\(index)]")
        }
        let last = fresh.broadcasts.map(\.id).max() ?? 0
        fresh.nextBroadcast = max(last + 1, try reader.count("next_broadcast"))
        fresh.messages = try reader.count("messages")
        try reader.finish()
        take(fresh)
    }

    private func take(_ other: SunbirdState) {
        generation += 1
        devices = other.devices
        order = other.order
        nextSequence = other.nextSequence
        lost = other.lost
        rotated = other.rotated
        topics = other.topics
        broadcasts = other.broadcasts
        nextBroadcast = other.nextBroadcast
        messages = other.messages
    }

    private func restoreToken(
        _ entry: JSONValue, _ path: String, _ places: inout [ByteKey: [Int: Int]]
    ) throws(ControlError) {
        var reader = try MemberReader(entry, path: path)
        let token = Array(try reader.required("token").utf8)
        guard DeviceToken.isWellFormed(token) else {
            throw ControlError("\"\(token.text)\" is no registration token", path: "\(path).token")
        }
        guard devices[ByteKey(token)] == nil else { throw ControlError("stands twice", path: path) }
        let device = FCMDevice(token, sequence: nextSequence, since: try reader.time("since") ?? 0)
        add(device)
        for (index, element) in try reader.elements("topics").enumerated() {
            var own = try MemberReader(element, path: "\(path).topics[\(index)]")
            let topic = Array(try own.required("topic").utf8)
            let since = try own.time("since") ?? 0
            let place = try own.int("place")
            try own.finish()
            // What is on already may be of a time when other names were taken.
            guard (1...900).contains(topic.count), !device.isOn(topic) else {
                throw ControlError(
                    "is empty or too long, or stands twice", path: "\(path).topics[\(index)].topic")
            }
            device.subscriptions.append(.init(topic: topic, since: since))
            topics[ByteKey(topic), default: []].append(device)
            if let place { places[ByteKey(topic), default: [:]][device.sequence] = place }
        }
        guard device.subscriptions.count <= Self.mostTopics else {
            throw ControlError("has more than \(Self.mostTopics) topics", path: path)
        }
        device.shown = Set((try reader.strings("shown") ?? []).map { Array($0.utf8) })
        device.tenant = try reader.string("tenant").map { Array($0.utf8) }
        device.left = Set((try reader.strings("left") ?? []).map { Array($0.utf8) })
        device.isUnused = try reader.bool("unused") ?? false
        for tenant in device.left.union([device.tenant].compactMap { $0 }) where !(1...900).contains(tenant.count) {
            throw ControlError("names a tenant that is empty or too long", path: path)
        }
        try reader.finish()
    }

    private func restoreBroadcast(_ entry: JSONValue, _ path: String) throws(ControlError) {
        var reader = try MemberReader(entry, path: path)
        let name = try reader.required("id")
        let topic = Array(try reader.required("topic").utf8)
        let payload = try reader.object("payload")
        let repetition = try Broadcast.repetition(
            try reader.string("repeat"), try reader.string("timeZone"), path: path)
        let runs = try reader.count("runs")
        let next = try reader.time("next")
        let expires = try reader.time("expires")
        try reader.finish()
        guard name.utf8.first == 98, let id = decimalDigits(name.utf8.dropFirst()), id < MemberReader.mostCount,
            let payload,
            !broadcasts.contains(where: { $0.id == id })
        else { throw ControlError("is no broadcast, or stands twice", path: path) }
        guard !topic.isEmpty else { throw ControlError("is empty", path: "\(path).topic") }
        var notification = SunbirdNotification(unchecked: payload, options.form, now: 0)
        notification.ends = expires
        let broadcast = Broadcast(id: id, topic: topic, notification: notification, repetition: repetition)
        (broadcast.runs, broadcast.next) = (runs, next)
        broadcasts.append(broadcast)
    }

    func restored(_ world: inout World) {
        for broadcast in broadcasts { schedule(broadcast, &world) }
    }
}
