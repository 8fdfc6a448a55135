import PushSimFaults
import PushSimSimulation

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A fault profile by its name or its text.
public struct FaultProfile: Hashable, Sendable, ExpressibleByStringLiteral {
    private enum Source: Hashable, Sendable {
        case named(String)
        case text(String)
    }

    private let source: Source

    /// `<name>.json5` in the folder `profiles` beside the test's file or beside one of the folders above it, up to that
    /// of the package; else one of the shipped profiles.
    public static func named(_ name: String) -> FaultProfile { FaultProfile(source: .named(name)) }

    /// A profile's JSON5 text.
    public static func json5(_ text: String) -> FaultProfile { FaultProfile(source: .text(text)) }

    private init(source: Source) { self.source = source }

    /// As `named`.
    public init(stringLiteral name: String) { self = .named(name) }

    func read(from filePath: String) throws(PushSimError) -> Profile {
        switch source {
        case .text(let text): return try Self.read(Array(text.utf8), "")
        case .named(let name):
            if let file = Nearby("profiles", "\(name).json5", from: filePath).found {
                guard let data = try? Data(contentsOf: file) else { throw PushSimError("cannot read \(file.path)") }
                return try Self.read(Array(data), "\(file.path):")
            }
            guard let shipped = ShippedProfiles.text(name) else {
                throw PushSimError(
                    "There is no profile \"\(name)\".\(Suggestion.text(name, ShippedProfiles.names)) Shipped are: "
                        + ShippedProfiles.names.joined(separator: ", ") + ".")
            }
            return try Self.read(shipped, "")
        }
    }

    private static func read(_ bytes: [UInt8], _ place: String) throws(PushSimError) -> Profile {
        do throws(ProfileError) {
            return try ProfileReader.read(bytes, Vocabulary(Service.allBackends))
        } catch {
            throw PushSimError(place + error.description)
        }
    }
}
