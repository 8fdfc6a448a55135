import CPushSimSystem
import PushSimWebPush
import PushSimWire
import Synchronization

/// Cassettes on disk.
package enum CassetteStore {
    /// - Throws: where the file cannot be read or is no HAR.
    package static func load(_ path: String) throws(CassetteError) -> Cassette {
        let folder = folder(path)
        return try HARReader.read(try read(path), name: path) { bodyFile($0, in: folder) }
    }

    package static func read(_ path: String) throws(CassetteError) -> [UInt8] {
        let known = pushsim_file_size(path)
        if known > 0 {
            // Without a copy on the way: cassettes may be large.
            var result: Int64 = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: Int(known)) { buffer, count in
                result = pushsim_file_read_into(path, buffer.baseAddress, Int(known))
                count = Int(max(0, result))
            }
            if result < 0 { throw CassetteError(SystemError("cannot read \(path)", result).description) }
            return bytes
        }
        var content: UnsafeMutablePointer<UInt8>?
        var size = 0
        let result = pushsim_file_read(path, &content, &size)
        guard result >= 0, let content else {
            throw CassetteError(SystemError("cannot read \(path)", result).description)
        }
        defer { pushsim_free(content) }
        return Array(UnsafeBufferPointer(start: content, count: size))
    }

    /// Writes bodies, then the HAR, each whole or not at all; what an older HAR had for bodies goes last. Whoever reads
    /// meanwhile sees the old cassette or the new one.
    package static func write(_ files: CassetteFiles, to file: String) throws(CassetteError) {
        let path = try target(file)
        let folder = folder(path)
        let bodies = "\(folder)/\(name(path)).bodies"
        if !files.bodies.isEmpty { try check(pushsim_folder_make(bodies), bodies) }
        for body in files.bodies { try write(body.bytes, "\(folder)/\(body.path)") }
        try write(files.har, path)
        let wanted = Set(files.bodies.map { "\(folder)/\($0.path)" })
        // Only what is called by its digest was written by this.
        let old = list(bodies).filter(isDigest).map { "\(bodies)/\($0)" }.filter { !wanted.contains($0) }
        for file in old where isOurs(file) { _ = pushsim_file_remove(file) }
        if wanted.isEmpty, !old.isEmpty { _ = pushsim_folder_remove(bodies) }
    }

    /// Whether a file holds what its name says.
    private static func isOurs(_ file: String) -> Bool {
        guard let bytes = try? read(file) else { return false }
        return file.hasSuffix(Hex.text(Digest.sha256(bytes)))
    }

    private static func isDigest(_ name: String) -> Bool {
        name.utf8.count == 64 && name.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }

    /// Where a cassette of that path is really written: behind links.
    /// - Throws: where there is no folder for it, or something that is no file stands there.
    package static func target(_ path: String) throws(CassetteError) -> String {
        var buffer = [CChar](repeating: 0, count: 4097)
        let kind = Int(pushsim_path_resolve(path, &buffer, buffer.count))
        switch kind {
        case PUSHSIM_PATH_FILE, PUSHSIM_PATH_NONE:
            let end = buffer.firstIndex(of: 0) ?? buffer.endIndex
            return String(decoding: buffer[..<end].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        case PUSHSIM_PATH_FOLDER:
            throw CassetteError("\(path) is a folder; name a file in it, such as \(path)/session.har")
        case PUSHSIM_PATH_OTHER: throw CassetteError("\(path) is no file that a cassette could take the place of")
        default:
            if path.isEmpty { throw CassetteError("the cassette has no name") }
            throw CassetteError(
                "there is no folder \(folder(path)) for \(path.split(separator: "/").last ?? ""): make it first")
        }
    }

    private static func write(_ bytes: [UInt8], _ path: String) throws(CassetteError) {
        try check(bytes.withUnsafeBytes { pushsim_file_write(path, $0.baseAddress, $0.count) }, path)
    }

    private static func check(_ result: Int32, _ path: String) throws(CassetteError) {
        if result < 0 { throw CassetteError(SystemError("cannot write \(path)", result).description) }
    }

    private static func list(_ folder: String) -> [String] {
        final class Names { var all: [String] = [] }
        let names = Names()
        _ = pushsim_folder_list(folder, Unmanaged.passUnretained(names).toOpaque()) { context, name in
            guard let context, let name else { return }
            Unmanaged<Names>.fromOpaque(context).takeUnretainedValue().all.append(String(cString: name))
        }
        return names.all
    }

    // MARK: names

    /// What a cassette is called, and its folder of bodies with it: the file's name without its folder and the ending
    /// `.har`, behind links, where it is written.
    package static func name(_ path: String) -> String {
        let path = (try? target(path)) ?? path
        let file = path.split(separator: "/").last.map(String.init) ?? path
        return file.hasSuffix(".har") && file.utf8.count > 4 ? String(file.dropLast(4)) : file
    }

    package static func folder(_ path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Stays inside the folder of the HAR (R16): no absolute path, no step up, no link that leads out.
    private static func bodyFile(_ file: String, in folder: String) -> [UInt8]? {
        let parts = file.split(separator: "/", omittingEmptySubsequences: false)
        guard !file.isEmpty, !parts.contains(where: { $0.isEmpty || $0 == ".." }),
            !file.utf8.contains(0), !file.contains("\\"), pushsim_file_is_within(folder, "\(folder)/\(file)") == 1
        else { return nil }
        // A pipe would never end.
        var buffer = [CChar](repeating: 0, count: 4097)
        guard Int(pushsim_path_resolve("\(folder)/\(file)", &buffer, buffer.count)) == PUSHSIM_PATH_FILE else {
            return nil
        }
        return try? read("\(folder)/\(file)")
    }
}

/// That nobody else records into a file, until it is released, or the process ends.
package final class CassetteLock: Sendable {
    private let path: String
    private let descriptor: Mutex<Int32>

    /// - Throws: where another recorder has the file.
    package init(_ file: String) throws(CassetteError) {
        let cassette = try CassetteStore.target(file)
        path = "\(CassetteStore.folder(cassette))/.\(CassetteStore.name(cassette)).har.lock"
        let opened = pushsim_file_lock(path)
        descriptor = Mutex(opened)
        if opened == -pushsim_would_block() {
            throw CassetteError("another recorder writes \(cassette); give this one another --out, or stop that one")
        }
        if opened < 0 { throw CassetteError(SystemError("cannot lock \(path)", opened).description) }
    }

    package func release() {
        descriptor.withLock { descriptor in
            if descriptor >= 0 { pushsim_file_unlock(descriptor, path) }
            descriptor = -1
        }
    }

    deinit { release() }
}
