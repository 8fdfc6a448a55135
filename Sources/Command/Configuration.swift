import PushSim
import PushSimJSONText
import PushSimSimulation
import PushSimWire

/// The configuration file (contract options.md).
enum Configuration {
    private static let keys = ["options", "templates", "profile", "seed", "hosts"]
    private static let later = ["accounts", "devices", "delivery"]

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
        for member in document.root.members { try apply(member, path, &settings) }
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
            settings.hostNames = value.elements.compactMap(\.stringBytes)
        default:
            if later.contains(member.name) {
                throw at(
                    member.key, path, "\"\(member.name)\" belongs to a backend that this version does not have yet")
            }
            throw at(
                member.key, path,
                "unknown key \"\(member.name)\".\(Suggestion.text(member.name, keys)) Known: \(keys.joined(separator: ", "))."
            )
        }
    }

    private static func at(_ value: JSONValue, _ path: String, _ message: String) -> Finding {
        Finding(message: "\(path):\(value.position.line):\(value.position.column): \(message)")
    }
}
