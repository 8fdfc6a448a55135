import PushSimJSONText
import PushSimSimulation
import PushSimWire

/// A notification to all who are on a topic, once or again and again until it expires.
final class Broadcast {
    let id: Int
    let topic: [UInt8]
    fileprivate(set) var notification: SunbirdNotification
    let repetition: (text: String, timeZone: String?, plan: Repetition)?
    var runs = 0
    /// Of the next run, in nanoseconds since 1970; nil where there is none.
    var next: Int64?

    init(
        id: Int, topic: [UInt8], notification: SunbirdNotification,
        repetition: (text: String, timeZone: String?, plan: Repetition)?
    ) {
        self.id = id
        self.topic = topic
        self.notification = notification
        self.repetition = repetition
    }

    var name: String { "b\(id)" }

    var json: JSON {
        var entry: JSON = ["id": .string(name), "topic": .text(topic), "payload": notification.json]
        if let repetition {
            entry.set("repeat", .string(repetition.text))
            if let zone = repetition.timeZone { entry.set("timeZone", .string(zone)) }
        }
        entry.set("expires", notification.ends.map { .string(TimeText.rfc3339($0)) } ?? .null)
        entry.set("runs", .int(runs))
        entry.set("next", next.map { .string(TimeText.rfc3339($0)) } ?? .null)
        return entry
    }

    /// `15m` or five fields; a time zone goes with the latter.
    /// - Parameter path: of what has both as members.
    static func repetition(
        _ text: String?, _ timeZone: String?, path: String = "$"
    ) throws(ControlError) -> (text: String, timeZone: String?, plan: Repetition)? {
        guard let text else {
            if timeZone != nil { throw ControlError("needs a \"repeat\" of five fields", path: "\(path).timeZone") }
            return nil
        }
        if let cron = Cron(text) {
            return (text, timeZone, .cron(cron, try zone(timeZone ?? "UTC", "\(path).timeZone")))
        }
        guard let span = TimeText.duration(text), span >= 60_000_000_000, span % 60_000_000_000 == 0 else {
            throw ControlError(
                "\"\(text)\" is neither whole minutes such as \"15m\" nor five fields such as \"0 8 * * 1-5\"",
                path: "\(path).repeat")
        }
        if timeZone != nil { throw ControlError("needs a \"repeat\" of five fields", path: "\(path).timeZone") }
        return (text, nil, .every(span))
    }

    private static func zone(_ text: String, _ path: String) throws(ControlError) -> ZoneInfo {
        if let offset = offset(text) { return ZoneInfo(offset: offset) }
        do throws(ZoneInfo.Failure) {
            return try ZoneInfo(named: text)
        } catch {
            throw ControlError(
                "\(error.message); it is a name such as Asia/Kolkata, an offset such as +05:30, or UTC",
                path: path)
        }
    }

    /// Seconds ahead of UTC.
    private static func offset(_ text: String) -> Int64? {
        let bytes = Array(text.utf8)
        if text == "UTC" || text == "Z" { return 0 }
        guard bytes.count == 6, bytes[0] == 43 || bytes[0] == 45, bytes[3] == Byte.colon,
            let hours = decimalDigits(bytes[1..<3]), let minutes = decimalDigits(bytes[4..<6]), hours <= 14,
            minutes < 60
        else { return nil }
        return Int64(hours * 3600 + minutes * 60) * (bytes[0] == 45 ? -1 : 1)
    }
}

extension SunbirdState {
    func control(
        _ name: String, _ method: String, _ body: JSONValue?, _ world: inout World
    ) throws(ControlError) -> ControlAnswer? {
        switch (method, name) {
        case ("POST", "broadcasts"): return try broadcast(body, &world)
        case ("POST", "rotations"): return try rotation(body, &world)
        case ("POST", "tenants"): return try tenant(body, &world)
        case ("GET", "local"): return try local(body, world.clock.now)
        case ("GET", "broadcasts"): return ControlAnswer(200, ["broadcasts": .array(broadcasts.map(\.json))])
        case ("DELETE", _) where name.hasPrefix("broadcasts/"):
            let id = String(name.dropFirst("broadcasts/".count))
            guard let found = broadcasts.first(where: { $0.name == id }) else {
                throw ControlError("There is no broadcast \(id).", code: "notFound")
            }
            found.next = nil
            return ControlAnswer(204)
        default: return nil
        }
    }

    private func broadcast(_ body: JSONValue?, _ world: inout World) throws(ControlError) -> ControlAnswer {
        var reader = try MemberReader(body)
        let given = try reader.string("topic")
        let payload = try reader.object("payload")
        let repetition = try Broadcast.repetition(try reader.string("repeat"), try reader.string("timeZone"))
        try reader.finish()
        guard let payload else { throw ControlError("is missing", path: "$.payload") }
        let topic = try Self.topic(given, options)
        var notification = try notification(payload, path: "$.payload", &world)
        try checkSize(notification, 2048, "$.payload")
        let first = repetition?.plan.next(after: world.clock.now)
        // It ends by when it is sent, which is still to come.
        if case .cron = repetition?.plan, notification.lasts != nil { notification.ends = nil }
        if let repetition {
            guard let first else {
                throw ControlError("\"\(repetition.text)\" names no time that comes", path: "$.repeat")
            }
            if case .cron = repetition.plan, notification.isOver(first) {
                throw ControlError("\"\(repetition.text)\" names no time before the expiry", path: "$.repeat")
            }
        }
        if repetition != nil, notification.afterInstall != nil {
            throw ControlError("does not go together with the app's own notifications", path: "$.repeat")
        }
        let broadcast = Broadcast(id: nextBroadcast, topic: topic, notification: notification, repetition: repetition)
        nextBroadcast += 1
        broadcasts.append(broadcast)
        if broadcasts.count > Self.mostBroadcasts {
            // What is over is told of for so long.
            broadcasts.firstIndex { $0.next == nil && $0 !== broadcast }.map { _ = broadcasts.remove(at: $0) }
        }
        var answer = ControlAnswer(202)
        if notification.afterInstall != nil {
            // The app has it already; it is asked for by `local`.
            answer.body = broadcast.json
            answer.deliveries = []
            return answer
        }
        var sent: [Delivery] = []
        if case .cron = repetition?.plan {
            broadcast.next = first
        } else {
            sent = run(broadcast, world.clock.now, &world)
        }
        schedule(broadcast, &world)
        answer.body = broadcast.json
        answer.deliveries = sent
        return answer
    }

