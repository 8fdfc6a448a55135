import PushSimJSONText
import PushSimSimulation
import PushSimWebPush
import PushSimWire

/// One registered device. Part of the state, so used only under its scope's lock.
final class Subscriber {
    struct Subscription: Hashable {
        let topic: Topic
        let apnTopic: [UInt8]?
    }

    struct Key: Hashable {
        let proto: [UInt8]
        let token: [UInt8]
        let domain: [UInt8]

        static func == (left: Key, right: Key) -> Bool {
            // One after the other: what `&&` is handed as a closure is copied first where nothing is optimised.
            if !left.token.isSame(as: right.token) { return false }
            if !left.proto.isSame(as: right.proto) { return false }
            return left.domain.isSame(as: right.domain)
        }

        func hash(into hasher: inout Hasher) { token.withUnsafeBytes { hasher.combine(bytes: $0) } }
    }

    let id: [UInt8]
    let key: Key
    let account: [UInt8]
    let lang: [UInt8]
    let badge: [UInt8]
    /// In the order of subscribing.
    var subscriptions: [Subscription] = []
    /// In the order of registering.
    let sequence: Int

    init(id: [UInt8], key: Key, account: [UInt8], lang: [UInt8], badge: [UInt8], sequence: Int) {
        self.id = id
        self.key = key
        self.account = account
        self.lang = lang
        self.badge = badge
        self.sequence = sequence
    }
}

/// What a topic was last notified of: a cancel repeats it.
struct Room: Sendable {
    let roomID: [UInt8]
    let traceID: [UInt8]
}

struct NTMOptions {
    enum BodyStyle: String {
        case object, stringified, pair
    }

    var bodyStyle = BodyStyle.object
    var contentType = HeaderField("Content-Type", "application/json")
    var keepsAlive = false
    var reRegistersSame = true
    var protocols: [[UInt8]] = []
    var rejectsSwitch = false
    var strictPSTN = false
    var repeatStatus = 200
    var unknownIs404 = false
    var wantsJWT = false

    init() {}

    init(_ values: OptionValues) {
        bodyStyle = BodyStyle(rawValue: values["ntm.bodyStyle"]) ?? .object
        contentType = HeaderField("Content-Type", values["ntm.contentType"])
        keepsAlive = values["ntm.connection"] == "keep-alive"
        reRegistersSame = values["ntm.reRegister"] == "same"
        protocols = values["ntm.protocols"].utf8.split(separator: 44).map(Array.init)
        rejectsSwitch = values["ntm.protocolSwitch"] == "reject"
        strictPSTN = values["ntm.pstnDelete"] == "strict"
        repeatStatus = Int(values["ntm.repeatSubscription"]) ?? 200
        unknownIs404 = values["ntm.unknownSubscriber"] == "404"
        wantsJWT = values["ntm.auth"] == "jwt"
    }
}

/// What NTM knows in one scope. Used under the scope's lock.
final class NTMState: BackendState {
    var options = NTMOptions()
    var subscribers: [ByteKey: Subscriber] = [:]
    var living: [Subscriber.Key: Subscriber] = [:]
    var accounts: [ByteKey: [Subscriber]] = [:]
    var topics: [[UInt8]: [[UInt8]]] = [:]
    /// How often each device has been given an id.
    var generations: [Subscriber.Key: Int] = [:]
    var rooms: [[UInt8]: Room] = [:]
    var notifications = 0
    var tokensMinted = 0
    var expiredBearers: Set<[UInt8]> = []
    var nextSequence = 1
    var issuer: SigningKey?
    let firstObligation: Int

    init(_ firstObligation: Int) { self.firstObligation = firstObligation }

    func optionsChanged(_ values: OptionValues) { options = NTMOptions(values) }

    enum Duty: Int {
        case oneProtocol, bearer, liveSubscriber, topics, logout, userAgent, pstn
    }

    func met(_ duty: Duty, _ world: inout World) { world.ledger.met(firstObligation + duty.rawValue) }

    func broken(_ duty: Duty, _ call: Call, _ why: String, _ world: inout World) {
        world.ledger.broken(firstObligation + duty.rawValue, call.index, why)
    }

    func answer(_ match: RouteMatch, _ call: Call, _ world: inout World) -> Answer {
        let response: Response
        switch match {
        case .unknown: response = failure(404, "HTTP-404", "NTM has no such route.")
        case .wrongMethod(let methods): response = otherMethod(methods, call)
        case .route(let index, let parameters):
            do throws(NTMError) {
                response = try route(index, parameters, call, &world)
            } catch {
                response = failure(error.status, error.code, error.message)
            }
        }
        return finish(response, call, &world)
    }

    let backendName = "ntm"

    func scripted(_ status: Int, retryAfter: Int64?, _ call: Call, _ world: inout World) -> Answer {
        let code = status >= 500 ? "NTM-0006" : "HTTP-\(status)"
        return finish(failure(status, code, StatusText.reason(status)), call, &world)
    }

    func makes(_ what: String, _ call: Call) -> Bool {
        guard case .route(let index, _) = call.match, let route = NTM.RouteName(rawValue: index) else { return false }
        switch route {
        case .register, .registerSlash: return what == "subscriber"
        case .subscribe: return what == "subscription"
        default: return false
        }
    }

