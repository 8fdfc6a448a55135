import PushSimJSONText
import PushSimSimulation
import PushSimWebPush
import PushSimWire

extension FluxerState {
    func registerDevice(
        _ account: Account, _ session: [UInt8], _ call: Call, _ world: inout World
    ) throws(FluxerError) -> Response {
        var form = try Form(call.plainBody())
        let platform = form.choice("platform", Registration.Platform.mobile, isRequired: true)
        let token = form.text("token", 4096, isRequired: true)
        let encryptionKey = form.text("encryption_key", 1024)
        let authSecret = form.text("auth_secret", 1024)
        let appID = form.text("app_id", 128) ?? "stable"
        let environment = form.choice("provider_environment", ["production", "development"])
        let userAgent = form.text("user_agent", 1024)
        try form.finish(options)
        guard let platform = platform.flatMap(Registration.Platform.init(rawValue:)), let token else {
            throw .notFound
        }
        let keys = (encryptionKey, authSecret)
        let endpoint = checkForm(platform, token, keys, &form)
        try form.finish(options)
        let registration = Registration(
            platform: platform, appID: appID, environment: environment ?? Registration.usualEnvironment(platform),
            token: token, encryptionKey: encryptionKey, authSecret: authSecret, userAgent: userAgent,
            features: Self.features(call.head), session: session, endpoint: endpoint)
        add(registration, account, call.index, &world)
        return success(["device_id": .text(registration.deviceID)])
    }

    /// What fields ask of each other: an endpoint and both keys, or a vendor's token and neither.
    private func checkForm(
        _ platform: Registration.Platform, _ token: String, _ keys: (encryption: String?, auth: String?),
        _ form: inout Form
    ) -> EndpointURL? {
        let isWebPush =
            platform.needsKeys || keys.encryption != nil || keys.auth != nil
        guard isWebPush else {
            if EndpointURL.isURL(token) {
                form.problem("token", "A vendor's token is no URL; a Web Push registration has keys.")
            }
            return nil
        }
        let endpoint = endpoint(token, at: "token", &form)
        checkKeys(keys, ("encryption_key", "auth_secret"), &form)
        return endpoint
    }

    private func endpoint(_ text: String, at path: String, _ form: inout Form) -> EndpointURL? {
        do throws(EndpointURL.Problem) {
            return try EndpointURL(text, allowsPrivate: options.allowsPrivate)
        } catch {
            switch error {
            case .notRoutable:
                form.problem(path, "The URL is not publicly routable.", code: FluxerError.unroutable)
            case .notAURL(let why): form.problem(path, "This field must be an https URL: \(why).")
            }
            return nil
        }
    }

    private func checkKeys(
        _ keys: (encryption: String?, auth: String?), _ paths: (encryption: String, auth: String), _ form: inout Form
    ) {
        if keys.encryption == nil { form.problem(paths.encryption, "This field is required.") }
        if keys.auth == nil { form.problem(paths.auth, "This field is required.") }
        guard options.checksKeys, let encryption = keys.encryption, let auth = keys.auth else { return }
        // The key is judged with a good secret, so that both are named where both are bad.
        do throws(KeyError) {
            _ = try ReceiverKeys(
                encryptionKey: Array(encryption.utf8), authSecret: Array("AAAAAAAAAAAAAAAAAAAAAA".utf8))
        } catch {
            form.problem(paths.encryption, Self.named(paths.encryption, error))
        }
        do throws(KeyError) {
            _ = try ReceiverKeys(
                encryptionKey: Self.someKey, authSecret: Array(auth.utf8))
        } catch {
            form.problem(paths.auth, Self.named(paths.auth, error))
        }
    }

    /// An error of a key under the name that the field has here.
    private static func named(_ path: String, _ error: KeyError) -> String {
        let field = path.split(separator: ".").last.map(String.init) ?? path
        for name in ["encryption_key", "auth_secret"] where error.description.hasPrefix(name) {
            return field + error.description.dropFirst(name.count)
        }
        return error.description
    }

