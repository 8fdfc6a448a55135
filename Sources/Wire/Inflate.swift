import CPushSimZlib

/// Undoes gzip and zlib coding.
package enum Inflate {
    package enum Failure: Error, Hashable, Sendable {
        case damaged
        case tooLarge
    }

    /// - Parameter limit: the most bytes that may come out.
    package static func gzip(_ coded: [UInt8], limit: Int) throws(Failure) -> [UInt8] {
        // 15 bits of window; 16 more ask for the gzip header and its checksum.
        try inflated(coded, windowBits: 15 + 16, limit)
    }

    /// The coding `deflate`: zlib's, or bare as some servers have it.
    package static func deflate(_ coded: [UInt8], limit: Int) throws(Failure) -> [UInt8] {
        do throws(Failure) {
            return try inflated(coded, windowBits: 15, limit)
        } catch {
            if error == .tooLarge { throw error }
            return try inflated(coded, windowBits: -15, limit)
        }
    }

    /// What can be made of a stream that is cut or damaged: all that came out before.
    package static func prefix(_ coded: [UInt8], isGzip: Bool, limit: Int) -> [UInt8] {
        var best: [UInt8] = []
        for windowBits in isGzip ? [15 + 16] : [15, -15] as [Int32] {
            var output: [UInt8] = []
            _ = inflate(coded, windowBits: windowBits, limit, &output)
            if output.count > best.count { best = output }
        }
        return best
    }

    private static func inflated(_ coded: [UInt8], windowBits: Int32, _ limit: Int) throws(Failure) -> [UInt8] {
        var output: [UInt8] = []
        try inflate(coded, windowBits: windowBits, limit, &output).get()
        return output
    }

    private static func inflate(
        _ coded: [UInt8], windowBits: Int32, _ limit: Int, _ output: inout [UInt8]
    ) -> Result<Void, Failure> {
        var stream = z_stream()
        guard pushsim_inflate_init(&stream, windowBits) == Z_OK else { return .failure(.damaged) }
        defer { inflateEnd(&stream) }
        var input = coded
        return input.withUnsafeMutableBufferPointer { source in
            stream.next_in = source.baseAddress
            stream.avail_in = UInt32(source.count)
            return drain(&stream, &output, limit)
        }
    }

    private static func drain(_ stream: inout z_stream, _ output: inout [UInt8], _ limit: Int) -> Result<Void, Failure>
    {
        let block = UnsafeMutablePointer<UInt8>.allocate(capacity: 1 << 16)
        defer { block.deallocate() }
        while true {
            stream.next_out = block
            stream.avail_out = 1 << 16
            let status = CPushSimZlib.inflate(&stream, Z_NO_FLUSH)
            let count = (1 << 16) - Int(stream.avail_out)
            if output.count + count > limit { return .failure(.tooLarge) }
            output.append(contentsOf: UnsafeBufferPointer(start: block, count: count))
            if status == Z_STREAM_END {
                if stream.avail_in == 0 { return .success(()) }
                // RFC 1952: a file may hold several members.
                guard inflateReset(&stream) == Z_OK else { return .failure(.damaged) }
                continue
            }
            guard status == Z_OK, count > 0 || stream.avail_in > 0 else { return .failure(.damaged) }
        }
    }
}
