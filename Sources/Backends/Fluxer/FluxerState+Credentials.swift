import PushSimJSONText
import PushSimSimulation
import PushSimWebPush
import PushSimWire

extension FluxerState {
    /// Who calls, as far as the accounts know.
    enum Caller {
        case known(Account, session: [UInt8])
        case other
        case nobody

        /// What allowances are counted by: the account, without one the client's address.
        func who(_ call: Call) -> [UInt8] {
            if case .known(let account, _) = self { account.id } else { Array("address \(call.peerAddress)".utf8) }
        }
    }

    /// A token not seen before makes an account, unless accounts are strict.
    func resolve(_ call: Call, _ world: inout World) -> Caller {
        switch Credential(call.head, strict: options.strictTokens) {
        case .none, .refused: return .nobody
        case .other: return .other
        case .session(let token):
            if let account = sessions[ByteKey(token)] { return .known(account, session: token) }
            if revoked.contains(token) || options.strictAccounts { return .nobody }
            let account = account(id: Self.accountID("fluxer account", [token], world))
            add(token, account)
            return .known(account, session: token)
        }
    }

    /// A decimal of 18 digits, as ids are here.
    static func accountID(_ purpose: StaticString, _ key: [[UInt8]], _ world: World) -> [UInt8] {
        let number = world.draws.octets(purpose, key).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Array(String(100_000_000_000_000_000 + number % 900_000_000_000_000_000).utf8)
    }

    /// The account of that id, made where there is none.
    func account(id: [UInt8]) -> Account {
        if let known = accounts[ByteKey(id)] { return known }
        let account = Account(id: id)
        accounts[ByteKey(id)] = account
        accountOrder.append(account)
        return account
    }

    func add(_ session: [UInt8], _ account: Account) {
        sessions[ByteKey(session)] = account
        account.sessions.append(session)
        revoked.remove(session)
    }

    func revoke(_ session: [UInt8]) {
        sessions[ByteKey(session)]?.sessions.removeAll { $0 == session }
        sessions[ByteKey(session)] = nil
        revoked.insert(session)
    }

    /// Logout: the registrations that the session made go.
    func endSession(_ session: [UInt8], _ account: Account) {
        account.removeAll { $0.session == session }
        revoke(session)
    }

    /// Counts the call; nil where it may go on.
    func limit(_ route: Fluxer.RouteName, _ caller: Caller, _ call: Call, _ world: inout World) -> Response? {
        let (who, now) = (caller.who(call), world.clock.now)
        if options.globalBucket, let wait = limits.take(.global, who, now: now) {
            if case .known(_, let session) = caller { revoke(session) }
            return RateLimited.response(.global, wait: wait, now: now)
        }
        guard options.limits, let bucket = route.bucket else { return nil }
        let key = RateLimits.Key(bucket: bucket.name, who: who)
        if let until = penalties[key] {
            if now < until {
                broken(.rateLimits, call.index, "The request came before Retry-After was over.", &world)
            } else {
                penalties[key] = nil
                met(.rateLimits, &world)
            }
        }
        guard let wait = limits.take(bucket, who, now: now) else { return nil }
        penalties[key] = now + RateLimited.wholeSeconds(wait) * 1_000_000_000
        return RateLimited.response(bucket, wait: wait, now: now)
    }

    /// Login required, then a user's token only.
    func authorize(_ caller: Caller) throws(FluxerError) -> (Account, session: [UInt8]) {
        switch caller {
        case .nobody: throw .unauthorized
        case .other: throw FluxerError(403, "ACCESS_DENIED", "Only a user's session may do this.")
        case .known(let account, let session):
            guard account.flags.isEmpty else {
                var error = FluxerError(
                    403, "ACCOUNT_SUSPICIOUS_ACTIVITY", "The account is locked for suspicious activity.")
                error.data = ["suspicious_activity_flags": .array(account.flags.map { .string($0) })]
                throw error
            }
            return (account, session)
        }
    }
}
