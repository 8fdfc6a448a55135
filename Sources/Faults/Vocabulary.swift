package import PushSimSimulation

/// The names that profiles may use, from the tables of the backends.
package struct Vocabulary: Sendable {
    package struct Entry: Sendable {
        package let backend: String
        package let routes: [String]
        package let losable: [String]
        package let tokenFaults: [String]
        package let kinds: [String]
    }

    package let entries: [Entry]

    package init(_ backends: [any Backend]) {
        entries = backends.map {
            Entry(
                backend: $0.name, routes: $0.table.routes.map(\.name), losable: $0.losable,
                tokenFaults: $0.tokenFaults, kinds: $0.kinds)
        }
    }

    var backends: [String] { entries.map(\.backend) }

    func all(_ backend: String?, _ names: KeyPath<Entry, [String]>) -> [String] {
        var found: [String] = []
        for entry in entries where backend == nil || entry.backend == backend {
            for name in entry[keyPath: names] where !found.contains(name) { found.append(name) }
        }
        return found
    }

    /// The backend that a matcher is about, by itself or by its route; nil where it may be several.
    func backend(of on: Matcher) -> String? {
        if let backend = on.backend { return backend }
        let owners = on.route.map { route in entries.filter { $0.routes.contains(route) } } ?? []
        return owners.count == 1 ? owners[0].backend : nil
    }

    static let transports = ["webpush", "apns", "fcm", "xmpp"]
}
