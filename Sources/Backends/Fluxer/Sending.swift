import PushSimJSONText
import PushSimSimulation
import PushSimWebPush
import PushSimWire

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

    func parcel(
        _ registration: Registration, _ account: Account, _ payload: JSON, _ plaintext: [UInt8], _ world: inout World
    ) -> Parcel {
        let delivery = Delivery(
            id: world.reserveDelivery(), backend: "fluxer", kind: message.kind, transport: registration.transport,
            token: PushEndpoint.canonical(Array(registration.token.utf8), baseURL: world.baseURL))
        delivery.account = account.id
        delivery.sessions = account.sessions
        delivery.deviceID = registration.deviceID
        delivery.topic = Array(message.channelID.utf8)
        delivery.platform = registration.platform.rawValue
        let isRing = message.kind == "ring"
        delivery.timeToLive = isRing ? 0 : message.kind == "clear" && !registration.isWebPush ? 3600 : 86_400
        let plan = RetryPlan(
            waits: RetryPlan.usual.waits, limit: isRing ? 10_000_000_000 : RetryPlan.usual.limit,
            honoursRetryAfter: options.honoursRetryAfter)
        guard registration.isWebPush, let endpoint = registration.endpoint else {
            let (appID, token) = (registration.appID, registration.token)
            return Parcel(delivery, retries: plan) { delivery, shaping in
                makeRaw(delivery, changed(payload, shaping), appID, token)
                return true
            }
        }
        let target = RecordTarget(
            endpoint: endpoint, keys: .init(registration.encryptionKey ?? "", registration.authSecret ?? ""),
            previous: registration.previousKeys.map { .init($0.encryption, $0.auth) },
            isVoIP: registration.platform == .iosVoIP)
        var parcel = Parcel(delivery, to: destination(endpoint, world), retries: plan) { delivery, shaping in
            let isChanged = shaping.actions.payload != nil || shaping.actions.ring != nil
            return makeRecord(delivery, isChanged ? changed(payload, shaping).bytes : plaintext, target, shaping)
        }
        parcel.isSlow = { shaping in
            guard let fault = shaping.actions.record, let receiver = receiver(target.keys) else { return false }
            return RecordForge(receiver) { _, _ in [] }.isSlow(fault)
        }
        return parcel
    }

    private func changed(_ payload: JSON, _ shaping: Shaping) -> JSON {
        var payload = payload
        if let ring = shaping.actions.ring { RingFault.apply(ring, to: &payload, message) }
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
        if options.allowsNetwork, world.carrier != nil {
            return .post(
                .init(
                    host: endpoint.host.text, port: endpoint.port, target: endpoint.target.text,
                    hostField: endpoint.authority, origin: endpoint.origin))
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

    // MARK: records

    private func receiver(_ keys: RecordTarget.Keys) -> ReceiverKeys? {
        try? ReceiverKeys(
            encryptionKey: keys.encryption, authSecret: keys.auth, options.checksKeys ? .strict : .lenient)
    }

    private func makeRecord(
        _ delivery: Delivery, _ plaintext: [UInt8], _ target: RecordTarget, _ shaping: Shaping
    ) -> Bool {
        guard let receiver = receiver(target.keys),
            let body = body(plaintext, receiver, target, key(delivery, plaintext, shaping), shaping)
        else { return false }
        delivery.plaintext = plaintext
        delivery.body = body
        delivery.headers = [
            Self.timeToLive[delivery.kind == "ring" ? 1 : 0], Self.urgency[delivery.kind == "clear" ? 1 : 0],
            Self.contentType, Self.contentEncoding,
        ]
        delivery.headers += identification(target.endpoint, shaping.actions.vapid)
        let (kind, isVoIP) = (delivery.kind, delivery.kind == "ring" && target.isVoIP)
        delivery.relayed = { RelayMessage.shapes($0, kind, isVoIP: isVoIP) }
        if let form = RelayMessage.form(target.endpoint) {
            delivery.dictionary = RelayMessage.dictionary(form, delivery.kind, record: body)
        }
        return true
    }

    /// What salt and sender key are drawn by: device, message and plaintext, so that nothing else is ever encrypted
    /// under the same; each sending and each fresh copy counts on. The fault R10 is just that mistake.
    private func key(_ delivery: Delivery, _ plaintext: [UInt8], _ shaping: Shaping) -> [[UInt8]] {
        if shaping.actions.record?.id == RecordFault.repeatedNonce.id { return [delivery.deviceID ?? []] }
        return [
            delivery.deviceID ?? [], Array(delivery.kind.utf8), Array(message.channelID.utf8),
            Array(message.messageID.utf8), Array(String(turn).utf8), Digest.sha256(plaintext),
        ]
    }

    private func body(
        _ plaintext: [UInt8], _ receiver: ReceiverKeys, _ target: RecordTarget, _ key: [[UInt8]], _ shaping: Shaping
    ) -> [UInt8]? {
        if let fault = shaping.actions.record {
            var forge = RecordForge(receiver) { purpose, number in
                draws.octets(purpose, key, index: shaping.variant << 8 | number)
            }
            forge.previous = target.previous.flatMap { self.receiver($0) }
            return forge.make(fault, plaintext)
        }
        let salt = Array(draws.octets("fluxer salt", key, index: shaping.variant).prefix(16))
        guard let sender = draws.keyPair("fluxer sender", key, index: shaping.variant) else { return nil }
        return Record.encrypt(
            plaintext, to: receiver, sender: sender, salt: salt, padding: options.padding, size: options.recordSize)
    }

    /// The sender's identification, or what the rows H11 have in its place.
    private func identification(_ endpoint: EndpointURL, _ fault: String?) -> [HeaderField] {
        guard let vapid else { return [] }
        var signer = vapid
        var (origin, lifetime) = (endpoint.origin, Vapid.lifetime)
        switch fault {
        case "H11.missing": return []
        case "H11.expired": lifetime = -3600
        case "H11.long": lifetime = 25 * 3600
        case "H11.audience": origin = "https://other.pushsim.example"
        case "H11.key": signer = draws.signingKey("fluxer other vapid", []).map(Vapid.init) ?? vapid
        default: break
        }
        guard let token = signer.token(origin, now: now, lifetime: lifetime) else { return [] }
        let key = Base64.encode(signer.publicKey)
        if fault == "H11.draft" {
            return [
                HeaderField(Self.authorizationName, Array("WebPush \(token)".utf8)),
                HeaderField("Crypto-Key", "p256ecdsa=\(key)"),
            ]
        }
        return [HeaderField(Self.authorizationName, Array("vapid t=\(token), k=\(key)".utf8))]
    }

    private static let timeToLive = [HeaderField("TTL", "86400"), HeaderField("TTL", "0")]
    private static let urgency = [HeaderField("Urgency", "high"), HeaderField("Urgency", "low")]
    private static let contentType = HeaderField("Content-Type", "application/octet-stream")
    private static let contentEncoding = HeaderField("Content-Encoding", "aes128gcm")
    private static let authorizationName = Array("Authorization".utf8)
}

/// Whom a record is for.
struct RecordTarget: Sendable {
    struct Keys: Sendable {
        let encryption: [UInt8]
        let auth: [UInt8]

        init(_ encryption: String, _ auth: String) {
            self.encryption = Array(encryption.utf8)
            self.auth = Array(auth.utf8)
        }
    }

    let endpoint: EndpointURL
    let keys: Keys
    /// The keys before those, where there were any.
    let previous: Keys?
    let isVoIP: Bool
}
