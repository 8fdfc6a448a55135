#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A file that tests keep beside them: in a folder of that name beside the test's own file, or beside one of the folders
/// above, up to the one that holds the package or the repository.
struct Nearby {
    private(set) var found: URL?
    private(set) var looked: [String] = []

    init(_ folder: String, _ file: String, from filePath: String) {
        var place = URL(fileURLWithPath: filePath).deletingLastPathComponent()
        while place.pathComponents.count > 1 {
            let candidate = place.appendingPathComponent(folder).appendingPathComponent(file)
            if FileManager.default.fileExists(atPath: candidate.path) {
                found = candidate
                return
            }
            looked.append(candidate.path)
            let ends = ["Package.swift", ".git"].map { place.appendingPathComponent($0).path }
            if ends.contains(where: { FileManager.default.fileExists(atPath: $0) }) { return }
            place.deleteLastPathComponent()
        }
    }
}
