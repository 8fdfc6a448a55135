import CPushSimSystem
import PushSimCassettes
import PushSimWire

/// Puts an answer together from what comes over the wire.
struct AnswerReader {
    private let begun = pushsim_monotonic_clock()
    private var answeredAt: Int64?
    private var head: [UInt8] = []
    private var answer: CassetteEntry.Answer?
    private var interim: [CassetteEntry.Interim] = []
    private var body = BodyReader(isChunked: false)

    /// - Returns: the head that is whole now, as it came.
    mutating func receiveHeadLine(_ bytes: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        // Trailers come by the body too.
        guard answer == nil else { return nil }
        head += bytes
        guard bytes.count <= 2, bytes.last == Byte.lineFeed else { return nil }
        let block = head
        head = []
        // The server sends a 100 of its own.
        guard let read = HeadBlock(block), read.status != 100 else { return nil }
        if answeredAt == nil { answeredAt = pushsim_monotonic_clock() }
        if read.status < 200, read.status != 101 {
            interim.append(.init(status: read.status, statusText: read.reason, headers: read.fields))
            return block
        }
        var answer = CassetteEntry.Answer(
            status: read.status, statusText: read.reason, headers: read.fields, body: .bytes([]))
        answer.httpVersion = read.version
        answer.interim = interim
        self.answer = answer
        body = BodyReader(isChunked: answer.isChunked)
        return block
    }

    /// Whether chunks are on their way, which a client of HTTP/1.0 knows nothing of.
    var isChunked: Bool { body.isChunked }

    /// How much of the body has come, out of its framing.
    var bodyCount: Int { body.body.count }

    func body(from start: Int) -> [UInt8] { Array(body.body[start...]) }

    /// A head as a client of HTTP/1.0 may have it: no interim answers, and nothing of chunks.
    static func plainHead(_ block: [UInt8]) -> [UInt8]? {
        guard let read = HeadBlock(block), read.status >= 200 else { return nil }
        let lines = block.split(separator: Byte.lineFeed, omittingEmptySubsequences: false)
        let kept = lines.filter { line in
            !["transfer-encoding:", "trailer:"].contains { line.map(Byte.lowercased).starts(with: $0.utf8) }
        }
        return Array(kept.joined(separator: [Byte.lineFeed]))
    }

    mutating func receiveBody(_ bytes: UnsafeBufferPointer<UInt8>) { body.receive(bytes) }

    /// - Parameter start: of the recording, on the monotonic clock.
    func timing(since start: Int64) -> CassetteEntry.Timing {
        let now = pushsim_monotonic_clock()
        let first = answeredAt ?? now
        var timing = CassetteEntry.Timing(start: begun - start, wait: first - begun, receive: now - first)
        timing.chunks = body.chunkTimes.map { max(0, $0 - first) }
        return timing
    }

    func outcome(_ failure: CassetteEntry.Failure.Kind?) -> CassetteEntry.Outcome {
        guard var answer else { return .failure(.init(failure ?? .closed)) }
        answer.body = .bytes(body.body)
        answer.trailers = body.trailers
        if body.isChunked { answer.chunks = body.chunks }
        if let name = answer.headers.first("content-encoding"), !body.body.isEmpty {
            answer.encodedBody = body.body
            if let coding = ContentCoding(name) {
                // Also what is cut or damaged may hold a secret: it is kept as far as it can be read.
                let plain = try? coding.decode(body.body, limit: RecordingLog.decodedLimit)
                answer.body = .bytes(plain ?? coding.decodePrefix(body.body, limit: RecordingLog.decodedLimit))
            }
        }
        return failure.map { .failure(.init($0, answer: answer)) } ?? .answer(answer)
    }
}

/// A status line and the fields behind it.
private struct HeadBlock {
    let version: [UInt8]
    let status: Int
    let reason: [UInt8]
    let fields: [HeaderField]

    init?(_ block: [UInt8]) {
        let lines = block.split(separator: Byte.lineFeed).map { $0.last == 13 ? Array($0.dropLast()) : Array($0) }
        guard let first = lines.first, first.count >= 12, first.starts(with: "HTTP/1."),
            let status = decimalDigits(first[9..<12])
        else { return nil }
        version = Array(first[..<8])
        self.status = status
        reason = Array(first.dropFirst(13))
        fields = lines.dropFirst().compactMap { line in
            guard let colon = line.firstIndex(of: Byte.colon), HeaderField.isName(Array(line[..<colon])) else {
                return nil
            }
            return HeaderField(Array(line[..<colon]), Array(line[(colon + 1)...]).trimmed)
        }
    }
}

extension OutboundEnd {
    /// Nil where all went well.
    var failure: CassetteEntry.Failure.Kind? {
        switch self {
        case .good: nil
        case .dns: .dns
        case .refused: .refused
        case .tls: .tls
        case .timeout: .timeout
        case .closed: .closed
        case .cut: .cut
        case .reset: .reset
        case .malformed: .malformed
        case .other: .other
        }
    }
}
