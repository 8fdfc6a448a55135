import PushSimSimulation

/// One of the backends that PushSim plays.
public struct PushBackend: Hashable, Sendable {
    let name: String

    /// Iris NTM.
    public static let ntm = PushBackend(name: "ntm")
    /// Fluxer.
    public static let fluxer = PushBackend(name: "fluxer")
    /// Sunbird over FCM.
    public static let sunbird = PushBackend(name: "sunbird")
}

extension PushSim {
    /// What the documentation asks of a client and the calls so far have broken, one line each with the calls that show
    /// it.
    /// - Parameter backend: nil is each of them.
    public func brokenObligations(of backend: PushBackend? = nil) -> [String] {
        let scope = service.defaultScope
        let all = scope.backends.flatMap { backend in backend.obligations.map { (backend.name, $0) } }
        return zip(all, scope.run { $0.ledger.accounts }).compactMap { row, account in
            guard account.brokenCount > 0, backend == nil || backend?.name == row.0 else { return nil }
            let calls = account.broken.map { $0.call == 0 ? $0.why : "call \($0.call): \($0.why)" }.joined(
                separator: "; ")
            return "\(row.1.id): \(row.1.text) (\(calls))"
        }
    }
}
