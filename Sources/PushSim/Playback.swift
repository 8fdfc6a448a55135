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

    /// Where a cassette of that name is: in `recordings` beside a file or beside a folder above it.
    static func find(_ name: String, from filePath: String) throws -> URL {
        let file = name.hasSuffix(".har") ? name : "\(name).har"
        var folder = URL(fileURLWithPath: filePath).deletingLastPathComponent()
        var looked: [String] = []
        while folder.pathComponents.count > 1 {
            let found = folder.appendingPathComponent("recordings").appendingPathComponent(file)
            if FileManager.default.fileExists(atPath: found.path) { return found }
            looked.append(found.path)
            folder.deleteLastPathComponent()
        }
        throw PushSimError(
            "There is no cassette \"\(name)\": looked for \(looked.prefix(3).joined(separator: ", ")) and so on upwards."
        )
    }
}
