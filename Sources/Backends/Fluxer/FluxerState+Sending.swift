import PushSimJSONText
import PushSimSimulation
import PushSimWebPush
import PushSimWire

extension FluxerState {
    func vapidKey(_ world: inout World) -> Vapid? {
        if vapid == nil { vapid = world.draws.signingKey("fluxer vapid", []).map(Vapid.init) }
        return vapid
    }

    /// Sends a message to all whom it concerns, in the order of registering.
    /// - Parameters:
    ///   - account: nil is every account with registrations.
    ///   - isThread: goes only to registrations that know threads.
    func push(_ message: Message, to account: Account?, isThread: Bool = false, _ world: inout World) -> [Delivery] {
        let key = ByteKey(Array("\(message.kind) \(message.channelID) \(message.messageID)".utf8))
        let turn = sendings[key, default: 0]
        sendings[key] = turn + 1
        let sending = Sending(
            message: message, turn: turn, draws: world.draws, options: options, vapid: vapidKey(&world),
            now: world.clock.now.floorDivided(by: 1_000_000_000))
        var parcels: [Parcel] = []
        for account in account.map({ [$0] }) ?? accountOrder where !account.registrations.isEmpty {
            if case .clear(let count) = message.content { account.badgeCount = count }
            if case .notification = message.content { account.badgeCount += 1 }
            let payload = message.payload(account: account.id.text, badgeCount: account.badgeCount)
            let plaintext = payload.bytes
            for registration in account.registrations where Self.concerns(message, registration, isThread) {
                if case .ring = message.content { noteRing(registration, account, &world) }
                parcels.append(sending.parcel(registration, account, payload, plaintext, &world))
            }
        }
        world.dispatch(parcels)
        return parcels.map(\.delivery)
    }

    private static func concerns(_ message: Message, _ registration: Registration, _ isThread: Bool) -> Bool {
        if case .ring = message.content {
            return registration.platform == .iosVoIP
                || registration.platform == .androidFCM && registration.isWebPush
        }
        if registration.platform == .iosVoIP { return false }
        return !isThread || registration.features.contains("channel_threads")
    }

    private func noteRing(_ registration: Registration, _ account: Account, _ world: inout World) {
        guard registration.platform == .iosVoIP,
            !account.registrations.contains(where: { $0.platform == .iosAPNs && $0.appID == registration.appID })
        else { return }
        broken(.bothRegistrations, 0, "A ring goes to a device that has no ios_apns registration.", &world)
    }

    func reported(_ delivery: Delivery, _ did: Report, _ world: inout World) {
        let isBroken = delivery.fault != nil
        switch (delivery.kind, did) {
        case ("ring", .rang): noteRang(delivery, &world)
        case ("ring", .ended): met(.oneCall, &world)
        case (_, .discarded): if isBroken { met(.undecryptable, &world) }
        case (_, .shown):
            if isBroken {
                return broken(.undecryptable, 0, "\(delivery.name) cannot be opened, and was shown.", &world)
            }
            let payload = delivery.plaintext.flatMap { try? JSONDocument($0).root }
            if payload?["icon"] == nil { met(.missingMedia, &world) }
        default: break
        }
    }

    private func noteRang(_ delivery: Delivery, _ world: inout World) {
        guard let data = delivery.plaintext.flatMap({ try? JSONDocument($0).root })?["data"],
            let message = data["message_id"]?.stringBytes, let channel = data["channel_id"]?.stringBytes
        else { return }
        if !rung.insert(message).inserted {
            broken(.oneCall, 0, "\(delivery.name) rang again for message \(message.text).", &world)
        } else if !isLive(channel, world) {
            broken(.oneCall, 0, "\(delivery.name) rang when its call was over.", &world)
        } else {
            met(.oneCall, &world)
        }
    }

    // MARK: outcomes

    func judge(_ delivery: Delivery, _ status: Int, _ reason: String?) -> Verdict {
        if delivery.transport != "webpush" {
            switch reason {
            case "BadDeviceToken", "DeviceTokenNotForTopic", "Unregistered", "UNREGISTERED", "INVALID_ARGUMENT":
                return .removed
            default: break
            }
            if status == 404, delivery.transport == "apns" { return .rejected }
        }
        switch status {
        case 200...299: return .accepted
        case 404, 410: return .removed
        case 429, 500...599: return .retry
        default: return .rejected
        }
    }

    func registrationGone(_ delivery: Delivery, _ world: inout World) {
        guard let id = delivery.deviceID, let account = delivery.account.flatMap({ accounts[ByteKey($0)] }),
            account.remove(id)
        else { return }
        account.gone.insert(id)
    }
}

/// One message on its way to many: what its deliveries have in common.
struct Sending: Sendable {
    let message: Message
    /// How often this message was sent before.
    let turn: Int
    let draws: Draws
    let options: FluxerOptions
    let vapid: Vapid?
    /// Seconds since 1970.
    let now: Int64

    private static let retries: [Int64] = [200, 400, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]

