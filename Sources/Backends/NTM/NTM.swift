package import PushSimSimulation
package import PushSimWire

/// The fake Iris Notification Manager (contract ntm.md): its tables, and what a call is about.
package struct NTM: Backend {
    package init() {}

    package let name = "ntm"
    package let losable = ["subscriber", "subscription"]
    package let tokenFaults = ["expire"]
    package let controls = [ControlDescription("POST", "tokens"), ControlDescription("POST", "notifications")]
    package let kinds = ["notify", "cancel", "chat"]
    package let ownedPaths = [
        "/v1/subscriber…", "/v1/subscribers…", "/v1/subscription…", "/v2/subscriber…", "/v1/publish",
    ]

    enum RouteName: Int {
        case register, registerSlash, deregister, subscribe, unsubscribe, read, find, list, publish
    }

    package let table = RouteTable([
        RouteDescription("registerSubscriber", "POST", "/v1/subscriber", "register a device for one protocol"),
        RouteDescription("registerSubscriber", "POST", "/v1/subscriber/", "the same, as some clients write it"),
        RouteDescription("deregisterSubscriber", "DELETE", "/v1/subscriber/{id}", "deregister, subscriptions included"),
        RouteDescription(
            "subscribe", "POST", "/v1/subscription/subscriber/{id}/topic/{topic...}", "subscribe to a topic"),
        RouteDescription(
            "unsubscribe", "DELETE", "/v1/subscription/subscriber/{id}/topic/{topic...}", "unsubscribe from a topic"),
        RouteDescription("readSubscriber", "GET", "/v1/subscriber/{id}", "a subscriber and its subscriptions"),
        RouteDescription(
            "findSubscriber", "GET", "/v2/subscriber/proto/{proto}/token/{token}", "the subscriber of a token"),
        RouteDescription("listSubscribers", "GET", "/v1/subscribers/topic/{topic...}", "the subscribers of a topic"),
        RouteDescription("publish", "POST", "/v1/publish", "notify the subscribers of a topic"),
    ])

    package let options = [
        OptionDescription(
            "ntm.bodyStyle", .choice(["object", "stringified", "pair"]), default: "object",
            "How the answer to a registration carries the id."),
        OptionDescription(
            "ntm.contentType", .text, default: "application/json", "The Content-Type of every answer."),
        OptionDescription(
            "ntm.connection", .choice(["close", "keep-alive"]), default: "close",
            "Whether the connection ends after each answer."),
        OptionDescription(
            "ntm.reRegister", .choice(["same", "new"]), default: "same",
            "The id that a second registration of a living subscriber gets."),
        OptionDescription(
            "ntm.protocols", .list(["apns", "xmpp", "gcm", "fcm"]), default: "apns,xmpp",
            "The protocols that can be registered."),
        OptionDescription(
            "ntm.protocolSwitch", .choice(["allow", "reject"]), default: "allow",
            "Whether a user may register a second protocol while the first lives."),
        OptionDescription(
            "ntm.pstnDelete", .choice(["lenient", "strict"]), default: "lenient",
            "Whether a PSTN topic with the app domain in front names the same subscription."),
        OptionDescription(
            "ntm.repeatSubscription", .choice(["200", "409"]), default: "200",
            "The answer to subscribing to a topic twice."),
        OptionDescription(
            "ntm.unknownSubscriber", .choice(["452", "404"]), default: "452",
            "The answer to an unknown subscriber id: the service's own 452 and 454, or 404."),
        OptionDescription(
            "ntm.auth", .choice(["any", "jwt"]), default: "any",
            "Whether any plausible bearer is accepted, or only tokens minted here."),
    ]

    package let obligations = [
        Obligation(
            "ntm.oneProtocol", "Deregister the APNs subscriber before registering XMPP, and the other way round."),
        Obligation("ntm.bearer", "Send a real bearer token on every call."),
        Obligation("ntm.liveSubscriber", "Subscribe again after a new registration; never use a dead or null id."),
        Obligation("ntm.topics", "Name topics in an encoding the service accepts, app domain and routing id agreeing."),
        Obligation("ntm.logout", "Deregister on logout, before the token is gone."),
        Obligation("ntm.userAgent", "Send a User-Agent of the form apple/phone/iPhone/<OS>/<App>/<Version>."),
        Obligation("ntm.pstn", "Revoke PSTN topics under the name they were made with."),
    ]

    package func match(_ head: RequestHead, _ path: RequestHead.Span) -> RouteMatch? {
        if let match = table.match(head, path) { return match }
        return Self.owns(head.bytes[path.range]) ? .unknown : nil
    }

    private static let prefixes: [[UInt8]] = [
        Array("/v1/subscri".utf8), Array("/v2/subscriber".utf8), Array("/v1/publish".utf8),
    ]

    private static func owns(_ path: ArraySlice<UInt8>) -> Bool {
        guard path.count > 10, path[path.startIndex + 1] == 118,
            let prefix = prefixes.first(where: { path.starts(with: $0) })
        else { return false }
        let rest = path.dropFirst(prefix.count)
        switch prefix[prefix.count - 1] {
        case 105: return rest.starts(with: "ber".utf8) || rest.starts(with: "ption".utf8)
        case 104: return rest.isEmpty || rest.first == Byte.slash
        default: return true
        }
    }

    package func identify(_ route: Int, _ parameters: [ArraySlice<UInt8>], _ call: Call) -> Facts {
        let facts = Facts()
        facts.account = Bearer(call.head).map(\.account)
        switch RouteName(rawValue: route) {
        case .register, .registerSlash:
            if let fields = try? RequestFields(call) {
                facts.token = fields.text("token")
                if fields.text("proto") == Array("apns") { facts.transport = "apns" }
                if fields.text("proto") == Array("xmpp") { facts.transport = "xmpp" }
            }
        case .deregister, .read: facts.subscriber = parameters.first.map(Array.init)
        case .subscribe, .unsubscribe:
            facts.subscriber = parameters.first.map(Array.init)
            facts.topic = parameters.last.flatMap { Topic.decode($0) }
        case .find: facts.token = parameters.last.flatMap { Percent.decode($0) }
        case .list: facts.topic = parameters.last.flatMap { Topic.decode($0) }
        case .publish:
            if let fields = try? RequestFields(call) {
                facts.topic = fields.text("topic")
                facts.kind = fields.text("type")?.text
            }
        case nil: break
        }
        return facts
    }

    package func makeState(firstObligation: Int) -> any BackendState { NTMState(firstObligation) }
}
