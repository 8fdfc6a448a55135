public import PushSimJSONText
import PushSimSimulation
import PushSimWebPush
import PushSimWire
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A ready-made device: holds its keys, registers over HTTP as an app would, opens what it gets.
public final class SimDevice: Sendable {
    /// What kind of device.
    public enum Platform: String, Sendable {
        /// An iPhone's notification extension, by Web Push.
        case iosAPNs = "ios_apns"
        /// An iPhone's PushKit.
        case iosAPNsVoIP = "ios_apns_voip"
        /// An Android phone, by Web Push behind FCM.
        case androidFCM = "android_fcm"
        /// An Android phone with a UnifiedPush distributor.
        case androidUnifiedPush = "android_unified_push"
    }

    /// What kind of device it is.
    public let platform: Platform
    /// What it registers: an endpoint of the built-in push service.
    public let endpoint: String
    /// The session token it calls with.
    public let session: String
    private let sim: PushSim
    private let generation = Mutex(0)

    init(_ sim: PushSim, _ platform: Platform, name: String, session: String) {
        self.sim = sim
        self.platform = platform
        self.session = session
        let draws = sim.service.defaultScope.run { $0.draws }
        let id = draws.hex("device endpoint", [Array(platform.rawValue.utf8), Array(name.utf8)], count: 32)
        endpoint = (PushEndpoint.prefix + id).text
    }

    /// The public key that it registers, as base64url.
    public var encryptionKey: String { Base64.encode(keys(generation.withLock { $0 })?.pair.publicKey ?? []) }
    /// The secret that it registers, as base64url.
    public var authSecret: String { Base64.encode(keys(generation.withLock { $0 })?.authSecret ?? []) }

    private func keys(_ generation: Int) -> DeviceKeys? {
        let draws = sim.service.defaultScope.run { $0.draws }
        let key = [Array(endpoint.utf8)]
        guard let pair = draws.keyPair("device keys", key, index: generation) else { return nil }
        let secret = Array(draws.octets("device secret", key, index: generation).prefix(16))
        return try? DeviceKeys(pair: pair, authSecret: secret)
    }

    /// Registers with the keys it has.
    /// - Returns: the device_id.
    /// - Throws: `PushSimError` with the answer where that is not 200 with a device_id, or how the call failed.
    @discardableResult
    public func register() async throws -> String {
        let answer = try await post(
            "/v1/users/@me/mobile-devices",
            [
                "platform": .string(platform.rawValue), "token": .string(endpoint),
                "encryption_key": .string(encryptionKey), "auth_secret": .string(authSecret),
            ])
        guard let id = answer["device_id"]?.string else {
            throw PushSimError("The answer to the registration holds no device_id: \(answer.description.prefix(200))")
        }
        return id
    }

    /// Makes new keys and registers with them.
    /// - Throws: `PushSimError` with the answer where that is not 200.
    @discardableResult
    public func reregister() async throws -> String {
        generation.withLock { $0 += 1 }
        return try await register()
    }

    /// Takes its registration back.
    /// - Throws: `PushSimError` with the answer where that is not 200.
    public func unregister() async throws {
        _ = try await post(
            "/v1/users/@me/mobile-devices/unregister",
            ["platform": .string(platform.rawValue), "token": .string(endpoint)])
    }

    /// What it has received.
    public var inbox: Inbox { sim.inbox(of: endpoint) }

    /// Tells what it did with a delivery, for the obligations that only a device can show.
    /// - Throws: `PushSimError` where the push is in no inbox.
    public func report(_ push: Push, _ did: DeviceReport) throws { try sim.report(push, did) }

    /// Opens a record with the keys it has now.
    /// - Throws: `PushSimError` that names the stage at which the record fails.
    public func decrypt(_ push: Push) throws -> JSON { try open(push, generation.withLock { $0 }) }

    /// Opens a record with the keys it had before.
    /// - Throws: `PushSimError` that names the stage at which the record fails.
    public func decryptWithPreviousKeys(_ push: Push) throws -> JSON {
        try open(push, max(0, generation.withLock { $0 } - 1))
    }

    private func open(_ push: Push, _ generation: Int) throws(PushSimError) -> JSON {
        guard let keys = keys(generation) else { throw PushSimError("The device has no keys.") }
        do throws(Record.Stage) {
            return JSON(try Record.decryptJSON(push.body, with: keys).root)
        } catch {
            throw PushSimError("\(push.id) cannot be opened: it fails at \(error.rawValue).")
        }
    }

    private func post(_ path: String, _ body: JSON) async throws -> JSON {
        guard let loop = EventLoop.shared, let port = sim.url.port else { throw PushSimError("No server runs.") }
        let call = HTTPClient.Call(
            host: "127.0.0.1", port: port, method: "POST", target: path,
            fields: [HeaderField("Authorization", session), HeaderField("Content-Type", "application/json")],
            body: body.bytes)
        let result = await withCheckedContinuation { continuation in
            HTTPClient.send(call, on: loop) { continuation.resume(returning: $0) }
        }
        let response: Response
        switch result {
        case .success(let answer): response = answer
        case .failure(let failure): throw PushSimError("\(path): the call failed: \(failure.description).")
        }
        guard response.status == 200 else {
            throw PushSimError("\(path) answered \(response.status): \(response.body.text)")
        }
        return (try? JSONDocument(response.body)).map { JSON($0.root) } ?? .null
    }
}

extension PushSim {
    /// A ready-made device with keys of its own.
    /// - Parameters:
    ///   - name: tells several of one platform apart; the same name is the same device. Without one each is another, in
    ///     the order of their making.
    ///   - session: the session token it calls with; nil makes a new account.
    /// - Throws: `PushSimError` where Fluxer is not served.
    public func device(_ platform: SimDevice.Platform, name: String? = nil, session: String? = nil) throws -> SimDevice
    {
        let session = try session ?? fluxer.session().token
        return SimDevice(self, platform, name: name ?? nextDeviceName(platform), session: session)
    }

    private func nextDeviceName(_ platform: SimDevice.Platform) -> String {
        deviceCounts.withLock { counts in
            let number = counts[platform.rawValue, default: 0]
            counts[platform.rawValue] = number + 1
            return number == 0 ? "" : String(number + 1)
        }
    }
}
