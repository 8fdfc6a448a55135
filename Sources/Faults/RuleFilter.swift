import PushSimSimulation
import PushSimWire

/// The rules that may be about one place, with what tells most of them from a call at a glance: plain numbers, so that a
/// rule that is passed by costs no count of references.
final class RuleFilter {
    struct Entry {
        let rule: Int
        /// Nothing is asked of the call but its number and time.
        let isBare: Bool
        let firstCall: Int
        let after: Int64
        let until: Int64
        /// Which of `headerNames` must be there; -1 for none.
        let header: Int
        let path: Beginning
        let account: Beginning
        let token: Beginning
    }

    /// Up to eight octets with which a text must begin.
    struct Beginning {
        private let octets: UInt64
        private let mask: UInt64

        init(_ text: [UInt8]) {
            octets = Self.word(text)
            mask = text.count >= 8 ? .max : (1 << UInt64(text.count * 8)) - 1
        }

        var asksNothing: Bool { mask == 0 }

        func isOf(_ word: UInt64) -> Bool { word & mask == octets }

        /// The first eight octets of a text, zeros behind its end.
        static func word(_ text: some Collection<UInt8>) -> UInt64 {
            var word: UInt64 = 0
            var shift: UInt64 = 0
            for byte in text.prefix(8) {
                word |= UInt64(byte) << shift
                shift += 8
            }
            return word
        }
    }

    let entries: ContiguousArray<Entry>
    let headerNames: [[UInt8]]
    let needsBody: Bool
    private let asksFacts: Bool

    init(_ rules: [(number: Int, rule: RunningRule)]) {
        var names: [[UInt8]] = []
        entries = ContiguousArray(
            rules.map { number, running in
                var header = -1
                if let name = running.headerNames.first {
                    header = names.firstIndex { $0.equalsIgnoringCase(name) } ?? names.count
                    if header == names.count { names.append(name) }
                }
                return Entry(
                    rule: number, isBare: running.isBare, firstCall: running.firstCall, after: running.after,
                    until: running.until, header: header, path: Beginning(running.pathPrefix),
                    account: Beginning(running.rule.on.account?.first ?? []),
                    token: Beginning(running.rule.on.token?.first ?? []))
            })
        headerNames = names
        needsBody = rules.contains { $0.rule.rule.on.needsBody || $0.rule.rule.when.needsBody }
        asksFacts = entries.contains { !$0.account.asksNothing || !$0.token.asksNothing }
    }

    /// What of a call the entries are compared with.
    struct Glance {
        let path: UInt64
        let account: UInt64
        /// Nil where there are several.
        let token: UInt64?
        /// One bit for each of the first 64 header names; later ones count as there.
        let headers: UInt64
    }

    func glance(_ call: Call) -> Glance {
        var headers: UInt64 = 0
        for (number, name) in headerNames.prefix(64).enumerated() where call.head.has(name) {
            headers |= 1 << UInt64(number)
        }
        let facts = asksFacts ? call.facts : nil
        return Glance(
            path: RuleFilter.Beginning.word(call.path.prefix(8)),
            account: facts?.account.map { Beginning.word($0) } ?? 0,
            token: facts?.otherTokens.isEmpty == false ? nil : facts?.token.map { Beginning.word($0) } ?? 0,
            headers: headers)
    }
}

extension RuleFilter.Entry {
    /// False where the call is surely none of the rule's.
    func mayBe(_ glance: RuleFilter.Glance) -> Bool {
        if !path.isOf(glance.path) || !account.isOf(glance.account) { return false }
        if let own = glance.token, !token.isOf(own) { return false }
        return header < 0 || header >= 64 || glance.headers & (1 << UInt64(header)) != 0
    }
}