    /// Only a bearer's absence or form is told by the head for sure; the ledger is told when the call is answered.
    func refusesUnread(_ call: Call, _ world: inout World) -> Bool {
        guard case .route = call.match else { return false }
        guard let bearer = Bearer(call.head) else { return true }
        return expiredBearers.contains(bearer.text)
    }

    private func otherMethod(_ methods: [String], _ call: Call) -> Response {
        if call.head.equals(call.head.method, "OPTIONS") {
            let allowed = (methods + ["OPTIONS"]).joined(separator: ", ")
            return Response(
                status: 204,
                fields: [
                    HeaderField("Access-Control-Allow-Methods", allowed),
                    HeaderField("Access-Control-Allow-Headers", "Authorization, Content-Type, Trace-Id"),
                ])
        }
        var response = failure(405, "HTTP-405", "This route takes \(methods.joined(separator: ", ")).")
        response.fields.append(HeaderField("Allow", (methods + ["OPTIONS"]).joined(separator: ", ")))
        return response
    }

    private func route(
        _ index: Int, _ parameters: [ArraySlice<UInt8>], _ call: Call, _ world: inout World
    ) throws(NTMError) -> Response {
        noteUserAgent(call, &world)
        guard let name = NTM.RouteName(rawValue: index) else { throw .internalProblem }
        let bearer = try authorize(name, call, &world)
        switch name {
        case .register, .registerSlash: return try register(bearer, call, &world)
        case .deregister: return try deregister(parameters, bearer, call, &world)
        case .subscribe: return try subscribe(parameters, bearer, call, &world)
        case .unsubscribe: return try unsubscribe(parameters, bearer, call, &world)
        case .read: return try read(parameters, call, &world)
        case .find: return try find(parameters)
        case .list: return try list(parameters)
        case .publish: return try publish(call, &world)
        }
    }

    private func noteUserAgent(_ call: Call, _ world: inout World) {
        guard let agent = call.head[.userAgent] else {
            return broken(.userAgent, call, "There is no User-Agent.", &world)
        }
        if Self.isDocumented(call.head, agent) {
            met(.userAgent, &world)
        } else {
            broken(.userAgent, call, "The User-Agent is \"\(call.head.text(agent))\".", &world)
        }
    }

    /// `apple/phone/iPhone/<OS version>/<App name>/<App version>`.
    private static func isDocumented(_ head: RequestHead, _ agent: RequestHead.Span) -> Bool {
        let prefix: StaticString = "apple/phone/iPhone/"
        let start = Int(agent.start)
        let nameEnd = start + prefix.utf8CodeUnitCount
        guard agent.count > prefix.utf8CodeUnitCount, head.equals(.init(start, nameEnd), prefix) else { return false }
        return head.bytes.withUnsafeBufferPointer { bytes in
            var slashes = 0
            var index = nameEnd
            while index < Int(agent.end) {
                if bytes[index] == Byte.slash { slashes += 1 }
                index += 1
            }
            return slashes == 2 && bytes[Int(agent.end) - 1] != Byte.slash
        }
    }

    // MARK: answers

    private static let origin = HeaderField("Access-Control-Allow-Origin", "*")
    private static let vary = HeaderField("Vary", "Origin")
    private static let traceName = Array<UInt8>("Trace-Id")

    /// The headers that every answer of NTM carries.
    private func finish(_ response: consuming Response, _ call: Call, _ world: inout World) -> Answer {
        response.fields.reserveCapacity(response.fields.count + 6)
        let trace: [UInt8]
        if let own = call.head[.traceID], own.count > 0 {
            trace = call.head.slice(own)
        } else {
            trace = world.draws.uuid("ntm trace", [], index: call.number)
        }
        response.fields.append(Self.origin)
        response.fields.append(options.contentType)
        response.fields.append(HeaderField(Self.traceName, trace))
        response.fields.append(Self.vary)
        return Answer(response, closes: !options.keepsAlive)
    }

    private func failure(_ status: Int, _ code: String, _ message: String) -> Response {
        let body: JSON = ["error": ["code": .string(code), "message": .string(message)]]
        return Response(status: status, body: body.bytes)
    }

    func success(_ body: JSON = .object([])) -> Response { Response(status: 200, body: body.bytes) }
}

/// An error of the service's own table.
struct NTMError: Error {
    let status: Int
    let code: String
    let message: String

    static func unauthorized(_ message: String) -> NTMError { .init(status: 401, code: "NTM-0000", message: message) }
    static func wrongType(_ message: String) -> NTMError { .init(status: 401, code: "NTM-0001", message: message) }
    static func scopeMissing(_ message: String) -> NTMError { .init(status: 401, code: "NTM-0002", message: message) }
    static func unreadable(_ message: String) -> NTMError { .init(status: 400, code: "NTM-0003", message: message) }
    static func invalid(_ message: String) -> NTMError { .init(status: 400, code: "NTM-0004", message: message) }
    static func storage(_ status: Int, _ message: String) -> NTMError {
        .init(status: status, code: "NTM-0005", message: message)
    }
    static var internalProblem: NTMError { .init(status: 500, code: "NTM-0006", message: "Internal token problem.") }
}
