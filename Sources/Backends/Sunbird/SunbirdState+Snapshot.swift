import PushSimJSONText
import PushSimSimulation
import PushSimWire

extension SunbirdState {
    func reset() {
        generation += 1
        devices = [:]
        order = []
        lost = []
        topics = [:]
        broadcasts = []
        nextBroadcast = 1
        messages = 0
    }

    var snapshot: JSON {
        [
            "tokens": .array(
                order.map { device in
                    [
                        "token": .text(device.token),
                        "topics": .array(
                            device.subscriptions.map { subscription in
                                var entry: JSON = [
                                    "topic": .text(subscription.topic),
                                    "since": .string(TimeText.rfc3339(subscription.since)),
                                ]
                                if let place = place(of: device, on: subscription.topic) {
                                    entry.set("place", .int(place))
                                }
                                return entry
                            }),
                        "shown": .array(
                            device.shown.sorted { $0.lexicographicallyPrecedes($1) }.map { .text($0) }),
                    ]
                }),
            "lost_tokens": .array(
                lost.map(\.bytes).sorted { $0.lexicographicallyPrecedes($1) }.map { .text($0) }),
            "broadcasts": .array(broadcasts.map(\.json)), "next_broadcast": .int(nextBroadcast),
            "messages": .int(messages),
        ]
    }

    /// The place among those on a topic, where it is not that of having become known.
    private func place(of device: FCMDevice, on topic: [UInt8]) -> Int? {
        let all = topics[ByteKey(topic)] ?? []
        let natural = order.filter { $0.isOn(topic) }
        if zip(all, natural).allSatisfy({ $0 === $1 }) { return nil }
        return all.firstIndex { $0 === device }.map { $0 + 1 }
    }

    func restore(_ snapshot: JSONValue) throws(ControlError) {
        let fresh = SunbirdState(firstObligation)
        fresh.options = options
        var reader = try MemberReader(snapshot, path: "$.sunbird")
        var places: [ByteKey: [(device: FCMDevice, place: Int)]] = [:]
        for (index, entry) in try reader.elements("tokens").enumerated() {
            try fresh.restoreToken(entry, "$.sunbird.tokens[\(index)]", &places)
        }
        for (topic, listed) in places {
            let placed = listed.sorted { $0.place < $1.place }.map(\.device)
            fresh.topics[topic]?.sort { left, right in
                (placed.firstIndex { $0 === left } ?? .max) < (placed.firstIndex { $0 === right } ?? .max)
            }
        }
        for token in try reader.strings("lost_tokens") ?? [] { fresh.lost.insert(ByteKey(Array(token.utf8))) }
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
        lost = other.lost
        topics = other.topics
        broadcasts = other.broadcasts
        nextBroadcast = other.nextBroadcast
        messages = other.messages
    }

    private func restoreToken(
        _ entry: JSONValue, _ path: String, _ places: inout [ByteKey: [(device: FCMDevice, place: Int)]]
    ) throws(ControlError) {
        var reader = try MemberReader(entry, path: path)
        let token = Array(try reader.required("token").utf8)
        guard DeviceToken.isWellFormed(token) else {
            throw ControlError("\"\(token.text)\" is no registration token", path: "\(path).token")
        }
        guard devices[ByteKey(token)] == nil else { throw ControlError("stands twice", path: path) }
        let device = FCMDevice(token)
        devices[ByteKey(token)] = device
        order.append(device)
        for (index, element) in try reader.elements("topics").enumerated() {
            var own = try MemberReader(element, path: "\(path).topics[\(index)]")
            let name = Array(try own.required("topic").utf8)
            let since = try own.string("since").flatMap { TimeText.instant($0) } ?? 0
            let place = try own.int("place")
            try own.finish()
            guard let topic = TopicName.checked(name, isStrict: options.isStrict), !device.isOn(topic) else {
                throw ControlError(
                    "\"\(name.text)\" is no name of a topic, or stands twice", path: "\(path).topics[\(index)].topic")
            }
            device.subscriptions.append(.init(topic: topic, since: since))
            topics[ByteKey(topic), default: []].append(device)
            if let place { places[ByteKey(topic), default: []].append((device, place)) }
        }
        device.shown = Set((try reader.strings("shown") ?? []).map { Array($0.utf8) })
        try reader.finish()
    }

    private func restoreBroadcast(_ entry: JSONValue, _ path: String) throws(ControlError) {
        var reader = try MemberReader(entry, path: path)
        let name = try reader.required("id")
        let topic = Array(try reader.required("topic").utf8)
        let payload = try reader.object("payload")
        let repetition = try Broadcast.repetition(try reader.string("repeat"), try reader.string("timeZone"))
        let runs = try reader.count("runs")
        let next = try reader.string("next")
        let expires = try reader.string("expires")
        try reader.finish()
        guard name.utf8.first == 98, let id = decimalDigits(name.utf8.dropFirst()), let payload,
            !broadcasts.contains(where: { $0.id == id })
        else { throw ControlError("is no broadcast, or stands twice", path: path) }
        let (instant, end) = (next.flatMap { TimeText.instant($0) }, expires.flatMap { TimeText.instant($0) })
        guard next == nil || instant != nil else { throw ControlError("is no time", path: "\(path).next") }
        guard expires == nil || end != nil else { throw ControlError("is no time", path: "\(path).expires") }
        var notification = SunbirdNotification(unchecked: payload, options.form, now: 0)
        notification.ends = end
        let broadcast = Broadcast(id: id, topic: topic, notification: notification, repetition: repetition)
        (broadcast.runs, broadcast.next) = (runs, instant)
        broadcasts.append(broadcast)
    }

    func restored(_ world: inout World) {
        for broadcast in broadcasts { schedule(broadcast, &world) }
    }
}
