/// The profiles that come with the product, compiled in.
package enum ShippedProfiles {
    private static let table: [(name: String, bytes: [UInt8])] = [
        ("broken-connections", PackageResources.broken_connections_json5),
        ("call-trouble", PackageResources.call_trouble_json5),
        ("calm", PackageResources.calm_json5),
        ("chaos", PackageResources.chaos_json5),
        ("expired-token", PackageResources.expired_token_json5),
        ("flaky-registration", PackageResources.flaky_registration_json5),
        ("gone-endpoint", PackageResources.gone_endpoint_json5),
        ("late-and-duplicated", PackageResources.late_and_duplicated_json5),
        ("lost-state", PackageResources.lost_state_json5),
        ("malformed-records", PackageResources.malformed_records_json5),
        ("malformed-responses", PackageResources.malformed_responses_json5),
        ("rate-limited", PackageResources.rate_limited_json5),
        ("server-errors", PackageResources.server_errors_json5),
        ("slow-network", PackageResources.slow_network_json5),
        ("undecryptable-records", PackageResources.undecryptable_records_json5),
    ]

    package static var names: [String] { table.map(\.name) }

    package static func text(_ name: String) -> [UInt8]? { table.first { $0.name == name }?.bytes }
}
