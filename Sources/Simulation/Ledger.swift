/// Something that a backend's documentation asks of its clients.
package struct Obligation: Hashable, Sendable {
    package let id: String
    package let text: String

    package init(_ id: String, _ text: String) {
        self.id = id
        self.text = text
    }
}

/// The obligations ledger: which obligations the calls so far have met, and which they have broken.
///
/// Obligations go by number, all backends' in one row: a call may meet several, and pays an addition for each.
package struct Ledger: Sendable {
    package struct Account: Sendable {
        package var met = 0
        package var brokenCount = 0
        /// What was wrong, with the journal's index of the call that shows it, 0 where none does: the first hundred.
        package var broken: [(call: Int, why: String)] = []
    }

    package private(set) var accounts: [Account]
    /// Whether what happens now is a profile's doing: nothing of it is the client's fault.
    package var isPaused = false

    package init(count: Int) { accounts = Array(repeating: Account(), count: count) }

    package mutating func met(_ number: Int) { accounts[number].met += 1 }

    package mutating func broken(_ number: Int, _ call: Int, _ why: String) {
        if isPaused { return }
        accounts[number].brokenCount += 1
        if accounts[number].broken.count < 100 { accounts[number].broken.append((call, why)) }
    }

    package mutating func reset() { self = Ledger(count: accounts.count) }
}
