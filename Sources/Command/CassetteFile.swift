import CPushSimSystem
import PushSimCassettes

/// Cassettes on disk.
enum CassetteFile {
    static func load(_ path: String) throws(Finding) -> Cassette {
        let bytes = try Files.read(path)
        let folder = Self.folder(path)
        do throws(CassetteError) {
            return try HARReader.read(bytes, name: path) { file in bodyFile(file, in: folder) }
        } catch {
            throw Finding(message: error.description)
        }
    }

    private static func folder(_ path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Stays inside the folder of the HAR (R16): no absolute path, no step up, no link that leads out.
    private static func bodyFile(_ file: String, in folder: String) -> [UInt8]? {
        let parts = file.split(separator: "/", omittingEmptySubsequences: false)
        guard !file.isEmpty, !parts.contains(where: { $0.isEmpty || $0 == ".." || $0 == "." }),
            !file.utf8.contains(0), !file.contains("\\"), pushsim_file_is_within(folder, "\(folder)/\(file)") == 1
        else { return nil }
        return try? Files.read("\(folder)/\(file)")
    }
}
