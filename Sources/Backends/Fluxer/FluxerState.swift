import PushSimJSONText
import PushSimSimulation
import PushSimWebPush
import PushSimWire

/// What Fluxer knows in one scope. Used under the scope's lock.
final class FluxerState: BackendState {
    /// A ring's call, live until it expires or is ended.
    struct LiveCall {
        let messageID: String
        /// Nanoseconds since 1970.
        let expires: Int64
    }

    let backendName = "fluxer"
    let firstObligation: Int
    var options = FluxerOptions()
    /// By id, and in the order of their making.
    var accounts: [ByteKey: Account] = [:]
    var accountOrder: [Account] = []
    var sessions: [ByteKey: Account] = [:]
    var revoked: Set<[UInt8]> = []
    var limits = RateLimits()
    /// Until when a client was asked to stay away.
    var penalties: [RateLimits.Key: Int64] = [:]
    var calls: [ByteKey: LiveCall] = [:]
    /// How often each message has been sent, so that no record is made twice of the same salt and key.
    var sendings: [ByteKey: Int] = [:]
    var sessionsMinted = 0
    /// Calls that a device has rung for, by message and device.
    var rung: Set<[UInt8]> = []
    var vapid: Vapid?

    init(_ firstObligation: Int) { self.firstObligation = firstObligation }

    enum Duty: Int {
        case bothRegistrations, undecryptable, registerAgain, missingMedia, oneCall, rateLimits
    }

    func met(_ duty: Duty, _ world: inout World) { world.ledger.met(firstObligation + duty.rawValue) }

    func broken(_ duty: Duty, _ call: Int, _ why: String, _ world: inout World) {
        world.ledger.broken(firstObligation + duty.rawValue, call, why)
    }

    func optionsChanged(_ values: OptionValues) { options = FluxerOptions(values) }

    // MARK: answers

    func answer(_ match: RouteMatch, _ call: Call, _ world: inout World) -> Answer {
        let response: Response
        do throws(FluxerError) {
            guard case .route(let index, let parameters) = match, let route = Fluxer.RouteName(rawValue: index) else {
                throw .notFound
            }
            response = try self.route(route, parameters, call, &world)
        } catch {
            response = error.response
        }
        return finish(response, call, &world)
    }

    private func route(
        _ route: Fluxer.RouteName, _ parameters: [ArraySlice<UInt8>], _ call: Call, _ world: inout World
    ) throws(FluxerError) -> Response {
        if route == .discovery { return discover(&world) }
        let caller = resolve(call, &world)
        if let limited = limit(route, caller, call, &world) { return limited }
        let (account, session) = try authorize(caller)
        switch route {
        case .registerDevice: return try registerDevice(account, session, call, &world)
        case .unregisterDevice: return try unregisterDevice(account, call)
        case .listDevices: return list(account, isWeb: false)
        case .deleteDevice: return try delete(account, parameters, isWeb: false)
        case .subscribeWebPush: return try subscribe(account, session, call, &world)
        case .rotateWebPush: return try rotate(account, session, call, &world)
        case .listWebPush: return list(account, isWeb: true)
        case .deleteWebPush: return try delete(account, parameters, isWeb: true)
        case .stopRinging: return try stopRinging(parameters, world)
        case .logout:
            endSession(session, account)
            return Response(status: 204)
        case .discovery: throw .notFound
        }
    }

    func success(_ body: JSON = ["success": true]) -> Response { Response(status: 200, body: body.bytes) }

    private static let requestIDName = Array<UInt8>("X-Request-ID")
    private static let version = HeaderField("X-Fluxer-Version", "1.0.0")
    private static let noCache = HeaderField("Cache-Control", "no-cache")
    private static let json = HeaderField("Content-Type", "application/json")

    /// The headers that every answer of Fluxer carries.
    private func finish(_ response: Response, _ call: Call, _ world: inout World) -> Answer {
        var response = response
        let own = call.head.values("x-request-id").first ?? []
        let id = own.isEmpty ? world.draws.uuid("fluxer request", [], index: call.number) : own
        var fields = [HeaderField(Self.requestIDName, id), Self.version, Self.noCache]
        if !response.body.isEmpty { fields.append(Self.json) }
        response.fields = fields + response.fields
        return Answer(response)
    }

