// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("MemberImportVisibility"),
]

/// A user's package: its own targets have the names that a push client's are likely to have.
let package = Package(
    name: "ClientPackage",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "PushSim", path: "../..")],
    targets: [
        .target(name: "WebPush", swiftSettings: strict),
        .target(name: "Fluxer", dependencies: ["WebPush"], swiftSettings: strict),
        .testTarget(
            name: "ClientTests", dependencies: ["Fluxer", .product(name: "PushSimTesting", package: "PushSim")],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
