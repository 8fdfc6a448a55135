import PushSimWire

/// A user. Part of the state, so used only under its scope's lock.
final class Account {
    let id: [UInt8]
    var name: String?
    /// Suspicious activity; calls of a flagged account are refused.
    var flags: [String]
    /// In the order of their making.
    var sessions: [[UInt8]] = []
    private(set) var registrations: [Registration] = []
    private var places: [ByteKey: Int] = [:]
    var badgeCount = 0
    /// Devices that a push service has said are gone, and that have not come back.
    var gone: Set<[UInt8]> = []
    /// Apps whose ios_apns registration a push service has taken away.
    var lostAlerts: Set<String> = []
    /// The keys that a device had when its registration last went.
    private var lastKeys: [ByteKey: (encryption: String, auth: String)] = [:]
    /// Devices that have discarded what they could not decrypt, and whether they have unregistered since.
    var undecryptable: [ByteKey: Bool] = [:]

    /// What kind of device those of `gone` and `undecryptable` were: one that comes back may have another token.
    var kinds: [ByteKey: String] = [:]

    init(id: [UInt8], name: String? = nil, flags: [String] = []) {
        self.id = id
        self.name = name
        self.flags = flags
    }

    func registration(_ deviceID: [UInt8]) -> Registration? { places[ByteKey(deviceID)].map { registrations[$0] } }

    /// Takes the place of one with the same id, else comes last.
    func add(_ registration: Registration) {
        let key = ByteKey(registration.deviceID)
        let old = places[key].map { registrations[$0] }
        let before = old.map(\.keys) ?? lastKeys[key]
        registration.previousKeys =
            before.flatMap { $0.encryption == registration.encryptionKey ? nil : $0 } ?? old?.previousKeys
        if let place = places[key] {
            registrations[place] = registration
        } else {
            places[key] = registrations.count
            registrations.append(registration)
        }
    }

    func noteUndecryptable(_ deviceID: [UInt8]) { undecryptable[ByteKey(deviceID)] = false }

    /// Whether it takes the place of a registration that a push service has taken away.
    func comesBack(_ registration: Registration) -> Bool {
        let own = gone.filter { isSuccessor(registration, of: ByteKey($0)) }
        let exact = own.contains(registration.deviceID) ? registration.deviceID : nil
        guard let id = exact ?? own.min(by: { $0.lexicographicallyPrecedes($1) }) else { return false }
        gone.remove(id)
        return true
    }

    /// Whether it takes the place of one that was unregistered since it could not decrypt.
    func hasNewKeys(_ registration: Registration) -> Bool {
        let own = undecryptable.filter { $0.value && isSuccessor(registration, of: $0.key) }.map(\.key.bytes)
        guard let id = own.min(by: { $0.lexicographicallyPrecedes($1) }) else { return false }
        undecryptable[ByteKey(id)] = nil
        return true
    }

    private func isSuccessor(_ registration: Registration, of old: ByteKey) -> Bool {
        old == ByteKey(registration.deviceID) || kinds[old] == registration.kind
    }

    /// Whether there was one.
    @discardableResult
    func remove(_ deviceID: [UInt8]) -> Bool {
        guard places[ByteKey(deviceID)] != nil else { return false }
        removeAll { $0.deviceID == deviceID }
        return true
    }

    func removeAll(_ isUnwanted: (Registration) -> Bool) {
        registrations.removeAll { registration in
            guard isUnwanted(registration) else { return false }
            if let keys = registration.keys { lastKeys[ByteKey(registration.deviceID)] = keys }
            return true
        }
        places = [:]
        for (place, registration) in registrations.enumerated() { places[ByteKey(registration.deviceID)] = place }
    }
}
