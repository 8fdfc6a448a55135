import Dispatch
import PushSimFaults
import PushSimJSONText
import PushSimSimulation
import PushSimWire

/// The calls under `/__pushsim` (contract control-api.md). They are never faulted, counted or journalled.
struct ControlAPI {
    let service: Service
    let scope: Scope

    init(_ service: Service, _ scope: Scope) {
        self.service = service
        self.scope = scope
    }

    func answer(_ exchange: Exchange, _ path: RequestHead.Span) {
        let request = exchange.request
        let call = Call(request: request, path: path, peerAddress: exchange.peerAddress)
        do throws(ControlError) {
            try checkAccess(request.head)
            let method = request.head.methodText
            let name = request.head.text(path)
            if name == "inbox", method == "GET" { return try InboxCall(self, exchange).answer(call) }
            if name == "inbox/stream", method == "GET" {
                return EventStream.inbox(try InboxCall.key(call.query, scope), self, exchange)
            }
            if name == "events", method == "GET" { return EventStream.events(self, exchange) }
            if name == "verify", method == "POST" { return try VerifyCall(self, exchange).answer(try object(call)) }
            if name == "clock", method == "POST" { return try moveClock(try object(call), exchange) }
            if name == "records", method == "POST" { return try makeRecord(call, exchange) }
            deliver(try reply(name, method, call)) { finish(exchange, $0) }
        } catch {
            finish(exchange, Self.describe(error))
        }
    }

    static func describe(_ error: ControlError) -> ControlAnswer {
        let status: Int
        switch error.code {
        case "forbidden": status = 403
        case "unauthorized": status = 401
        case "notFound": status = 404
        case "methodNotAllowed": status = 405
        case "internal": status = 500
        default: status = 400
        }
        return ControlAnswer(
            status,
            ["error": ["code": .string(error.code), "message": .string(error.message), "path": .string(error.path)]])
    }

    /// Hands the answer on once what it sent has been tried, and says what came of each delivery.
    private func deliver(_ answer: ControlAnswer, _ done: @escaping @Sendable (ControlAnswer) -> Void) {
        guard let deliveries = answer.deliveries else { return done(answer) }
        scope.run { world in
            world.afterDeliveries {
                var answer = answer
                var body = answer.body ?? .object([])
                body.set("deliveries", Self.describe(deliveries))
                answer.body = body
                done(answer)
            }
        }
    }

    static func describe(_ deliveries: [Delivery]) -> JSON {
        .array(
            deliveries.map { delivery in
                var entry: JSON = ["id": .string(delivery.name)]
                if let subscriber = delivery.subscriber { entry.set("subscriber", .text(subscriber)) }
                if let device = delivery.deviceID { entry.set("device_id", .text(device)) }
                if delivery.subscriber == nil, delivery.deviceID == nil { entry.set("token", .text(delivery.token)) }
                entry.set("transport", .string(delivery.transport))
                entry.set("outcome", .string(delivery.outcomeText))
                return entry
            })
    }

    func finish(_ exchange: Exchange, _ answer: ControlAnswer) {
        var fields: [HeaderField] = []
        if answer.body != nil { fields.append(HeaderField("Content-Type", "application/json")) }
        finish(exchange, answer.status, fields, answer.body.map { $0.bytes + [10] } ?? [])
    }

    func finish(_ exchange: Exchange, _ status: Int, _ fields: [HeaderField], _ body: [UInt8]) {
        let date = scope.run { $0.clock.httpDate() }
        var response = Response(status: status, fields: fields + [HeaderField(Array("Date"), date)], body: body)
        let head = exchange.request.head
        if !head.keepAlive { response.fields.append(Service.close) }
        let bytes = response.bytes(isHead: head.equals(head.method, "HEAD"))
        exchange.finish(WireScript(bytes, end: head.keepAlive ? .keep : .fin))
    }

    // MARK: access

    /// A page in a browser can reach loopback under a name of its own: only names of loopback count (no DNS rebinding).
    private func checkAccess(_ head: RequestHead) throws(ControlError) {
        let hosts = [head.value(.host), head.authority.map { head.slice($0) }].compactMap { $0 }
        guard hosts.allSatisfy({ Self.isLoopback($0) || isConfigured($0) }) else {
            throw ControlError(
                "The control API answers only under a name of loopback, such as localhost or 127.0.0.1.",
                code: "forbidden")
        }
        if service.isLoopback { return }
        guard let token = service.settings.controlToken, let given = head.value(.authorization),
            Array(given.prefix(7)).equalsIgnoringCase(Array("Bearer ")), Array(given.dropFirst(7)) == token
        else {
            throw ControlError("The control API wants its bearer token here.", code: "unauthorized")
        }
    }

    private func isConfigured(_ host: [UInt8]) -> Bool {
        let name = Array(host.prefix { $0 != Byte.colon })
        return service.settings.hostNames.contains { $0.equalsIgnoringCase(name) }
    }

