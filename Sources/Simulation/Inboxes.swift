/// Which device's inbox.
package struct InboxKey: Hashable, Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        case token
        case deviceID = "device_id"
        case subscriber
    }

    package let kind: Kind
    package let name: [UInt8]

    package init(_ kind: Kind, _ name: [UInt8]) {
        self.kind = kind
        self.name = name
    }
}

/// What devices have received. Reading never consumes.
package struct Inboxes: Sendable {
    /// Of one inbox, in bytes; the oldest deliveries fall out first.
    package static let limit = 8 << 20

    private struct Box {
        var deliveries: [Delivery] = []
        var bytes = 0
        var evicted = 0
    }

    private struct Watcher {
        let key: InboxKey
        /// Called for each delivery.
        let tell: @Sendable (Delivery) -> Void
        /// Called where there is nothing to wait for any more; nil watches on.
        let ended: (@Sendable () -> Void)?
    }

    private var boxes: [InboxKey: Box] = [:]
    private var watchers: [UInt64: Watcher] = [:]
    private var nextWatcher: UInt64 = 1
    private var nextID = 1

    package init() {}

    /// Deliveries of one inbox that came after that of the given number, oldest first, and how many fell out. One that has
    /// fallen out itself counts as having come in the order of the numbers.
    package func deliveries(_ key: InboxKey, after id: Int = 0) -> (deliveries: [Delivery], evicted: Int) {
        guard let box = boxes[key] else { return ([], 0) }
        if id == 0 { return (box.deliveries, box.evicted) }
        // Who asks has most often seen all but the last.
        if let place = box.deliveries.lastIndex(where: { $0.id == id }) {
            return (Array(box.deliveries[(place + 1)...]), box.evicted)
        }
        return (box.deliveries.filter { $0.id > id }, box.evicted)
    }

    /// All deliveries of the scope, oldest first.
    package var all: [Delivery] {
        boxes.filter { $0.key.kind == .token }.values.flatMap(\.deliveries).sorted { $0.id < $1.id }
    }

    /// The delivery of that number, while it is in an inbox.
    package func delivery(_ id: Int) -> Delivery? {
        for (key, box) in boxes where key.kind == .token {
            if let found = box.deliveries.first(where: { $0.id == id }) { return found }
        }
        return nil
    }

    package mutating func reserve() -> Int {
        defer { nextID += 1 }
        return nextID
    }

    /// Puts a delivery into every inbox that it belongs to; answers what must be told of it once the lock is gone.
    mutating func add(_ delivery: Delivery) -> [@Sendable () -> Void] {
        var keys = [InboxKey(.token, delivery.token)]
        if let subscriber = delivery.subscriber { keys.append(InboxKey(.subscriber, subscriber)) }
        if let device = delivery.deviceID { keys.append(InboxKey(.deviceID, device)) }
        var tellings: [@Sendable () -> Void] = []
        for key in keys {
            Self.append(delivery, to: &boxes[key, default: Box()])
            for watcher in watchers.values where watcher.key == key {
                tellings.append { watcher.tell(delivery) }
            }
        }
        return tellings
    }

    private static func append(_ delivery: Delivery, to box: inout Box) {
        box.deliveries.append(delivery)
        box.bytes += delivery.size
        var excess = 0
        while box.bytes > limit, excess < box.deliveries.count - 1 {
            box.bytes -= box.deliveries[excess].size
            excess += 1
        }
        guard excess > 0 else { return }
        box.deliveries.removeFirst(excess)
        box.evicted += excess
    }

    /// - Parameters:
    ///   - ended: called outside the lock where the scope is reset or stopped.
    ///   - tell: called outside the lock for each delivery from now on, until `unwatch`.
    package mutating func watch(
        _ key: InboxKey, ended: (@Sendable () -> Void)? = nil, _ tell: @escaping @Sendable (Delivery) -> Void
    ) -> UInt64 {
        defer { nextWatcher += 1 }
        watchers[nextWatcher] = Watcher(key: key, tell: tell, ended: ended)
        return nextWatcher
    }

    /// Those who are to hear, outside the lock, that there is nothing to wait for any more.
    package var waiting: [@Sendable () -> Void] { watchers.values.compactMap(\.ended) }

    package mutating func unwatch(_ id: UInt64) { watchers[id] = nil }

    /// - Parameter key: nil empties all.
    package mutating func empty(_ key: InboxKey?) {
        if let key { boxes[key] = nil } else { boxes = [:] }
    }

    package mutating func reset() {
        boxes = [:]
        nextID = 1
    }
}
