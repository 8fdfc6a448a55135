package import PushSimJSONText

/// Something that happened in a scope, as somebody who watches is told of it.
package struct Event: Sendable {
    package enum Kind: String, Sendable {
        case call, delivery, decision, state
    }

    /// Counted in its scope from 1.
    package let number: Int
    package let kind: Kind
    package let content: @Sendable () -> JSON
}

/// Who watches a scope. Costs nothing while nobody does.
package struct Events: Sendable {
    private var watchers: [(id: Int, tell: @Sendable (Event) -> Void)] = []
    private var nextWatcher = 1
    private var count = 0

    package var isWatched: Bool { !watchers.isEmpty }

    /// - Parameter tell: called outside the lock, in the order of what happens.
    package mutating func watch(_ tell: @escaping @Sendable (Event) -> Void) -> Int {
        defer { nextWatcher += 1 }
        watchers.append((nextWatcher, tell))
        return nextWatcher
    }

    package mutating func unwatch(_ id: Int) { watchers.removeAll { $0.id == id } }

    mutating func add(_ kind: Event.Kind, _ content: @escaping @Sendable () -> JSON) -> @Sendable () -> Void {
        count += 1
        let event = Event(number: count, kind: kind, content: content)
        let watchers = watchers
        return { for watcher in watchers { watcher.tell(event) } }
    }
}

extension World {
    /// Tells those who watch, once the lock is gone.
    package mutating func happened(_ kind: Event.Kind, _ content: @escaping @Sendable () -> JSON) {
        guard events.isWatched else { return }
        let telling = events.add(kind, content)
        after { _ in telling() }
    }
}