    private static func isLoopback(_ host: [UInt8]) -> Bool {
        if host.starts(with: "[::1]") { return host.count == 5 || host[5] == Byte.colon }
        let name = Array(host.prefix { $0 != Byte.colon })
        if name.equalsIgnoringCase(Array("localhost")) { return true }
        let parts = name.split(separator: 46, omittingEmptySubsequences: false)
        let numbers = parts.compactMap { decimalDigits($0) }
        return parts.count == 4 && numbers.count == 4 && numbers[0] == 127 && numbers.allSatisfy { $0 < 256 }
    }

    // MARK: calls

    /// The JSON object in the body; nil where there is no body.
    func object(_ call: Call) throws(ControlError) -> JSONDocument? {
        guard let body = call.plainBody() else { throw ControlError("The body's Content-Encoding cannot be undone.") }
        if body.isEmpty { return nil }
        do throws(JSONError) {
            return try JSONDocument(body)
        } catch {
            throw ControlError("The body is not JSON: \(error.description).", code: "notJSON")
        }
    }

    private func reply(_ name: String, _ method: String, _ call: Call) throws(ControlError) -> ControlAnswer {
        if let query = call.query, !query.isEmpty, !Self.withQuery.contains(name), !takesQuery(name, method) {
            throw ControlError("/__pushsim/\(name) takes no query.", path: "query", code: "unknownMember")
        }
        switch (name, method) {
        case ("health", "GET"): return health
        case ("state", "GET"): return ControlAnswer(200, state)
        case ("state", "PUT"): return try putState(object(call))
        case ("reset", "POST"):
            if let body = try object(call) { try MemberReader(body.root).finish() }
            service.reset(scope)
            return ControlAnswer(204)
        case ("journal", "GET"): return try JournalReport(call.query, scope.backends).answer(scope)
        case ("profile", "GET"): return getProfile()
        case ("profile", "PUT"): return try putProfile(call)
        case ("profile", "DELETE"):
            service.setProfile(nil, of: scope)
            return ControlAnswer(204)
        case ("options", "GET"): return ControlAnswer(200, options)
        case ("options", "PATCH"): return try patchOptions(object(call))
        case ("clock", "GET"): return ControlAnswer(200, clock)
        case ("reports", "POST"): return try report(object(call))
        case ("obligations", "GET"): return ControlAnswer(200, obligations)
        case ("inbox", "DELETE"):
            // Without a name, all of them.
            let key = (call.query ?? []).isEmpty ? nil : try InboxCall.key(call.query, scope).key
            scope.run { $0.inboxes.empty(key) }
            return ControlAnswer(204)
        default: return try backendCall(name, method, call)
        }
    }

    private static let withQuery = ["journal", "inbox"]

    private static let names = [
        "health", "state", "reset", "journal", "verify", "profile", "options", "clock", "obligations", "inbox",
        "inbox/stream", "events", "reports", "records",
    ]

    private var allNames: [String] {
        var names = Self.names
        for backend in scope.backends {
            for control in backend.controls {
                let name = "\(backend.name)/\(control.pattern)"
                if !names.contains(name) { names.append(name) }
            }
        }
        return names
    }

    /// Whether a backend reads the query of this call.
    private func takesQuery(_ name: String, _ method: String) -> Bool {
        scope.backends.contains { backend in
            backend.controls.contains {
                $0.takesQuery && $0.method == method && "\(backend.name)/\($0.pattern)" == name
            }
        }
    }

    /// `installed=…&at=…` as an object of texts.
    private static func object(ofQuery query: ArraySlice<UInt8>?) throws(ControlError) -> JSONDocument? {
        guard let pairs = Percent.form(query ?? []) else {
            throw ControlError("The query has a bad escape.", path: "query")
        }
        let members = pairs.map { JSON.Member($0.name.text, .text($0.value)) }
        return try? JSONDocument(JSON.object(members).bytes)
    }

    private func backendCall(_ name: String, _ method: String, _ call: Call) throws(ControlError) -> ControlAnswer {
        let parts = name.split(separator: "/", maxSplits: 1)
        if parts.count == 2, let index = scope.backends.firstIndex(where: { $0.name == parts[0] }) {
            let rest = String(parts[1])
            let body = takesQuery(name, method) ? try Self.object(ofQuery: call.query) : try object(call)
            let answer = try scope.run { world throws(ControlError) -> ControlAnswer? in
                try world.states[index].control(rest, method, body?.root, &world)
            }
            if let answer { return answer }
            if scope.backends[index].controls.contains(where: { $0.matches(rest) }) {
                throw ControlError("/__pushsim/\(name) does not take \(method).", code: "methodNotAllowed")
            }
        }
        if Self.names.contains(name) {
            throw ControlError("/__pushsim/\(name) does not take \(method).", code: "methodNotAllowed")
        }
        throw ControlError(
            "There is no call /__pushsim/\(name).\(Suggestion.text(name, allNames)) The calls are: "
                + allNames.joined(separator: ", ") + ".", code: "notFound")
    }
}

/// The version of the product.
package enum Version {
    package static let text = "0.1.0"
}
