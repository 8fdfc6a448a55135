import PushSim
import PushSimJSONText
import PushSimSimulation
import PushSimWire

/// The configuration file (contract options.md).
enum Configuration {
    private static let keys = ["options", "accounts", "devices", "delivery", "templates", "profile", "seed", "hosts"]

    static func read(_ path: String, into settings: inout Service.Settings) throws(Finding) {
        let bytes = try Files.read(path)
        let document: JSONDocument
        do throws(JSONError) {
            document = try JSONDocument(bytes, dialect: .json5)
        } catch {
            throw Finding(message: "\(path):\(error.position.line):\(error.position.column): \(error.message)")
        }
        guard document.root.kind == .object else {
            throw at(document.root, path, "the configuration must be an object")
        }
        try refuseDuplicates(document.root, path)
        for member in document.root.members { try apply(member, path, &settings) }
        try People.read(document.root, path, &settings)
    }

    /// A name that stands twice has no agreed value.
    private static func refuseDuplicates(_ value: JSONValue, _ path: String) throws(Finding) {
        if let twice = value.firstDuplicate { throw at(twice.key, path, "\"\(twice.name)\" stands twice") }
        for member in value.members { try refuseDuplicates(member.value, path) }
        for element in value.elements { try refuseDuplicates(element, path) }
    }

    private static func apply(
        _ member: JSONValue.Member, _ path: String, _ settings: inout Service.Settings
    ) throws(Finding) {
        let value = member.value
        switch member.name {
        case "options":
            for option in value.members {
                guard let text = option.value.string ?? (option.value.kind == .number ? option.value.sourceText : nil)
                else {
                    throw at(option.value, path, "\(option.name) must be a string")
                }
                do throws(OptionError) {
                    try settings.options.change(option.name, to: text)
                } catch {
                    throw at(option.key, path, error.description)
                }
            }
        case "templates":
            for template in value.members {
                guard template.name == "ntm.apns", template.value.kind == .object else {
                    throw at(template.key, path, "the only template is \"ntm.apns\", an object")
                }
                settings.templates[template.name] = JSON(template.value).bytes
            }
        case "profile":
            guard let name = value.string else {
                throw at(value, path, "profile must be a file or the name of a shipped one")
            }
            settings.profile = try ProfileVerb.load(name)
        case "seed":
            guard let seed = value.int, seed >= 0 else { throw at(value, path, "seed must be a whole number from 0") }
            settings.seed = UInt64(seed)
        case "hosts":
            for name in value.elements {
                guard let bytes = name.stringBytes, !bytes.isEmpty else { throw at(name, path, "a host is a name") }
                settings.hostNames.append(bytes)
            }
        case "accounts", "devices": break
        case "delivery": settings.deliveryRoutes = try routes(value, path)
        default:
            throw at(
                member.key, path,
                "unknown key \"\(member.name)\".\(Suggestion.text(member.name, keys)) Known: \(keys.joined(separator: ", "))."
            )
        }
    }

    /// `{ routes: { host: url } }`.
    private static func routes(_ value: JSONValue, _ path: String) throws(Finding) -> [ByteKey: DeliveryRoute] {
        var found: [ByteKey: DeliveryRoute] = [:]
        for member in value.members {
            guard member.name == "routes" else {
                throw at(member.key, path, "unknown key \"\(member.name)\". Known: routes.")
            }
            for route in member.value.members {
                guard let host = DeliveryRoute.host(route.name) else {
                    throw at(
                        route.key, path,
                        "\"\(route.name)\" is no host that is delivered to: a name such as push.example.org, without "
                            + "scheme, port or path")
                }
                guard let url = route.value.string, let (address, port, rest) = Remote.address(url),
                    rest.isEmpty || rest == "/"
                else {
                    throw at(route.value, path, "a route is http:// with an address of loopback and a port, no path")
                }
                found[host] = DeliveryRoute(host: address, port: port)
            }
        }
        return found
    }

    static func at(_ value: JSONValue, _ path: String, _ message: String) -> Finding {
        Finding(message: "\(path):\(value.position.line):\(value.position.column): \(message)")
    }
}
