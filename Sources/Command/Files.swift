import CPushSimSystem
import PushSimWire

/// `1 entry`, `2 entries`.
func counted(_ count: Int, _ one: String, _ several: String) -> String { "\(count) \(count == 1 ? one : several)" }

/// Whole files and standard streams, as bytes.
enum Files {
    static func read(_ path: String) throws(Finding) -> [UInt8] {
        var content: UnsafeMutablePointer<UInt8>?
        var size = 0
        let result = pushsim_file_read(path, &content, &size)
        guard result >= 0, let content else {
            throw Finding(message: SystemError("cannot read \(path)", result).description)
        }
        defer { pushsim_free(content) }
        return Array(UnsafeBufferPointer(start: content, count: size))
    }

    static func write(_ bytes: [UInt8], to path: String) throws(Finding) {
        let result = bytes.withUnsafeBytes { pushsim_file_write(path, $0.baseAddress, $0.count) }
        if result < 0 { throw Finding(message: SystemError("cannot write \(path)", result).description) }
    }

    static func out(_ text: String) { write(1, text) }

    static func error(_ text: String) { write(2, text) }

    static func write(_ descriptor: Int32, _ text: String) {
        let bytes = Array(text.utf8)
        _ = bytes.withUnsafeBytes { pushsim_write_all(descriptor, $0.baseAddress, $0.count) }
    }
}
