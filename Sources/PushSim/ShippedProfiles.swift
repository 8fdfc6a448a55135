/// The profiles that come with the product, compiled in.
package enum ShippedProfiles {
    private static let table: [(name: String, bytes: [UInt8])] = [
        ("calm", PackageResources.calm_json5), ("expired-token", PackageResources.expired_token_json5),
        ("flaky-registration", PackageResources.flaky_registration_json5),
        ("lost-state", PackageResources.lost_state_json5), ("server-errors", PackageResources.server_errors_json5),
    ]

    package static var names: [String] { table.map(\.name) }

    package static func text(_ name: String) -> [UInt8]? { table.first { $0.name == name }?.bytes }
}
