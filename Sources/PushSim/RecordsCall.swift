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
    private let fault: RecordFault?
    private let device: KeyPair?
    private let previous: ReceiverKeys?

    init(_ value: JSONValue?) throws(ControlError) {
        var reader = try MemberReader(value)
        let key = try reader.required("encryption_key")
        let secret = try reader.required("auth_secret")
        let json = reader.value("json")
        let text = try reader.string("plaintext")
        seed = try reader.int("seed")
        size = try Self.size(reader.value("record_size"))
        padding = try Self.padding(reader.value("padding"))
        fault = try Self.fault(reader.string("fault"))
        device = try Self.device(reader.string("private_key"))
        let previousKey = try reader.string("previous_encryption_key")
        let previousSecret = try reader.string("previous_auth_secret")
        try reader.finish()
        guard (json == nil) != (text == nil) else { throw ControlError("Give one of \"json\" and \"plaintext\".") }
        plaintext = json.map { JSON($0).bytes } ?? Array((text ?? "").utf8)
        receiver = try Self.keys(key, secret, "")
        guard (previousKey == nil) == (previousSecret == nil) else {
            throw ControlError("both previous keys or neither", path: "$.previous_encryption_key")
        }
        var previous: ReceiverKeys?
        if let previousKey, let previousSecret { previous = try Self.keys(previousKey, previousSecret, "previous_") }
        self.previous = previous
    }

    private static func keys(_ key: String, _ secret: String, _ prefix: String) throws(ControlError) -> ReceiverKeys {
        do throws(KeyError) {
            return try ReceiverKeys(encryptionKey: Array(key.utf8), authSecret: Array(secret.utf8))
        } catch {
            let name = error.description.hasPrefix("auth_secret") ? "auth_secret" : "encryption_key"
            throw ControlError(error.description, path: "$.\(prefix)\(name)")
        }
    }

    private static func device(_ text: String?) throws(ControlError) -> KeyPair? {
        guard let text else { return nil }
        do throws(KeyError) {
            return try KeyPair(text: Array(text.utf8))
        } catch {
            throw ControlError(error.description, path: "$.private_key")
        }
    }

    private static func fault(_ text: String?) throws(ControlError) -> RecordFault? {
        guard let text else { return nil }
        if let fault = RecordFault.find(text) { return fault }
        let known = RecordFault.all.flatMap { [$0.id, $0.name] }
        throw ControlError(
            "there is no record fault \"\(text)\".\(Suggestion.text(text, known)) `pushsim faults` lists them.",
            path: "$.fault")
    }

    /// Whether making it needs a long search, which is not for the loop.
    var isSlow: Bool { fault.map { RecordForge(receiver) { _, _ in [] }.isSlow($0) } ?? false }

    private static func size(_ value: JSONValue?) throws(ControlError) -> Record.Size {
        guard let value else { return .octets(4096) }
        if value.string == "exact" { return .exact }
        if value.string == "tight" { return .tight }
        // RFC 8188 section 2.1: there is no smaller one.
        guard let number = value.int.flatMap(UInt32.init(exactly:)), number >= 18 else {
            throw ControlError("must be a number from 18, \"exact\" or \"tight\"", path: "$.record_size")
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
        let isRepeated = fault?.id == RecordFault.repeatedNonce.id
        let key = [isRepeated ? receiver.publicKey : Digest.sha256(body)]
        if let fault {
            var forge = RecordForge(receiver) { purpose, number in
                draws.octets(purpose, key, index: (isRepeated ? 0 : index) << 8 | number)
            }
            forge.device = device
            forge.previous = previous
            if let record = forge.make(fault, plaintext) { return record }
        }
        let salt = Array(draws.octets("record salt", key, index: index).prefix(16))
        guard let sender = draws.keyPair("record sender", key, index: index),
            let record = Record.encrypt(
                plaintext, to: receiver, sender: sender, salt: salt, padding: padding, size: size)
        else { throw ControlError("the crypto library could not make the record", code: "internal") }
        return record
    }
}
