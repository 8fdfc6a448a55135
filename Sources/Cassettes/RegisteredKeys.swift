import PushSimJSONText
import PushSimWire

/// The keys that endpoints were registered with, as requests told them.
struct RegisteredKeys {
    private var all: [ByteKey: (encryption: [UInt8], auth: [UInt8])] = [:]

    subscript(_ endpoint: [UInt8]) -> (encryption: [UInt8], auth: [UInt8])? { all[ByteKey(endpoint)] }

    /// The registered endpoint of that path and query.
    func endpoint(_ target: [UInt8]) -> [UInt8]? {
        all.keys.map(\.bytes).filter { RecordedURL($0)?.target == target }
            .min { $0.lexicographicallyPrecedes($1) }
    }

    /// Looks for a registration: Fluxer's `token`, `encryption_key` and `auth_secret`, or the `endpoint` and `keys` of a
    /// browser's subscription.
    mutating func note(_ body: [UInt8]) {
        guard let root = try? JSONDocument(body).root, root.kind == .object,
            let endpoint = (root["token"] ?? root["endpoint"])?.stringBytes
        else { return }
        let keys = root["keys"] ?? root
        guard let encryption = (keys["encryption_key"] ?? keys["p256dh"])?.stringBytes,
            let auth = (keys["auth_secret"] ?? keys["auth"])?.stringBytes
        else { return }
        all[ByteKey(endpoint)] = (encryption, auth)
    }
}
