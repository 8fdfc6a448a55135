package import PushSimWire

/// Turns a message into what goes over the wire: as it should be, or as a profile wants it. Serves answers and
/// deliveries alike.
package struct WireShaper {
    /// The start line, CR LF included.
    private var startLine: [UInt8]
    private var fields: [HeaderField]
    private let body: [UInt8]
    /// Whether a body and its length may be sent at all.
    private let hasBody: Bool
    /// Whether the body is left out all the same, as in the answer to HEAD.
    private let isHead: Bool
    private let faults: WireFaults
    /// What the random octets are drawn by.
    private let chance: Chance?
    private var end: WireScript.End

    package init(
        startLine: [UInt8], fields: [HeaderField], body: [UInt8], hasBody: Bool, isHead: Bool = false,
        faults: WireFaults, chance: Chance?, end: WireScript.End
    ) {
        self.startLine = startLine
        self.fields = fields
        self.body = body
        self.hasBody = hasBody
        self.isHead = isHead
        self.faults = faults
        self.chance = chance
        self.end = end
    }

    /// - Parameters:
    ///   - connection: how the connection ends, where that is a fault.
    ///   - bodyWait: nanoseconds on the script's clock between head and body.
    package mutating func script(_ connection: ConnectionFault?, bodyWait: Int64 = 0) -> WireScript {
        if let count = faults.garbage { return WireScript(paced(random(count)), end: .fin) }
        var framing = framed()
        if isHead { framing.body = [] }
        if faults.statusLine != nil || faults.extraHeaders != nil || faults.headerBytes != nil { addToHead() }
        var head: [UInt8] = []
        for status in faults.interim {
            head += Array("HTTP/1.1 \(status) \(StatusText.reason(status))\r\n\r\n".utf8)
        }
        head += startLine
        for field in fields + framing.fields { head += field.name + [58, 32] + field.value + [13, 10] }
        head += [13, 10]
        switch connection {
        case .resetAfterHead:
            framing.body = []
            end = .rst
        case .resetMidBody:
            framing.body = Array(framing.body.prefix(framing.body.count / 2))
            end = .rst
        case .closeMidHead: return WireScript(paced(Array(head.prefix(head.count / 2))), end: .fin)
        case .closeMidBody:
            framing.body = Array(framing.body.prefix(framing.body.count / 2))
            end = .fin
        case .stallMidBody:
            framing.body = Array(framing.body.prefix(framing.body.count / 2))
            end = .stall
        case .halfClose: end = .half
        default: break
        }
        var steps = faults.slowHead.map { Self.pieces(head, rate: $0) } ?? paced(head)
        if bodyWait > 0 { steps.append(.wait(bodyWait)) }
        if let (count, time) = faults.dribble {
            steps += Self.dribbled(framing.body, count, time)
        } else if !framing.body.isEmpty {
            steps += paced(framing.body)
        }
        return WireScript(Self.joined(steps), end: end)
    }

    private struct Framing {
        var fields: [HeaderField]
        var body: [UInt8]
    }

    private static let chunked = HeaderField("Transfer-Encoding", "chunked")

    private mutating func framed() -> Framing {
        guard hasBody else {
            if faults.truncateBody != nil { end = .fin }
            return Framing(fields: [], body: [])
        }
        let length = HeaderField("Content-Length", String(body.count))
        if faults.badChunkSize || faults.missingLastChunk || faults.bothLengths {
            end = .fin
            return chunkedBody(length)
        }
        if faults.isChunked { return chunkedBody(length) }
        if let wanted = faults.contentLength {
            end = end == .keep ? .fin : end
            switch wanted {
            case .none: return Framing(fields: [], body: body)
            case .off(let difference):
                let count = max(0, body.count + difference)
                return Framing(fields: [HeaderField("Content-Length", String(count))], body: body)
            case .fixed(let count):
                return Framing(fields: [HeaderField("Content-Length", String(count))], body: body)
            }
        }
        if let count = faults.truncateBody {
            end = .fin
            return Framing(fields: [length], body: Array(body.prefix(count)))
        }
        return Framing(fields: [length], body: body)
    }

    private func chunkedBody(_ length: HeaderField) -> Framing {
        var text: [UInt8] = []
        for half in [body.prefix(body.count / 2), body.suffix(body.count - body.count / 2)] where !half.isEmpty {
            text += Array((String(half.count, radix: 16) + "\r\n").utf8) + half + [13, 10]
        }
        if faults.badChunkSize {
            let first = text.firstIndex(of: 10).map { $0 + 1 } ?? 0
            let size = Array("xyz\r\n".utf8)
            text = size + text[first...]
        }
        if !faults.missingLastChunk { text += Array("0\r\n\r\n".utf8) }
        return Framing(fields: faults.bothLengths ? [length, Self.chunked] : [Self.chunked], body: text)
    }

    private mutating func addToHead() {
        if let line = faults.statusLine { startLine = line + [13, 10] }
        for index in 0..<(faults.extraHeaders ?? 0) {
            let value = chance.map { $0.draws.hex("wire header", $0.parts, index: index, count: 16) } ?? []
            fields.append(HeaderField(Array("X-Extra-\(index + 1)".utf8), value))
        }
        if let count = faults.headerBytes {
            fields.append(HeaderField(Array("X-Filler".utf8), [UInt8](repeating: 120, count: count)))
        }
    }

    private func random(_ count: Int) -> [UInt8] {
        guard let chance else { return [] }
        let parts = chance.parts
        var octets: [UInt8] = []
        var index = 0
        while octets.count < count {
            octets += chance.draws.octets("wire garbage", parts, index: index)
            index += 1
        }
        return Array(octets.prefix(count))
    }

    // MARK: pace

    private func paced(_ bytes: [UInt8]) -> [WireScript.Step] {
        faults.bandwidth.map { Self.pieces(bytes, rate: $0) } ?? [.bytes(bytes)]
    }

    /// Twenty pieces a second, or one octet at a time where that is more than the rate allows.
    private static func pieces(_ bytes: [UInt8], rate: Int) -> [WireScript.Step] {
        let size = max(1, rate / 20)
        let pause = Int64(size) * 1_000_000_000 / Int64(max(1, rate))
        var steps: [WireScript.Step] = []
        var index = 0
        while index < bytes.count {
            let next = min(bytes.count, index + size)
            steps.append(.bytes(Array(bytes[index..<next])))
            steps.append(.pace(pause))
            index = next
        }
        return steps
    }

    private static func dribbled(_ bytes: [UInt8], _ count: Int, _ time: Int64) -> [WireScript.Step] {
        let count = max(1, min(count, bytes.count))
        var steps: [WireScript.Step] = []
        for index in 0..<count {
            if index > 0 || count == 1 { steps.append(.pace(time / Int64(max(1, count - 1)))) }
            steps.append(.bytes(Array(bytes[(bytes.count * index / count)..<(bytes.count * (index + 1) / count)])))
        }
        return steps
    }

    /// Neighbouring bytes go out together.
    private static func joined(_ steps: [WireScript.Step]) -> [WireScript.Step] {
        var out: [WireScript.Step] = []
        for step in steps {
            if case .bytes(let bytes) = step, case .bytes(let before) = out.last {
                out[out.count - 1] = .bytes(before + bytes)
            } else {
                out.append(step)
            }
        }
        return out
    }
}
