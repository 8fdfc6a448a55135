import PushSimJSONText
import PushSimSimulation
import PushSimWire
import Synchronization

/// GET `/__pushsim/inbox`: reads, and where asked waits until there is something to read.
struct InboxCall {
    private let api: ControlAPI
    private let exchange: Exchange

    init(_ api: ControlAPI, _ exchange: Exchange) {
        self.api = api
        self.exchange = exchange
    }

    struct Question: Sendable {
        let key: InboxKey
        var after = 0
        var wait: Int64 = 0
        var limit = Int.max
    }

    /// Which inbox a query names, and what of it.
    static func key(_ query: ArraySlice<UInt8>?, _ scope: Scope) throws(ControlError) -> Question {
        guard let pairs = Percent.form(query ?? []) else { throw ControlError("The query has a bad escape.") }
        var key: InboxKey?
        var rest: [(String, String)] = []
        for pair in pairs {
            if let kind = InboxKey.Kind(rawValue: pair.name.text) {
                if key != nil { throw ControlError("Name one inbox: token, device_id or subscriber.") }
                key = InboxKey(kind, canonical(pair.value, scope))
            } else {
                rest.append((pair.name.text, pair.value.text))
            }
        }
        guard let key else { throw ControlError("Name the inbox: token, device_id or subscriber.", path: "query") }
        var question = Question(key: key)
        for (name, value) in rest {
            switch name {
            case "wait":
                guard let wait = TimeText.duration(value) else { throw bad(name, value, "a duration such as 2s") }
                question.wait = wait
            case "limit":
                guard let limit = decimalDigits(value.utf8), limit > 0 else {
                    throw bad(name, value, "a number from 1")
                }
                question.limit = limit
            case "after":
                guard value.utf8.first == 100, let id = decimalDigits(value.utf8.dropFirst()) else {
                    throw bad(name, value, "the id of a delivery")
                }
                question.after = id
            default:
                throw ControlError(
                    "\"\(name)\" is not known here; known are token, device_id, subscriber, wait, limit, after",
                    path: "query.\(name)", code: "unknownMember")
            }
        }
        return question
    }

    static func canonical(_ token: [UInt8], _ scope: Scope) -> [UInt8] {
        PushEndpoint.canonical(token, baseURL: scope.run { $0.baseURL })
    }

    private static func bad(_ name: String, _ value: String, _ wanted: String) -> ControlError {
        ControlError("\"\(value)\" is not \(wanted)", path: "query.\(name)")
    }

    func answer(_ call: Call) throws(ControlError) {
        let question = try Self.key(call.query, api.scope)
        let found = Self.read(question, api.scope)
        guard found.isEmpty, question.wait > 0 else { return api.finish(exchange, ControlAnswer(200, found.body)) }
        InboxWait(question, api.scope).begin { body in api.finish(exchange, ControlAnswer(200, body)) }
    }

    static func read(_ question: Question, _ scope: Scope) -> (isEmpty: Bool, body: JSON) {
        let found = scope.run { $0.inboxes.deliveries(question.key, after: question.after) }
        let shown = found.deliveries.prefix(question.limit).map(\.json)
        return (shown.isEmpty, ["deliveries": .array(shown), "evicted": .int(found.evicted)])
    }
}

/// Somebody who waits, in real time, for an inbox to have something.
final class InboxWait: Sendable {
    private let question: InboxCall.Question
    private let scope: Scope
    private let wait = Wait()
    private let givenUp = Mutex(false)

    /// Whether the scope was stopped or reset meanwhile.
    var wasGivenUp: Bool { givenUp.withLock { $0 } }

    init(_ question: InboxCall.Question, _ scope: Scope) {
        self.question = question
        self.scope = scope
    }

    /// - Parameter done: called once: when there is something, the time is over, or it is ended.
    func begin(_ done: @escaping @Sendable (JSON) -> Void) {
        let watcher = scope.run { world in
            world.inboxes.watch(
                question.key,
                ended: {
                    self.givenUp.withLock { $0 = true }
                    self.end()
                }, { _ in self.end() })
        }
        wait.begin(on: scope.home, question.wait) { [scope, question] in
            scope.run { $0.inboxes.unwatch(watcher) }
            done(InboxCall.read(question, scope).body)
        }
        // What came between the first look and the watching is there by now.
        if !InboxCall.read(question, scope).isEmpty { end() }
    }

    /// Waits no longer.
    func end() { wait.end() }
}
