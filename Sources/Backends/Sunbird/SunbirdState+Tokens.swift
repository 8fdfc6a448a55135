import PushSimJSONText
import PushSimSimulation
import PushSimWire

// What happens to a device from outside: FCM gives it another token, its user goes from one tenant to another.
extension SunbirdState {
    /// Takes a token away and gives its device another, which is known and on no topic but the default one, as FCM does at
    /// times: the app is told of it, and is to subscribe and register with it.
    /// - Returns: the new token; nil where the old one is not known.
    func rotate(_ token: [UInt8], _ world: inout World) -> [UInt8]? {
        guard let device = devices[ByteKey(token)] else { return nil }
        let fresh = Self.newToken([token], &world)
        forget(token, asLost: true)
        rotated[ByteKey(token)] = fresh
        lost.remove(ByteKey(fresh))
        let successor = FCMDevice(fresh, sequence: nextSequence, since: world.clock.now)
        (successor.tenant, successor.left, successor.shown) = (device.tenant, device.left, device.shown)
        successor.isUnused = true
        add(successor)
        return fresh
    }

    /// The token that has taken a token's place by now.
    func current(_ token: [UInt8]) -> [UInt8] {
        var token = token
        // They never go round in a circle: a new token is drawn, and a state that says otherwise is refused.
        while let next = rotated[ByteKey(token)] { token = next }
        return token
    }

    /// The token that a device gets which registers anew: a dead one stays dead.
    func successor(of token: [UInt8], _ world: inout World) -> [UInt8] {
        guard lost.contains(ByteKey(token)) else { return token }
        let fresh = Self.newToken([token], &world)
        rotated[ByteKey(token)] = fresh
        return fresh
    }

    /// A client's own call names a token.
    func noteUse(of token: [UInt8], _ call: Int, _ world: inout World) {
        if rotated.isEmpty { return }
        if rotated[ByteKey(token)] != nil {
            broken(.rotated, call, "The token \"\(token.text)\" was replaced by another.", &world)
        } else if rotated.values.contains(token) {
            devices[ByteKey(token)]?.isUnused = false
            met(.rotated, &world)
        }
    }

    /// POST `/__pushsim/sunbird/rotations`.
    func rotation(_ body: JSONValue?, _ world: inout World) throws(ControlError) -> ControlAnswer {
        var reader = try MemberReader(body)
        let token = try reader.required("token")
        try reader.finish()
        guard let fresh = rotate(Array(token.utf8), &world) else {
            throw ControlError("\"\(token)\" is no token that is known here", path: "$.token")
        }
        return ControlAnswer(201, ["token": .text(fresh)])
    }

    // MARK: tenants

    /// POST `/__pushsim/sunbird/tenants`: of which tenant the user of a device is from now on; null is of none.
    func tenant(_ body: JSONValue?, _ world: inout World) throws(ControlError) -> ControlAnswer {
        var reader = try MemberReader(body)
        let token = try reader.required("token")
        let given = try reader.string("tenant")
        try reader.finish()
        guard body?.member("tenant") != nil else { throw ControlError("is missing", path: "$.tenant") }
        guard let device = devices[ByteKey(Array(token.utf8))] else {
            throw ControlError("\"\(token)\" is no token that is known here", path: "$.token")
        }
        var tenant: [UInt8]?
        if let given {
            guard let topic = TopicName.checked(Array(given.utf8), isStrict: options.isStrict) else {
                throw ControlError("\"\(given)\" is no name of a topic", path: "$.tenant")
            }
            tenant = topic
        }
        if let former = device.tenant, former != tenant { device.left.insert(former) }
        if let tenant { device.left.remove(tenant) }
        device.tenant = tenant
        return ControlAnswer(204)
    }

    /// Something is sent to a topic: who should be on it, and who should not. An app that has not used its new token yet
    /// may not know it.
    func noteTenants(_ topic: [UInt8], _ receivers: [FCMDevice], _ world: inout World) {
        for device in order where device.tenant == topic && !device.isUnused {
            if device.isOn(topic) {
                met(.topics, &world)
            } else {
                let why = "\"\(device.token.text)\" is of the tenant \(topic.text), and not on its topic."
                broken(.topics, 0, why, &world)
            }
        }
        noteStrangers(topic, receivers, &world)
    }

    /// Who gets something by a topic of a tenant that the user has left.
    func noteStrangers(_ topic: [UInt8], _ receivers: [FCMDevice], _ world: inout World) {
        for device in receivers where device.isOn(topic) {
            guard let tenant = Self.formerOwner(topic, device) else { continue }
            let why = "\"\(device.token.text)\" has left \(tenant.text), and is on the topic \(topic.text) still."
            broken(.tenants, 0, why, &world)
        }
    }

    func noteLeaving(_ device: FCMDevice, _ topic: [UInt8], _ world: inout World) {
        if device.isOn(topic), Self.formerOwner(topic, device) != nil { met(.tenants, &world) }
    }

    /// The tenant that the user has left and whose topic it is, unless it is of the tenant that the user has now.
    private static func formerOwner(_ topic: [UInt8], _ device: FCMDevice) -> [UInt8]? {
        if let tenant = device.tenant, owns(tenant, topic) { return nil }
        return device.left.sorted { $0.lexicographicallyPrecedes($1) }.first { owns($0, topic) }
    }

    /// A tenant's topics have its name, or its name, a sign and more.
    private static func owns(_ tenant: [UInt8], _ topic: [UInt8]) -> Bool {
        guard topic.begins(with: tenant) else { return false }
        return topic.count == tenant.count || "-_.~%".utf8.contains(topic[tenant.count])
    }
}