    func scripted(_ status: Int, retryAfter: Int64?, _ call: Call, _ world: inout World) -> Answer {
        var response = FluxerError.scripted(status).response
        if status == 429 {
            let wait = retryAfter ?? 1_000_000_000
            var bucket: Bucket?
            if case .route(let index, _) = call.match { bucket = Fluxer.RouteName(rawValue: index)?.bucket }
            response = RateLimited.response(bucket, wait: wait, now: world.clock.now)
            if let bucket {
                let end = world.clock.now + RateLimited.wholeSeconds(wait) * 1_000_000_000
                penalties[.init(bucket: bucket.name, who: resolve(call, &world).who(call))] = end
            }
        }
        if status == 503 { response.fields.append(HeaderField("Retry-After", "1")) }
        return finish(response, call, &world)
    }

    private func discover(_ world: inout World) -> Response {
        let base = world.baseURL
        let key = vapidKey(&world).map { JSON.string(Base64.encode($0.publicKey)) } ?? .null
        let body: JSON = [
            "api_code_version": 1,
            "endpoints": [
                "api": .string("\(base)/v1"), "api_client": .string("\(base)/v1"), "gateway": .null,
                "push": .string("\(base)/push"),
            ],
            "features": ["mobile_push": true, "web_push": true, "voip_push": true],
            "push": ["public_vapid_key": key],
        ]
        var response = success(body)
        response.fields.append(HeaderField("Access-Control-Allow-Origin", "*"))
        return response
    }

    // MARK: calls

    private func stopRinging(_ parameters: [ArraySlice<UInt8>], _ world: World) throws(FluxerError) -> Response {
        guard isLive(parameters.first.map(Array.init) ?? [], world) else {
            throw FluxerError(404, "NO_ACTIVE_CALL", "There is no active call in this channel.")
        }
        return Response(status: 204)
    }

    func isLive(_ channel: [UInt8], _ world: World) -> Bool {
        calls[ByteKey(channel)].map { $0.expires > world.clock.now } ?? false
    }

    // MARK: faults

    /// Members of the patch take the place of those under `push`.
    func changeDiscovery(_ response: inout Response, _ patch: JSON) {
        guard let document = try? JSONDocument(response.body) else { return }
        var body = JSON(document.root)
        for member in patch.members ?? [] { body.set([.member("push"), .member(member.name)], member.value) }
        response.body = body.bytes
    }

    /// A ring whose call is over: that it is over is true on the server too.
    func prepare(_ delivery: Delivery, _ actions: DeliveryActions, _ world: inout World) {
        guard actions.ring == .dead, let channel = delivery.topic else { return }
        calls[ByteKey(channel)] = nil
    }

    func makes(_ what: String, _ call: Call) -> Bool {
        guard case .route(let index, _) = call.match, let route = Fluxer.RouteName(rawValue: index) else {
            return false
        }
        return what == "registration" && route.bucket == .subscribe
    }

    /// Without a session, or with one that is locked, no body helps.
    func refusesUnread(_ call: Call, _ world: inout World) -> Bool {
        guard case .route(let index, _) = call.match, Fluxer.RouteName(rawValue: index) != .discovery else {
            return false
        }
        switch Credential(call.head, strict: options.strictTokens) {
        case .none, .refused, .other: return true
        case .session(let token):
            if let account = sessions[ByteKey(token)] { return !account.flags.isEmpty }
            return revoked.contains(token) || options.strictAccounts
        }
    }

    func lose(_ what: String, _ tokens: [[UInt8]], _ call: Call, _ world: inout World) {
        guard case .known(let account, let session) = resolve(call, &world) else { return }
        if what == "session" { return revoke(session) }
        let facts = call.facts
        account.removeAll { registration in
            if let id = facts.subscriber { return registration.deviceID == id }
            if let token = facts.token { return registration.token.utf8.elementsEqual(token) }
            return true
        }
    }

    func spoilToken(_ fault: String, _ tokens: [[UInt8]], _ call: Call, _ world: inout World) {}
}