    /// Which of the app's own notifications are due on a device, by when it was installed.
    private func local(_ body: JSONValue?, _ now: Int64) throws(ControlError) -> ControlAnswer {
        var reader = try MemberReader(body, path: "query")
        guard let installed = try reader.time("installed") else {
            throw ControlError("is missing", path: "query.installed")
        }
        let at = try reader.time("at") ?? now
        try reader.finish()
        var due: [(time: Int64, broadcast: Broadcast)] = []
        for broadcast in broadcasts {
            guard let span = broadcast.notification.afterInstall else { continue }
            let (time, isTooLate) = installed.addingReportingOverflow(span)
            if !isTooLate, time <= at { due.append((time, broadcast)) }
        }
        due.sort { ($0.time, $0.broadcast.id) < ($1.time, $1.broadcast.id) }
        let rows = due.map { entry -> JSON in
            [
                "id": .string(entry.broadcast.name), "due": .string(TimeText.rfc3339(entry.time)),
                "payload": entry.broadcast.notification.json,
            ]
        }
        return ControlAnswer(200, ["local": .array(rows)])
    }

    private static func topic(_ given: String?, _ options: SunbirdOptions) throws(ControlError) -> [UInt8] {
        guard let given else {
            if options.defaultTopic.isEmpty {
                throw ControlError("is missing, and sunbird.defaultTopic names none", path: "$.topic")
            }
            return options.defaultTopic
        }
        guard let topic = TopicName.checked(Array(given.utf8), isStrict: options.isStrict) else {
            throw ControlError("\"\(given)\" is no name of a topic: [a-zA-Z0-9-_.~%]{1,900}", path: "$.topic")
        }
        return topic
    }

    func notification(
        _ payload: JSONValue, path: String, _ world: inout World
    ) throws(ControlError) -> SunbirdNotification {
        let now = world.clock.now
        if options.validates {
            return try SunbirdNotification(payload, options.form, types: options.types, now: now, path: path)
        }
        var notification = SunbirdNotification(unchecked: payload, options.form, now: now)
        // Sent although it is over: then it does not end at all.
        if notification.isOver(now) { notification.ends = nil }
        return notification
    }

    /// FCM takes 4,096 octets to a token and 2,048 to a topic.
    func checkSize(_ notification: SunbirdNotification, _ limit: Int, _ path: String) throws(ControlError) {
        guard options.validates else { return }
        let message = FCMMessage(.token([]), notification.json, isOneText: isOneText)
        guard message.size <= limit else {
            throw ControlError("has \(message.size) octets as FCM's data, which may have \(limit)", path: path)
        }
        if let key = message.reservedKey { throw ControlError("is a key of FCM's own", path: "\(path).\(key)") }
    }

    static let mostBroadcasts = 1000

    /// What the shipped apps read is FCM's data itself.
    var isOneText: Bool { options.isOneText && options.form != .shipped }

    /// Sends to all who are on the topic now; what has expired goes to nobody.
    /// - Parameter due: when it was to run, from which the next run counts.
    private func run(_ broadcast: Broadcast, _ due: Int64, _ world: inout World) -> [Delivery] {
        let now = world.clock.now
        broadcast.next = nil
        if broadcast.runs == 0 { broadcast.notification.begins(at: now) }
        guard !broadcast.notification.isOver(now) else { return [] }
        broadcast.runs += 1
        broadcast.next = broadcast.repetition?.plan.next(due: due, now: now)
        return send(broadcast.notification, to: broadcast.topic, &world)
    }

    func send(_ notification: SunbirdNotification, to topic: [UInt8], _ world: inout World) -> [Delivery] {
        dispatch(
            FCMMessage(.topic(topic), notification.json, isOneText: isOneText), to: receivers(of: topic),
            id: nextMessageID(&world), sender: "sunbird", deadline: notification.ends, &world)
    }

    /// Has the next run happen, unless the broadcast is over by then, was stopped, or the state is another.
    func schedule(_ broadcast: Broadcast, _ world: inout World) {
        guard let next = broadcast.next else { return }
        guard next < SimulationClock.end, !broadcast.notification.isOver(next) else {
            broadcast.next = nil
            return
        }
        let (id, own) = (broadcast.id, generation)
        world.after { scope in
            _ = scope.wait(until: next) { [weak scope] in
                scope?.run { world in
                    let state = world.states.compactMap { $0 as? SunbirdState }.first
                    state?.due(id, own, next, &world)
                }
                scope?.settled()
            }
        }
    }

    private func due(_ id: Int, _ own: Int, _ time: Int64, _ world: inout World) {
        guard own == generation, let broadcast = broadcasts.first(where: { $0.id == id }), broadcast.next == time
        else { return }
        _ = run(broadcast, time, &world)
        schedule(broadcast, &world)
    }
}
