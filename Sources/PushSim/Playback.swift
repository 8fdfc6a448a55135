import PushSimCassettes
import PushSimWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How recordings are played.
public struct Playback: Hashable, Sendable {
    /// Whether all requests must come in the order of the recording, instead of identical ones in theirs.
    public var isStrict = false
    /// Whether the last recording of a request serves for more of them.
    public var repeatsLast = false
    /// How many times faster than recorded answers come, on the simulation clock; nil sends them at once.
    public var speed: Double?
    /// Whether dates are moved by the age of the recording.
    public var shiftsDates = false
    /// What placeholders stand for that no request gives, by their names, such as `authorization.1`.
    public var secrets: [String: String] = [:]

    /// At once, identical requests in their order, each recording once.
    public init() {}

    var settings: PlayerSettings {
        var settings = PlayerSettings()
        settings.order = isStrict ? .strict : .identity
        settings.repeatsLast = repeatsLast
        settings.speed = speed.flatMap { $0 > 0 && $0.isFinite ? $0 : nil }
        settings.shiftsDates = shiftsDates
        for (name, value) in secrets { settings.secrets[ByteKey(Array(name.utf8))] = Array(value.utf8) }
        return settings
    }

    static func load(_ file: URL) throws(PushSimError) -> Cassette {
        do throws(CassetteError) {
            return try CassetteStore.load(file.path).checkedForReplay()
        } catch {
            throw PushSimError(error.description)
        }
    }

    /// A cassette of that name: near a file, or one that is shipped.
    static func load(_ name: String, from filePath: String) throws(PushSimError) -> Cassette {
        let own = name.hasSuffix(".har") ? String(name.dropLast(4)) : name
        let nearby = Nearby("recordings", "\(own).har", from: filePath)
        if let file = nearby.found { return try load(file) }
        do throws(CassetteError) {
            if let shipped = try ShippedRecordings.load(own) { return shipped }
        } catch {
            throw PushSimError(error.description)
        }
        throw PushSimError(
            "There is no cassette \"\(name)\": looked for \(nearby.looked.joined(separator: ", ")). Shipped are: "
                + ShippedRecordings.names.joined(separator: ", ") + ".")
    }
}
