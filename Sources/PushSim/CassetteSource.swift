import PushSimCassettes

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Cassettes that a test names by URL.
enum CassetteSource {
    static func read(_ url: URL) throws -> Cassette {
        let folder = url.deletingLastPathComponent()
        let bytes: [UInt8]
        do {
            bytes = Array(try Data(contentsOf: url))
        } catch {
            throw PushSimError("The cassette \(url.path) cannot be read.")
        }
        do throws(CassetteError) {
            return try HARReader.read(bytes, name: url.lastPathComponent) { bodyFile($0, in: folder) }
        } catch {
            throw PushSimError(error.description)
        }
    }

    /// Stays inside the folder of the HAR (R16).
    private static func bodyFile(_ file: String, in folder: URL) -> [UInt8]? {
        let parts = file.split(separator: "/", omittingEmptySubsequences: false)
        guard !file.isEmpty, !parts.contains(where: { $0.isEmpty || $0 == ".." || $0 == "." }) else { return nil }
        let root = folder.resolvingSymlinksInPath().path
        let path = folder.appendingPathComponent(file).resolvingSymlinksInPath().path
        guard path.hasPrefix(root + "/"), let data = FileManager.default.contents(atPath: path) else { return nil }
        return Array(data)
    }
}
