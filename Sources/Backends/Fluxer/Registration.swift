import PushSimWebPush
import PushSimWire

/// One registered device or browser. Part of the state, so used only under its scope's lock.
final class Registration {
    enum Platform: String, CaseIterable {
        case androidFCM = "android_fcm"
        case iosAPNs = "ios_apns"
        case iosVoIP = "ios_apns_voip"
        case unifiedPush = "android_unified_push"
        /// A browser, by `push/subscribe`.
        case web

        /// Whether it is Web Push in any case.
        var needsKeys: Bool { self == .iosVoIP || self == .unifiedPush || self == .web }

        /// What a client may name.
        static let mobile = allCases.filter { $0 != .web }.map(\.rawValue)
    }

    let platform: Platform
    let appID: String
    let environment: String
    let token: String
    let encryptionKey: String?
    let authSecret: String?
    let userAgent: String?
    let features: [String]
    /// The session that made it.
    let session: [UInt8]
    let deviceID: [UInt8]
    /// The endpoint, where it is one.
    let endpoint: EndpointURL?
    /// The keys of the registration whose place this one took.
    var previousKeys: (encryption: String, auth: String)?

    init(
        platform: Platform, appID: String, environment: String, token: String, encryptionKey: String?,
        authSecret: String?, userAgent: String?, features: [String], session: [UInt8], endpoint: EndpointURL?
    ) {
        self.platform = platform
        self.appID = appID
        self.environment = environment
        self.token = token
        self.encryptionKey = encryptionKey
        self.authSecret = authSecret
        self.userAgent = userAgent
        self.features = features
        self.session = session
        self.endpoint = endpoint
        deviceID =
            platform == .web ? Self.digest(token) : Self.deviceID(platform.rawValue, appID, environment, token)
    }

    var keys: (encryption: String, auth: String)? {
        guard let encryptionKey, let authSecret else { return nil }
        return (encryptionKey, authSecret)
    }

    var isWebPush: Bool { encryptionKey != nil }

    /// What stays where a device registers again with another token.
    var kind: String { "\(platform.rawValue) \(appID)" }

    var transport: String { isWebPush ? "webpush" : platform == .iosAPNs ? "apns" : "fcm" }

    /// First 32 digits of SHA-256 over the four parts, each behind its length in UTF-16 units.
    static func deviceID(_ platform: String, _ appID: String, _ environment: String, _ token: String) -> [UInt8] {
        digest([platform, appID, environment, token].map { "\($0.utf16.count):\($0)" }.joined(separator: "|"))
    }

    private static func digest(_ text: String) -> [UInt8] {
        Array(Hex.bytes(Digest.sha256(Array(text.utf8))).prefix(32))
    }

    /// `provider_environment` where a client leaves it out.
    static func usualEnvironment(_ platform: Platform) -> String {
        platform == .iosAPNs || platform == .iosVoIP ? "production" : ""
    }
}
