import PushSimCassettes
import PushSimSimulation
import PushSimWebPush
import PushSimWire

/// Pushes what was recorded once more (contract cassettes.md, "Recorded pushes").
enum RecordedPushes {
    static func send(_ push: RecordedPush, _ world: inout World) {
        let delivery = Delivery(
            id: world.reserveDelivery(), backend: "recording", kind: "delivery", transport: "webpush", token: push.token
        )
        let draws = world.draws
        let number = Array(String(delivery.id).utf8)
        let parcel = Parcel(delivery, to: destination(push.token, world)) { delivery, _ in
            delivery.headers = push.headers
            delivery.plaintext = push.plaintext
            delivery.body = record(push, draws, number) ?? push.body
            return true
        }
        guard push.delay > 0 else { return world.dispatch([parcel]) }
        world.after { scope in
            _ = scope.wait(push.delay) { [weak scope] in
                scope?.run { $0.dispatch([parcel]) }
                scope?.settled()
            }
        }
    }

    /// Made anew for the keys of the replay, which the recorded record is not for.
    private static func record(_ push: RecordedPush, _ draws: Draws, _ number: [UInt8]) -> [UInt8]? {
        guard let plaintext = push.plaintext, let keys = push.keys,
            let receiver = try? ReceiverKeys(encryptionKey: keys.encryption, authSecret: keys.auth, .lenient),
            let sender = draws.keyPair("replay sender", [push.token, number], index: 0)
        else { return nil }
        let salt = Array(draws.octets("replay salt", [push.token, number], index: 0).prefix(16))
        return Record.encrypt(plaintext, to: receiver, sender: sender, salt: salt)
    }

    private static func destination(_ token: [UInt8], _ world: World) -> Parcel.Destination {
        guard let url = RecordedURL(token) else { return .inbox }
        let authority = url.origin.drop { $0 != Byte.slash }.dropFirst(2)
        let host = Array(authority.prefix { $0 != Byte.colon })
        guard let route = world.deliveryRoutes[ByteKey(host.map(Byte.lowercased))] else { return .inbox }
        return .post(
            .init(
                host: route.host, port: route.port, target: url.target.text, hostField: Array(authority).text))
    }
}
