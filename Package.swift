// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// A library target: `name` without its prefix, the folder under `Sources`, and what it builds on.
func part(
    _ name: String, path: String? = nil, exclude: [String] = [], resources: [Resource] = [],
    _ dependencies: [Target.Dependency]
) -> Target {
    .target(
        name: "PushSim\(name)", dependencies: dependencies, path: "Sources/\(path ?? name)", exclude: exclude,
        resources: resources, swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(
        name: "\(name)Tests", dependencies: dependencies + ["PushSimTestSupport"], path: "Tests/\(name)Tests",
        swiftSettings: settings)
}

let package = Package(
    name: "PushSim",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "PushSim", targets: ["PushSim"]),
        .library(name: "PushSimTesting", targets: ["PushSimTesting"]),
        .library(name: "PushSimRecorder", targets: ["PushSimRecorder"]),
        .executable(name: "pushsim", targets: ["PushSimCommand"]),
    ],
    targets: [
        .target(
            name: "CPushSimSystem", path: "Sources/C/System",
            linkerSettings: [.linkedLibrary("m", .when(platforms: [.linux]))]),
        .systemLibrary(name: "CPushSimOpenSSL", path: "Sources/C/OpenSSL", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CPushSimZlib", path: "Sources/C/Zlib", providers: [.apt(["zlib1g-dev"])]),
        .target(name: "CPushSimCurl", path: "Sources/C/Curl"),
        .target(name: "CPushSimRecordings", path: "Sources/C/Recordings"),
        part("Wire", ["CPushSimSystem", "CPushSimZlib"]),
        part("JSONText", ["CPushSimSystem"]),
        part(
            "WebPush",
            [
                "PushSimJSONText", "CPushSimZlib",
                .target(name: "CPushSimOpenSSL", condition: .when(platforms: [.linux])),
            ]),
        part("Simulation", ["PushSimWire", "PushSimJSONText", "PushSimWebPush", "CPushSimSystem"]),
        part("Faults", ["PushSimSimulation", "PushSimJSONText", "PushSimWire", "PushSimWebPush"]),
        part(
            "NTM", path: "Backends/NTM",
            ["PushSimSimulation", "PushSimWire", "PushSimJSONText", "PushSimWebPush"]),
        part(
            "Fluxer", path: "Backends/Fluxer",
            ["PushSimSimulation", "PushSimWire", "PushSimJSONText", "PushSimWebPush"]),
        part(
            "Sunbird", path: "Backends/Sunbird",
            ["PushSimSimulation", "PushSimWire", "PushSimJSONText"]),
        part(
            "Push", path: "Backends/Push",
            ["PushSimSimulation", "PushSimWire", "PushSimJSONText"]),
        part(
            "Cassettes",
            ["PushSimSimulation", "PushSimWire", "PushSimJSONText", "PushSimWebPush", "CPushSimSystem"]),
        part(
            "", path: "PushSim", resources: [.embedInCode("profiles")],
            [
                "PushSimNTM", "PushSimFluxer", "PushSimSunbird", "PushSimPush", "PushSimCassettes", "PushSimFaults",
                "PushSimSimulation",
                "PushSimWire",
                "PushSimJSONText",
                "PushSimWebPush", "CPushSimRecordings", "CPushSimSystem",
            ]),
        part("Testing", ["PushSim"]),
        part(
            "Recorder",
            [
                "PushSim", "PushSimCassettes", "PushSimSimulation", "PushSimWebPush", "PushSimWire", "CPushSimCurl",
                "CPushSimSystem",
            ]),
        .executableTarget(
            name: "PushSimCommand",
            dependencies: [
                "PushSim", "PushSimRecorder", "PushSimCassettes", "PushSimJSONText", "PushSimFaults",
                "PushSimSimulation",
                "PushSimWebPush", "PushSimWire",
                "CPushSimSystem",
            ],
            path: "Sources/Command", swiftSettings: settings),
        .target(
            name: "PushSimTestSupport", dependencies: ["PushSimWire", "CPushSimSystem"], path: "Tests/TestSupport",
            swiftSettings: settings),
        .target(
            name: "CPushSimBenchmarkLoop", dependencies: ["CPushSimOpenSSL"], path: "Tests/Benchmarks/Loop"),
        .executableTarget(
            name: "PushSimBenchmarks",
            dependencies: [
                "PushSim", "PushSimWebPush", "PushSimWire", "CPushSimSystem",
                .target(name: "CPushSimBenchmarkLoop", condition: .when(platforms: [.linux])),
            ], path: "Tests/Benchmarks/Measure", swiftSettings: settings),
        tests("Wire", ["PushSimWire"]),
        tests("JSONText", ["PushSimJSONText"]),
        tests("WebPush", ["PushSimWebPush", "PushSimJSONText"]),
        tests("Simulation", ["PushSimSimulation", "PushSimWire", "PushSimWebPush"]),
        tests("Faults", ["PushSimFaults", "PushSim", "PushSimSimulation"]),
        tests("Cassettes", ["PushSimCassettes", "PushSimJSONText", "PushSim", "PushSimWire"]),
        tests(
            "Recorder",
            [
                "PushSimRecorder", "PushSimTesting", "PushSimCassettes", "PushSim", "PushSimWire", "PushSimJSONText",
                "CPushSimSystem",
            ]),
        tests(
            "PushSim",
            [
                "PushSimTesting", "PushSim", "PushSimWire", "PushSimJSONText", "PushSimWebPush", "PushSimFaults",
                "PushSimSimulation",
            ]),
    ],
    swiftLanguageModes: [.v6]
)
