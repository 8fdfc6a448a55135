import PushSim
import PushSimJSONText
import PushSimSimulation
import PushSimWire

/// `accounts` and `devices` of the configuration file: what Fluxer and Sunbird know from the start.
struct People {
    private let path: String
    private var accounts: [JSON] = []
    /// What stands in the file for an account, and for each of its registrations.
    private var sources: [(account: JSONValue, devices: [JSONValue])] = []
    private var tokens = SunbirdTokens()

    static func read(_ root: JSONValue, _ path: String, _ settings: inout Service.Settings) throws(Finding) {
        var people = People(path: path)
        for name in ["accounts", "devices"] {
            guard let list = root.member(name) else { continue }
            guard list.kind == .array else {
                throw Configuration.at(list, path, "\(name) must be an array, not \(list.kindName)")
            }
            for element in list.elements {
                if element.kind != .object { throw Configuration.at(element, path, "must be an object") }
                switch name == "devices" ? try people.backend(of: element) : "" {
                case "sunbird": try people.add(token: element)
                case "fluxer": try people.add(device: element)
                default: try people.add(account: element)
                }
            }
        }
        try people.tokens.apply(path, &settings)
        guard !people.accounts.isEmpty else { return }
        let state: JSON = ["accounts": .array(people.accounts)]
        do throws(ControlError) {
            try Service.check(state, backend: "fluxer", settings.options)
        } catch {
            throw people.finding(error)
        }
        settings.initialState["fluxer"] = state
    }

    private init(path: String) { self.path = path }

    /// Fluxer's, where it is not said.
    private func backend(of device: JSONValue) throws(Finding) -> String {
        guard let given = device.member("backend") else { return "fluxer" }
        guard let name = given.string, ["fluxer", "sunbird"].contains(name) else {
            throw Configuration.at(given, path, "\"backend\" must be fluxer or sunbird")
        }
        return name
    }

    private mutating func add(token value: JSONValue) throws(Finding) {
        try refuse(value, besides: ["backend", "token", "topics"])
        tokens.add(value)
    }

    private mutating func add(account value: JSONValue) throws(Finding) {
        let known = ["id", "name", "sessions", "flags"]
        try refuse(value, besides: known)
        accounts.append(.object(value.members.map { .init($0.name, JSON($0.value)) }))
        sources.append((value, []))
    }

    /// A device is a registration with the `account` it belongs to: an id or a session token.
    private mutating func add(device value: JSONValue) throws(Finding) {
        try refuse(
            value,
            besides: [
                "backend", "account", "platform", "token", "app_id", "provider_environment", "encryption_key",
                "auth_secret",
                "user_agent", "features",
            ])
        let owner = value.member("account")?.string ?? ""
        let index = accounts.firstIndex { account in
            account["id"]?.string == owner
                || account["sessions"]?.elements?.contains { $0.string == owner } ?? false
        }
        guard let index else {
            throw Configuration.at(
                value.member("account") ?? value, path,
                "\"account\" must name one of the accounts by id or session token")
        }
        var registrations = accounts[index]["registrations"]?.elements ?? []
        registrations.append(
            .object(
                value.members.filter { $0.name != "account" && $0.name != "backend" }.map {
                    .init($0.name, JSON($0.value))
                }))
        accounts[index].set("registrations", .array(registrations))
        sources[index].devices.append(value)
    }

    private func refuse(_ value: JSONValue, besides known: [String]) throws(Finding) {
        guard let stranger = value.members.first(where: { !known.contains($0.name) }) else { return }
        throw Configuration.at(
            stranger.key, path,
            "unknown key \"\(stranger.name)\".\(Suggestion.text(stranger.name, known)) Known: "
                + known.joined(separator: ", ") + ".")
    }

    /// The mistake where it stands in the file: `$.fluxer.accounts[1].registrations[0].token` is the token of the first
    /// device of the second account.
    private func finding(_ error: ControlError) -> Finding {
        let steps = JSONPath(String(error.path.dropFirst("$.fluxer.".utf8.count)))?.steps ?? []
        guard steps.count >= 2, case .element(let account) = steps[1], sources.indices.contains(account) else {
            return Finding(message: "\(path): \(error)")
        }
        var place = sources[account].account
        var rest = steps.dropFirst(2)
        if rest.count >= 2, case .member("registrations") = rest.first,
            case .element(let device) = rest.dropFirst().first,
            sources[account].devices.indices.contains(device)
        {
            place = sources[account].devices[device]
            rest = rest.dropFirst(2)
        }
        var name = ""
        if case .member(let member) = rest.first {
            name = "\"\(member)\" "
            place = place.member(member) ?? place
        }
        return Configuration.at(place, path, name + error.message)
    }
}
