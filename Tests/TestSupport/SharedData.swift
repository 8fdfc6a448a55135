import Foundation

/// The folder of standard vectors that stands beside the project on the machines that have it.
package enum SharedData {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../shared/data").standardized

    package static var isThere: Bool { FileManager.default.fileExists(atPath: folder.path) }

    package static func read(_ path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: folder.appending(path: path)))
    }

    package static func path(_ path: String) -> String { folder.appending(path: path).path }
}
