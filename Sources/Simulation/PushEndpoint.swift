import PushSimWire

/// The endpoints of the built-in push service. Each has two names: one that clients can register, since it is a public
/// https URL in form, and one under the server's own address that they can call.
package enum PushEndpoint {
    /// What stands before the id in the name that is registered.
    package static let prefix = Array<UInt8>("https://push.pushsim.example/push/")
    package static let host = Array<UInt8>("push.pushsim.example")

    /// The name to register, of either; other tokens stay.
    package static func canonical(_ token: [UInt8], baseURL: String) -> [UInt8] {
        let own = Array("\(baseURL)/push/".utf8)
        guard own.count > 6, token.starts(with: own) else { return token }
        return prefix + token[own.count...]
    }
}
