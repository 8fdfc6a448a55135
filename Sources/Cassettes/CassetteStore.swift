import CPushSimSystem
import PushSimWire

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
    package static func write(_ files: CassetteFiles, to path: String) throws(CassetteError) {
        let folder = folder(path)
        let bodies = "\(folder)/\(name(path)).bodies"
        if !files.bodies.isEmpty { try check(pushsim_folder_make(bodies), bodies) }
        for body in files.bodies { try write(body.bytes, "\(folder)/\(body.path)") }
        try write(files.har, path)
        let wanted = Set(files.bodies.map { "\(folder)/\($0.path)" })
        for file in list(bodies).map({ "\(bodies)/\($0)" }) where !wanted.contains(file) {
            _ = pushsim_file_remove(file)
        }
        if wanted.isEmpty { _ = pushsim_folder_remove(bodies) }
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

    /// The file's name without its folder and the ending `.har`.
    package static func name(_ path: String) -> String {
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
        guard !file.isEmpty, !parts.contains(where: { $0.isEmpty || $0 == ".." || $0 == "." }),
            !file.utf8.contains(0), !file.contains("\\"), pushsim_file_is_within(folder, "\(folder)/\(file)") == 1
        else { return nil }
        return try? read("\(folder)/\(file)")
    }
}

/// That nobody else records into a file. Ends with the process at the latest.
package final class CassetteLock: Sendable {
    private let path: String
    private let descriptor: Int32

    /// - Throws: where another recorder has the file.
    package init(_ cassette: String) throws(CassetteError) {
        path = "\(CassetteStore.folder(cassette))/.\(CassetteStore.name(cassette)).har.lock"
        descriptor = pushsim_file_lock(path)
        if descriptor == -pushsim_would_block() {
            throw CassetteError("another recorder writes \(cassette); give this one another --out, or stop that one")
        }
        if descriptor < 0 { throw CassetteError(SystemError("cannot lock \(path)", descriptor).description) }
    }

    deinit { if descriptor >= 0 { pushsim_file_unlock(descriptor, path) } }
}
