import PushSimJSONText
package import PushSimSimulation
package import PushSimWire

/// The fake of Sunbird's notifications over FCM topics (contract sunbird.md): the sender's side, and FCM's topic service.
package struct Sunbird: Backend {
    package init() {}

    package let name = "sunbird"
    package let losable = ["registration", "subscription"]
    package let tokenFaults = ["rotate"]
    package let kinds = ["broadcast"]
    package let ownedPaths = ["/v1/notification…", "/v1/projects/…", "/fcm/…", "/iid/…"]
    package let controls = [
        ControlDescription("POST", "broadcasts"), ControlDescription("GET", "broadcasts"),
        ControlDescription("DELETE", "broadcasts/{id}"), ControlDescription("GET", "local", takesQuery: true),
        ControlDescription("POST", "rotations"), ControlDescription("POST", "tenants"),
    ]

    enum RouteName: Int {
        case send, sendSync, sendMessage, sendLegacy, batchAdd, batchRemove, relate, info, register, changeTopic
    }

    package let table = RouteTable([
        RouteDescription("sendNotification", "POST", "/v1/notification/send", "the platform's sending"),
        RouteDescription("sendNotificationSync", "POST", "/v1/notification/send/sync", "the same, waiting"),
        RouteDescription("sendMessage", "POST", "/v1/projects/{project}/messages:send", "FCM v1 to a token or topic"),
        RouteDescription("sendLegacy", "POST", "/fcm/send", "FCM's legacy sending, which Google ended in 2024"),
        RouteDescription("batchAdd", "POST", "/iid/v1:batchAdd", "subscribe up to 1,000 tokens to a topic"),
        RouteDescription("batchRemove", "POST", "/iid/v1:batchRemove", "unsubscribe them"),
        RouteDescription("relateTopic", "POST", "/iid/v1/{token}/rel/topics/{topic}", "subscribe one token"),
        RouteDescription("tokenInfo", "GET", "/iid/info/{token}", "the topics of a token"),
        RouteDescription("registerToken", "POST", "/iid/register", "a device's own registering and subscribing"),
        RouteDescription(
            "changeTopic", "POST", "/v1/projects/{project}/registrations/{fid}/topicSubscriptions/{topic}",
            "{topic}:subscribe and {topic}:unsubscribe"),
    ])

    package let options = [
        OptionDescription(
            "sunbird.payload", .choice(["design", "control", "draft", "shipped"]), default: "design",
            "The form of notifications: the design page's three, or what the shipped apps parse."),
        OptionDescription(
            "sunbird.types", .numbers(4), default: "1,2,3,4",
            "The numbers of DOWNTIME, GREETINGS, NON-DISPLAY and OTHERS in the form design."),
        OptionDescription(
            "sunbird.encoding", .choice(["json", "values"]), default: "json",
            "Whether a notification travels as one JSON text or value by value."),
        OptionDescription(
            "sunbird.validation", .choice(["on", "off"]), default: "on",
            "Whether notifications that are not of their form are refused."),
        OptionDescription(
            "sunbird.defaultTopic", .text, default: "General",
            "The topic that every known token is on without a call; empty for none (shipped: all)."),
        OptionDescription(
            "sunbird.topicNames", .choice(["strict", "lenient"]), default: "strict",
            "Whether topic names must be as FCM has them."),
        OptionDescription(
            "sunbird.legacyFCM", .choice(["on", "deprecated"]), default: "on",
            "Whether the legacy sending works, or answers as since its end."),
    ]

    package let obligations = [
        Obligation("sunbird.topics", "Be on the tenant's topic; name topics as FCM has them."),
        Obligation("sunbird.once", "Show a notification of one id once."),
        Obligation("sunbird.inTime", "Show nothing before its epoch, and nothing from its expiry on."),
        Obligation("sunbird.tenants", "Leave the topics of a tenant that the user has left."),
        Obligation("sunbird.rotated", "Use the new token once FCM has rotated it, and the old one no more."),
    ]

    package func match(_ head: RequestHead, _ path: RequestHead.Span) -> RouteMatch? {
        if let match = table.match(head, path) { return match }
        let path = head.bytes[path.range]
        return Self.prefixes.contains { path.starts(with: $0) } ? .unknown : nil
    }

    private static let prefixes: [[UInt8]] = [
        Array("/v1/notification".utf8), Array("/v1/projects/".utf8), Array("/fcm/".utf8), Array("/iid/".utf8),
    ]

    package func identify(_ route: Int, _ parameters: [ArraySlice<UInt8>], _ call: Call) -> Facts {
        let facts = Facts()
        facts.transport = "fcm"
        switch RouteName(rawValue: route) {
        case .send, .sendSync, .sendMessage, .sendLegacy:
            facts.kind = "broadcast"
            let target = SendTarget(call, isLegacy: RouteName(rawValue: route) == .sendLegacy)
            (facts.tokens, facts.topic, facts.conditionTopics) = (target.tokens, target.topic, target.conditionTopics)
        case .batchAdd, .batchRemove:
            if let root = call.plainBody().flatMap({ try? JSONDocument($0) })?.root {
                facts.topic = root["to"]?.stringBytes.map(TopicName.bare)
                facts.tokens = root["registration_tokens"]?.elements.compactMap(\.stringBytes) ?? []
            }
        case .relate:
            facts.token = parameters.first.map(TopicName.decoded)
            facts.topic = parameters.last.map(TopicName.decoded)
        case .info: facts.token = parameters.first.map(TopicName.decoded)
        case .register:
            let form = DeviceForm(call)
            (facts.token, facts.topic) = (form?.token, form?.topic)
        case .changeTopic:
            facts.token = parameters.dropFirst().first.map(TopicName.decoded)
            facts.topic = parameters.last.flatMap { TopicName.withVerb($0)?.topic }
        case nil: break
        }
        return facts
    }

    package func makeState(firstObligation: Int) -> any BackendState { SunbirdState(firstObligation) }
}

/// To whom a sending goes, as far as its body says.
struct SendTarget {
    var tokens: [[UInt8]] = []
    var topic: [UInt8]?
    var conditionTopics: [[UInt8]] = []

    init(_ call: Call, isLegacy: Bool) {
        guard let root = call.plainBody().flatMap({ try? JSONDocument($0) })?.root else { return }
        if isLegacy {
            condition(root)
            let to = root["to"].map { [$0] } ?? root["registration_ids"]?.elements ?? []
            tokens = to.compactMap(\.stringBytes)
            guard let name = tokens.first, name.starts(with: TopicName.prefix) else { return }
            (tokens, topic) = ([], TopicName.bare(name))
        } else if let message = root["message"] {
            condition(message)
            tokens = [message["token"]?.stringBytes].compactMap { $0 }
            topic = message["topic"]?.stringBytes.map(TopicName.bare)
        } else {
            let all = root["request"]?["notifications"]?.elements ?? []
            topic = all.first?["config"]?["topic"]?.stringBytes.map(TopicName.bare)
            tokens = all.flatMap { $0["ids"]?.elements ?? [] }.compactMap(\.stringBytes)
        }
    }

    private mutating func condition(_ message: JSONValue) {
        let text = message["condition"]?.stringBytes
        conditionTopics = text.flatMap { try? TopicCondition($0, isStrict: false) }?.topics ?? []
    }
}
