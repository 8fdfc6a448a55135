import PushSimJSONText
import PushSimSimulation
import PushSimWire
import Synchronization

/// An answer of server-sent events, as long as the client stays: `/inbox/stream` and `/events`.
final class EventStream: Sendable {
    private struct State {
        var lastDelivery = 0
        var watcher: UInt64?
        var listener: Int?
        var isOver = false
    }

    private let scope: Scope
    private let exchange: Exchange
    private let question: InboxCall.Question?
    private let state: Mutex<State>

    private init(_ scope: Scope, _ exchange: Exchange, _ question: InboxCall.Question?) {
        self.scope = scope
        self.exchange = exchange
        self.question = question
        state = Mutex(State(lastDelivery: question?.after ?? 0))
    }

    /// What an inbox holds, and then each delivery as it comes.
    static func inbox(_ question: InboxCall.Question, _ api: ControlAPI, _ exchange: Exchange) {
        let stream = EventStream(api.scope, exchange, question)
        stream.begin(api)
        let watcher = api.scope.run { $0.inboxes.watch(question.key) { _ in stream.pumpSoon() } }
        stream.keep { $0.watcher = watcher }
        stream.pumpSoon()
    }

    /// Every journal entry, delivery, fault decision and state change from now on.
    static func events(_ api: ControlAPI, _ exchange: Exchange) {
        let stream = EventStream(api.scope, exchange, nil)
        stream.begin(api)
        let listener = api.scope.run { world in
            world.events.watch { event in
                api.scope.home.execute { stream.send(event.kind.rawValue, String(event.number), event.content()) }
            }
        }
        stream.keep { $0.listener = listener }
    }

    private func begin(_ api: ControlAPI) {
        exchange.context = self
        let response = Response(
            status: 200,
            fields: [
                HeaderField("Content-Type", "text/event-stream"), HeaderField("Cache-Control", "no-cache"),
                HeaderField(Array("Date"), scope.run { $0.clock.httpDate() }), Service.close,
            ])
        exchange.finish(WireScript(response.bytes(isOpen: true), end: .open))
    }

    /// The client may have left before there was anything to keep.
    private func keep(_ change: (inout State) -> Void) {
        let isOver = state.withLock(of: self) { state in
            change(&state)
            return state.isOver
        }
        if isOver { ended() }
    }

    /// Deliveries go out on the home loop, in the order of the inbox.
    private func pumpSoon() {
        scope.home.execute { [self] in
            guard let question else { return }
            let last = state.withLock(of: self) { $0.lastDelivery }
            for delivery in scope.run({ $0.inboxes.deliveries(question.key, after: last).deliveries }) {
                state.withLock(of: self) { $0.lastDelivery = delivery.id }
                send("delivery", delivery.name, delivery.json)
            }
        }
    }

    private func send(_ event: String, _ id: String, _ content: JSON) {
        var bytes = Array("event: \(event)\nid: \(id)\ndata: ".utf8)
        bytes += content.bytes
        bytes += [10, 10]
        exchange.send(bytes)
    }

    func ended() {
        let old = state.withLock(of: self) { state in
            state.isOver = true
            defer { (state.watcher, state.listener) = (nil, nil) }
            return state
        }
        guard old.watcher != nil || old.listener != nil else { return }
        scope.run { world in
            if let watcher = old.watcher { world.inboxes.unwatch(watcher) }
            if let listener = old.listener { world.events.unwatch(listener) }
        }
    }
}