    func parcel(
        _ registration: Registration, _ account: Account, _ payload: JSON, _ plaintext: [UInt8], _ world: inout World
    ) -> Parcel {
        let delivery = Delivery(
            id: world.reserveDelivery(), backend: "fluxer", kind: message.kind, transport: registration.transport,
            token: PushEndpoint.canonical(Array(registration.token.utf8), baseURL: world.baseURL))
        delivery.account = account.id
        delivery.deviceID = registration.deviceID
        let isRing = message.kind == "ring"
        delivery.timeToLive = isRing ? 0 : message.kind == "clear" && !registration.isWebPush ? 3600 : 86_400
        let plan = RetryPlan(
            waits: Self.retries.map { $0 * 1_000_000 }, limit: isRing ? 10_000_000_000 : 90_000_000_000,
            honoursRetryAfter: options.honoursRetryAfter)
        guard registration.isWebPush, let endpoint = registration.endpoint else {
            let (appID, token) = (registration.appID, registration.token)
            return Parcel(delivery, retries: plan) { delivery, shaping in
                makeRaw(delivery, changed(payload, shaping), appID, token)
                return true
            }
        }
        let keys = (
            encryption: Array((registration.encryptionKey ?? "").utf8),
            auth: Array((registration.authSecret ?? "").utf8)
        )
        let isVoIP = registration.platform == .iosVoIP
        return Parcel(delivery, to: destination(endpoint, world), retries: plan) { delivery, shaping in
            var text = plaintext
            if shaping.actions.payload != nil { text = changed(payload, shaping).bytes }
            return makeRecord(delivery, text, endpoint, keys, shaping, isVoIP: isVoIP)
        }
    }

    private func changed(_ payload: JSON, _ shaping: Shaping) -> JSON {
        var payload = payload
        shaping.actions.payload?.apply(to: &payload)
        return payload
    }

    /// Where a registration's endpoint leads (contract control-api.md, "The built-in push service").
    private func destination(_ endpoint: EndpointURL, _ world: World) -> Parcel.Destination {
        if options.strictPorts, endpoint.port != 443, endpoint.port != 80 { return .refused(.endpointRejected) }
        if endpoint.host == PushEndpoint.host { return .inbox }
        if let route = world.deliveryRoutes[ByteKey(endpoint.host)] {
            return .post(
                .init(
                    host: route.host, port: route.port, target: endpoint.target.text, hostField: endpoint.authority))
        }
        return .inbox
    }

    private func makeRaw(_ delivery: Delivery, _ payload: JSON, _ appID: String, _ token: String) {
        delivery.plaintext = payload.bytes
        let dictionary: JSON
        if delivery.transport == "apns" {
            let made = RawMessage.apns(payload, delivery.kind, appID: appID, now: now)
            delivery.headers = made.headers
            dictionary = made.body
        } else {
            dictionary = RawMessage.fcm(payload, delivery.kind, token: token)
        }
        delivery.dictionary = dictionary
        delivery.body = dictionary.bytes
    }

    private func makeRecord(
        _ delivery: Delivery, _ plaintext: [UInt8], _ endpoint: EndpointURL,
        _ keys: (encryption: [UInt8], auth: [UInt8]), _ shaping: Shaping, isVoIP: Bool
    ) -> Bool {
        guard
            let receiver = try? ReceiverKeys(
                encryptionKey: keys.encryption, authSecret: keys.auth, options.checksKeys ? .strict : .lenient)
        else { return false }
        // Natural keys: a device and a message; each sending and each fresh copy counts on.
        let key = [
            delivery.deviceID ?? [], Array(delivery.kind.utf8), Array(message.channelID.utf8),
            Array(message.messageID.utf8), Array(String(turn).utf8),
        ]
        let salt = Array(draws.octets("fluxer salt", key, index: shaping.variant).prefix(16))
        guard let sender = draws.keyPair("fluxer sender", key, index: shaping.variant),
            let body = Record.encrypt(
                plaintext, to: receiver, sender: sender, salt: salt, padding: options.padding,
                size: options.recordSize)
        else { return false }
        delivery.plaintext = plaintext
        delivery.body = body
        delivery.headers = [
            Self.timeToLive[delivery.kind == "ring" ? 1 : 0], Self.urgency[delivery.kind == "clear" ? 1 : 0],
            Self.contentType, Self.contentEncoding,
        ]
        if let field = vapid?.authorization(endpoint.origin, now: now) {
            delivery.headers.append(HeaderField(Self.authorizationName, field))
        }
        let (kind, isVoIP) = (delivery.kind, delivery.kind == "ring" && isVoIP)
        delivery.relayed = { RelayMessage.shapes($0, kind, isVoIP: isVoIP) }
        if let form = RelayMessage.form(endpoint) {
            delivery.dictionary = RelayMessage.dictionary(form, delivery.kind, record: body)
        }
        return true
    }

    private static let timeToLive = [HeaderField("TTL", "86400"), HeaderField("TTL", "0")]
    private static let urgency = [HeaderField("Urgency", "high"), HeaderField("Urgency", "low")]
    private static let contentType = HeaderField("Content-Type", "application/octet-stream")
    private static let contentEncoding = HeaderField("Content-Encoding", "aes128gcm")
    private static let authorizationName = Array("Authorization".utf8)
}
