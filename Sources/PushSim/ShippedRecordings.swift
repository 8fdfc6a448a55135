import CPushSimRecordings
package import PushSimCassettes

/// The cassettes that come with the product, compiled in.
package enum ShippedRecordings {
    private static var all: [(name: String, bytes: UnsafeBufferPointer<UInt8>)] {
        (0...).lazy.map { pushsim_recording_at($0) }.prefix { $0 != nil }.compactMap { recording in
            recording.map { (String(cString: $0.pointee.name), .init(start: $0.pointee.bytes, count: $0.pointee.size)) }
        }
    }

    package static var names: [String] { all.map(\.name) }

    /// - Parameter name: without `.har`.
    package static func load(_ name: String) throws(CassetteError) -> Cassette? {
        guard let found = all.first(where: { $0.name == name }) else { return nil }
        return try HARReader.read(Array(found.bytes), name: name) { _ in nil }
    }
}
