import PushSim
import PushSimJSONText
import PushSimSimulation

/// `accounts` and `devices` of the configuration file: what Fluxer knows from the start.
enum People {
    static func read(_ root: JSONValue, _ path: String, _ settings: inout Service.Settings) throws(Finding) {
        let accounts = root.member("accounts")
        let devices = root.member("devices")
        guard accounts != nil || devices != nil else { return }
        var known: [JSON] = []
        for account in accounts?.elements ?? [] {
            known.append(try self.account(account, path))
        }
        for device in devices?.elements ?? [] { try add(device, &known, path) }
        let state: JSON = ["accounts": .array(known)]
        do {
            try Service.check(state, backend: "fluxer")
        } catch {
            throw Configuration.at(accounts ?? devices ?? root, path, "\(error)")
        }
        settings.initialState["fluxer"] = state
    }

    private static func account(_ value: JSONValue, _ path: String) throws(Finding) -> JSON {
        var account: JSON = .object([])
        for member in value.members {
            guard ["id", "name", "sessions", "flags"].contains(member.name) else {
                throw Configuration.at(
                    member.key, path, "unknown key \"\(member.name)\". Known: id, name, sessions, flags.")
            }
            account.set(member.name, JSON(member.value))
        }
        return account
    }

    /// A device is a registration with the `account` it belongs to: an id or a session token.
    private static func add(_ value: JSONValue, _ accounts: inout [JSON], _ path: String) throws(Finding) {
        let owner = value.member("account")?.string ?? ""
        let index = accounts.firstIndex { account in
            account["id"]?.string == owner
                || account["sessions"]?.elements?.contains { $0.string == owner } ?? false
        }
        guard let index else {
            throw Configuration.at(value, path, "\"account\" must name one of the accounts by id or session token")
        }
        var registrations = accounts[index]["registrations"]?.elements ?? []
        registrations.append(
            .object(value.members.filter { $0.name != "account" }.map { .init($0.name, JSON($0.value)) }))
        accounts[index].set("registrations", .array(registrations))
    }
}
