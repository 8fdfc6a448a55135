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
        guard registration.platform == .iosVoIP, !account.lostAlerts.contains(registration.appID),
            !account.registrations.contains(where: { $0.platform == .iosAPNs && $0.appID == registration.appID })
        else { return }
        broken(.bothRegistrations, 0, "A ring goes to a device that has no ios_apns registration.", &world)
    }

    func reported(_ delivery: Delivery, _ did: Report, _ world: inout World) {
        // Only what fails before its content counts: the keys are wrong, or the record is.
        let fault = delivery.fault.flatMap { RecordFault.find($0) }
        let stage = fault?.stage
        switch (delivery.kind, did) {
        case ("ring", .rang):
            if let fault, fault.mustNotOpen {
                return broken(.undecryptable, 0, "\(delivery.name) cannot be opened, and rang.", &world)
            }
            noteRang(delivery, &world)
        case ("ring", .ended): met(.oneCall, &world)
        case (_, .discarded):
            guard let stage, stage != .content, let id = delivery.deviceID,
                let account = delivery.account.flatMap({ accounts[ByteKey($0)] })
            else { return }
            account.noteUndecryptable(id)
        case (_, .shown):
            if let fault, fault.mustNotOpen {
                return broken(.undecryptable, 0, "\(delivery.name) cannot be opened, and was shown.", &world)
            }
            let payload = delivery.plaintext.flatMap { try? JSONDocument($0).root }
            if payload?["icon"] == nil { met(.missingMedia, &world) }
        default: break
        }
    }

    private func noteRang(_ delivery: Delivery, _ world: inout World) {
        guard let payload = delivery.plaintext.flatMap({ try? JSONDocument($0).root }), let data = payload["data"],
            let message = data["message_id"]?.stringBytes, let channel = data["channel_id"]?.stringBytes
        else { return }
        let expires = data["expires_at_ms"]?.int ?? .max
        if (payload["type"] ?? data["type"])?.string != "call_ring" {
            return broken(.oneCall, 0, "\(delivery.name) is no ring, and rang.", &world)
        }
        if let user = data["target_user_id"]?.stringBytes, user != delivery.account {
            return broken(.oneCall, 0, "\(delivery.name) is for another account, and rang.", &world)
        }
        if expires <= Int(world.clock.now / 1_000_000) {
            return broken(.oneCall, 0, "\(delivery.name) rang after it had expired.", &world)
        }
        // Each of a user's devices rings for itself.
        let device = (delivery.account ?? []) + [0] + (delivery.deviceID ?? [])
        if !rung.insert(message + [0] + device).inserted {
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
            // What the vendor says of the token; an answer that is good, or to come again, says nothing of it.
            let final =
                delivery.transport == "apns"
                ? ["BadDeviceToken", "DeviceTokenNotForTopic", "Unregistered"] : ["UNREGISTERED", "INVALID_ARGUMENT"]
            if (400...499).contains(status), status != 429, let reason, final.contains(reason) { return .removed }
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
            let registration = account.registration(id)
        else { return }
        account.remove(id)
        if registration.platform == .iosAPNs { account.lostAlerts.insert(registration.appID) }
        account.gone.insert(id)
        account.kinds[ByteKey(id)] = registration.kind
    }
}
