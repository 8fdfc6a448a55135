import PushSimJSONText
package import PushSimSimulation
package import PushSimWire

/// The fake Fluxer push backend (contract fluxer.md): its tables, and what a call is about.
package struct Fluxer: Backend {
    package init() {}

    package let name = "fluxer"
    package let losable = ["registration", "session"]
    package let tokenFaults: [String] = []
    package let kinds = ["notification", "clear", "ring"]
    package let ownedPaths = ["/v1/… that no other backend owns, and the same without /v1", "/.well-known/fluxer"]
    package let controls = [
        ControlDescription("POST", "sessions"), ControlDescription("POST", "notifications"),
        ControlDescription("POST", "clears"), ControlDescription("POST", "rings"),
        ControlDescription("DELETE", "calls/{channel_id}"),
    ]

    enum RouteName: Int {
        case registerDevice, unregisterDevice, listDevices, deleteDevice
        case subscribeWebPush, rotateWebPush, listWebPush, deleteWebPush
        case discovery, stopRinging, logout

        /// The bucket that a call of this route is counted in.
        var bucket: Bucket? {
            switch self {
            case .registerDevice, .subscribeWebPush, .rotateWebPush: .subscribe
            case .unregisterDevice, .deleteDevice, .deleteWebPush: .unsubscribe
            case .listDevices, .listWebPush: .list
            case .discovery, .stopRinging, .logout: nil
            }
        }
    }

    package let table = RouteTable([
        RouteDescription("registerDevice", "POST", "/v1/users/@me/mobile-devices", "register a device"),
        RouteDescription(
            "unregisterDevice", "POST", "/v1/users/@me/mobile-devices/unregister", "unregister a device by its token"),
        RouteDescription("listDevices", "GET", "/v1/users/@me/mobile-devices", "the account's devices"),
        RouteDescription(
            "deleteDevice", "DELETE", "/v1/users/@me/mobile-devices/{device_id}", "unregister a device by its id"),
        RouteDescription("subscribeWebPush", "POST", "/v1/users/@me/push/subscribe", "register a browser"),
        RouteDescription(
            "rotateWebPush", "POST", "/v1/users/@me/push/rotate", "put a new subscription in an old one's place"),
        RouteDescription("listWebPush", "GET", "/v1/users/@me/push/subscriptions", "the account's browsers"),
        RouteDescription(
            "deleteWebPush", "DELETE", "/v1/users/@me/push/subscriptions/{id}", "unregister a browser"),
        RouteDescription("discovery", "GET", "/.well-known/fluxer", "endpoints, features and the VAPID key"),
        RouteDescription(
            "stopRinging", "POST", "/v1/channels/{id}/call/stop-ringing", "stop the ringing of a live call"),
        RouteDescription("logout", "POST", "/v1/auth/logout", "end the session; its registrations go"),
    ])

    package let options = FluxerOptions.table

    package let obligations = [
        Obligation(
            "fluxer.bothRegistrations",
            "A call-answering iOS device registers both ios_apns and ios_apns_voip, each with its own key pair."),
        Obligation(
            "fluxer.undecryptable",
            "A client that cannot decrypt discards the record, shows nothing, unregisters and registers again."),
        Obligation("fluxer.registerAgain", "After 404 or 410 removed a registration, register again."),
        Obligation("fluxer.missingMedia", "Media and icons may be missing; do not depend on them."),
        Obligation(
            "fluxer.oneCall", "One call per message_id; ring until it expires; end at once when there is no live call."
        ),
        Obligation("fluxer.rateLimits", "On 429 send no further request in that bucket before Retry-After."),
    ]

    package func match(_ head: RequestHead, _ path: RequestHead.Span) -> RouteMatch? {
        if let match = table.match(head, path) { return Self.withoutMethods(match) }
        let raw = Array(head.bytes[path.range])
        let isVersioned = raw.starts(with: "/v1/")
        let canonical = Self.canonical(raw, isVersioned)
        if let match = table.match(method: head.slice(head.method), path: canonical) {
            return Self.withoutMethods(match)
        }
        // What is Sunbird's stays so where that is not served.
        if isVersioned { return Self.foreign.contains { raw.starts(with: $0) } ? nil : .unknown }
        return Self.unversioned.contains { raw.starts(with: $0) } ? .unknown : nil
    }

    private static let foreign: [[UInt8]] = ["/v1/projects/", "/v1/notification"].map { Array($0.utf8) }

    /// What is Fluxer's without `/v1` too.
    private static let unversioned: [[UInt8]] = ["/users/", "/channels/", "/auth/"].map { Array($0.utf8) }

    /// A wrong method is as unknown as a wrong path here.
    private static func withoutMethods(_ match: RouteMatch) -> RouteMatch {
        if case .wrongMethod = match { .unknown } else { match }
    }

    /// With `/v1` in front, and `%40me` written `@me`.
    private static func canonical(_ raw: [UInt8], _ isVersioned: Bool) -> [UInt8] {
        let path = isVersioned || raw.starts(with: "/.well-known/") ? raw : Array("/v1".utf8) + raw
        let encoded = Array<UInt8>("/v1/users/%40me/")
        guard path.count >= encoded.count, path[..<encoded.count].elementsEqual(encoded) else { return path }
        return Array("/v1/users/@me/".utf8) + path[encoded.count...]
    }

    package func identify(_ route: Int, _ parameters: [ArraySlice<UInt8>], _ call: Call) -> Facts {
        let facts = Facts()
        if case .session(let token) = Credential(call.head, strict: false) { facts.account = token }
        switch RouteName(rawValue: route) {
        case .deleteDevice, .deleteWebPush: facts.subscriber = parameters.first.map(Array.init)
        case .stopRinging: facts.topic = parameters.first.map(Array.init)
        case .registerDevice, .unregisterDevice, .subscribeWebPush, .rotateWebPush:
            guard let body = call.plainBody(), let root = try? JSONDocument(body).root else { break }
            facts.token = (root["token"] ?? root["endpoint"])?.stringBytes
            switch root["platform"]?.string {
            case "ios_apns": facts.transport = root["encryption_key"] == nil ? "apns" : "webpush"
            case "android_fcm": facts.transport = root["encryption_key"] == nil ? "fcm" : "webpush"
            default: facts.transport = "webpush"
            }
        default: break
        }
        return facts
    }

    package func makeState(firstObligation: Int) -> any BackendState { FluxerState(firstObligation) }
}
