import PushSimJSONText
import PushSimSimulation
import PushSimWebPush
import PushSimWire

/// POST `/__pushsim/records`: one record, for tests of a decryptor alone.
struct RecordsCall {
    private let receiver: ReceiverKeys
    private let plaintext: [UInt8]
    private let size: Record.Size
    private let padding: Record.Padding
    private let seed: Int?

    init(_ value: JSONValue?) throws(ControlError) {
        var reader = try MemberReader(value)
        let key = try reader.required("encryption_key")
        let secret = try reader.required("auth_secret")
        let json = reader.value("json")
        let text = try reader.string("plaintext")
        seed = try reader.int("seed")
        size = try Self.size(reader.value("record_size"))
        padding = try Self.padding(reader.value("padding"))
        try reader.finish()
        guard (json == nil) != (text == nil) else { throw ControlError("Give one of \"json\" and \"plaintext\".") }
        plaintext = json.map { JSON($0).bytes } ?? Array((text ?? "").utf8)
        do throws(KeyError) {
            receiver = try ReceiverKeys(encryptionKey: Array(key.utf8), authSecret: Array(secret.utf8))
        } catch {
            let isSecret = error.description.hasPrefix("auth_secret")
            throw ControlError(error.description, path: isSecret ? "$.auth_secret" : "$.encryption_key")
        }
    }

    private static func size(_ value: JSONValue?) throws(ControlError) -> Record.Size {
        guard let value else { return .octets(4096) }
        if value.string == "exact" { return .exact }
        if value.string == "tight" { return .tight }
        guard let number = value.int.flatMap(UInt32.init(exactly:)) else {
            throw ControlError("must be a number, \"exact\" or \"tight\"", path: "$.record_size")
        }
        return .octets(number)
    }

    private static func padding(_ value: JSONValue?) throws(ControlError) -> Record.Padding {
        guard let value, value.string != "none" else { return .none }
        guard let number = value.int, (0...65_536).contains(number) else {
            throw ControlError("must be \"none\" or a number up to 65536", path: "$.padding")
        }
        return .to(number)
    }

    /// With a seed a pure function of the request's body; without one each record is new.
    func record(_ body: [UInt8], _ scope: Scope) throws(ControlError) -> [UInt8] {
        let (draws, index): (Draws, Int) =
            if let seed {
                (Draws(seed: UInt64(bitPattern: Int64(seed)), seedName: "records"), 0)
            } else {
                scope.run { world in
                    world.recordsMade += 1
                    return (world.draws, world.recordsMade)
                }
            }
        let key = [Digest.sha256(body)]
        let salt = Array(draws.octets("record salt", key, index: index).prefix(16))
        guard let sender = draws.keyPair("record sender", key, index: index),
            let record = Record.encrypt(
                plaintext, to: receiver, sender: sender, salt: salt, padding: padding, size: size)
        else { throw ControlError("the crypto library could not make the record", code: "internal") }
        return record
    }
}
