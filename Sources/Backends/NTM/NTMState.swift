import PushSimJSONText
import PushSimSimulation
import PushSimWebPush
import PushSimWire

/// One registered device.
struct Subscriber {
    struct Subscription: Hashable {
        let topic: Topic
        let apnTopic: [UInt8]?
    }

    struct Key: Hashable {
        let proto: [UInt8]
        let token: [UInt8]
        let domain: [UInt8]
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
}

/// What a topic was last notified of: a cancel repeats it.
struct Room {
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
    var subscribers: [[UInt8]: Subscriber] = [:]
    var living: [Subscriber.Key: [UInt8]] = [:]
    var accounts: [[UInt8]: Set<[UInt8]>] = [:]
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

    func answer(_ match: RouteMatch, _ call: Call, _ facts: Facts, _ world: inout World) -> Answer {
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

    func scripted(_ status: Int, _ call: Call, _ world: inout World) -> Answer {
        let code = status >= 500 ? "NTM-0006" : "HTTP-\(status)"
        return finish(failure(status, code, StatusText.reason(status)), call, &world)
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
        let bytes = call.head.bytes[agent.range]
        let slashes = bytes.reduce(0) { $1 == Byte.slash ? $0 + 1 : $0 }
        if slashes == 5, bytes.starts(with: Self.agentPrefix), bytes.last != Byte.slash {
            met(.userAgent, &world)
        } else {
            broken(.userAgent, call, "The User-Agent is \"\(String(decoding: bytes, as: UTF8.self))\".", &world)
        }
    }

    private static let agentPrefix = Array<UInt8>("apple/phone/iPhone/")

    // MARK: answers

    private static let origin = HeaderField("Access-Control-Allow-Origin", "*")
    private static let vary = HeaderField("Vary", "Origin")
    private static let traceName = Array<UInt8>("Trace-Id")

    /// The headers that every answer of NTM carries.
    private func finish(_ response: Response, _ call: Call, _ world: inout World) -> Answer {
        var response = response
        let own = call.head[.traceID].map { call.head.slice($0) } ?? []
        let trace = own.isEmpty ? world.draws.uuid("ntm trace", [], index: call.index) : own
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