    /// A good key, of RFC 8291 section 5.
    private static let someKey = Array(
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4".utf8)

    private static func features(_ head: RequestHead) -> [String] {
        head.values("x-fluxer-features").flatMap { $0.split(separator: Byte.comma) }
            .map { Array($0).trimmed.map(Byte.lowercased) }
            .filter { name in
                !name.isEmpty
                    && name.allSatisfy { (97...122).contains($0) || (48...57).contains($0) || $0 == 95 }
            }
            .map(\.text)
    }

    private func add(_ registration: Registration, _ account: Account, _ call: Int, _ world: inout World) {
        if account.comesBack(registration) { met(.registerAgain, &world) }
        if account.hasNewKeys(registration) { met(.undecryptable, &world) }
        account.add(registration)
        if registration.platform == .iosAPNs { account.lostAlerts.remove(registration.appID) }
        guard registration.platform == .iosVoIP || registration.platform == .iosAPNs else { return }
        let voip = account.registrations.first { $0.platform == .iosVoIP && $0.appID == registration.appID }
        let alert = account.registrations.first { $0.platform == .iosAPNs && $0.appID == registration.appID }
        guard let voip, let alert, registration === voip || registration === alert else { return }
        if let key = voip.encryptionKey, alert.encryptionKey == key {
            broken(.bothRegistrations, call, "Both registrations have the same key pair.", &world)
        } else {
            met(.bothRegistrations, &world)
        }
    }

    func unregisterDevice(_ account: Account, _ call: Call) throws(FluxerError) -> Response {
        var form = try Form(call.plainBody())
        let platform = form.choice("platform", Registration.Platform.mobile, isRequired: true)
        let token = form.text("token", 4096, isRequired: true)
        let appID = form.text("app_id", 128) ?? "stable"
        let environment = form.choice("provider_environment", ["production", "development"])
        try form.finish(options)
        if let platform = platform.flatMap(Registration.Platform.init(rawValue:)), let token {
            let environment = environment ?? Registration.usualEnvironment(platform)
            unregister(Registration.deviceID(platform.rawValue, appID, environment, token), account)
        }
        return success()
    }

    func list(_ account: Account, isWeb: Bool) -> Response {
        let own = account.registrations.filter { ($0.platform == .web) == isWeb }
        let rows = own.map { registration -> JSON in
            let agent = registration.userAgent.map { JSON.string($0) } ?? .null
            if isWeb { return ["subscription_id": .text(registration.deviceID), "user_agent": agent] }
            return [
                "device_id": .text(registration.deviceID), "platform": .string(registration.platform.rawValue),
                "app_id": .string(registration.appID),
                "provider_environment": registration.environment.isEmpty ? .null : .string(registration.environment),
                "user_agent": agent,
            ]
        }
        return success([isWeb ? "subscriptions" : "devices": .array(rows)])
    }

    func delete(
        _ account: Account, _ parameters: [ArraySlice<UInt8>], isWeb: Bool
    ) throws(FluxerError) -> Response {
        let id = parameters.first.map(Array.init) ?? []
        if let registration = account.registration(id), (registration.platform == .web) == isWeb {
            unregister(id, account)
        }
        return success()
    }

    private func unregister(_ id: [UInt8], _ account: Account) {
        if let registration = account.registration(id) { account.kinds[ByteKey(id)] = registration.kind }
        account.remove(id)
        if account.undecryptable[ByteKey(id)] != nil { account.undecryptable[ByteKey(id)] = true }
    }

    // MARK: browsers

    func subscribe(
        _ account: Account, _ session: [UInt8], _ call: Call, _ world: inout World
    ) throws(FluxerError) -> Response {
        var form = try Form(call.plainBody())
        let registration = try browser(&form, session, call)
        add(registration, account, call.index, &world)
        return success(["subscription_id": .text(registration.deviceID)])
    }

    func rotate(
        _ account: Account, _ session: [UInt8], _ call: Call, _ world: inout World
    ) throws(FluxerError) -> Response {
        var form = try Form(call.plainBody())
        let old = form.text("old_endpoint", 2048, isRequired: true)
        let registration = try browser(&form, session, call)
        if let old {
            account.removeAll { $0.platform == .web && $0.token.utf8.elementsEqual(old.utf8) }
        }
        add(registration, account, call.index, &world)
        return success(["subscription_id": .text(registration.deviceID)])
    }

    private func browser(
        _ form: inout Form, _ session: [UInt8], _ call: Call
    ) throws(FluxerError) -> Registration {
        let endpoint = form.text("endpoint", 4096, isRequired: true)
        var keys: (encryption: String?, auth: String?) = (nil, nil)
        if var inner = form.form("keys") {
            keys.encryption = inner.text("p256dh", 1024, isRequired: true, at: "keys.p256dh")
            keys.auth = inner.text("auth", 1024, isRequired: true, at: "keys.auth")
            for element in inner.elements { form.problem(element.path, element.message, code: element.code) }
        } else {
            form.problem("keys", form.has("keys") ? "This field must be an object." : "This field is required.")
        }
        let userAgent = form.text("user_agent", 1024)
        try form.finish(options)
        var url: EndpointURL?
        if let endpoint {
            url = self.endpoint(endpoint, at: "endpoint", &form)
            checkKeys(keys, ("keys.p256dh", "keys.auth"), &form)
        }
        try form.finish(options)
        return Registration(
            platform: .web, appID: "", environment: "", token: endpoint ?? "", encryptionKey: keys.encryption,
            authSecret: keys.auth, userAgent: userAgent, features: Self.features(call.head), session: session,
            endpoint: url)
    }
}
