import PushSimJSONText
import PushSimSimulation
import PushSimWire

/// Makes answers of what was recorded.
struct RecordedAnswers: Sendable {
    private struct Ready {
        let bytes: [UInt8]
        let status: Int
        let keepsConnection: Bool
        /// Whether a client of HTTP/1.0 would not understand it.
        let isNew: Bool
        /// Whether it answers HEAD, so that its body is left out.
        let isHead: Bool
    }

    private let isOwn: [Bool]
    /// Answers without placeholders, ready for the wire.
    private let ready: [Ready?]

    init(_ entries: [CassetteEntry], isOwn: [Bool]) {
        self.isOwn = isOwn
        guard isOwn.contains(true) else {
            ready = Array(repeating: nil, count: entries.count)
            return
        }
        ready = entries.indices.map { index in
            guard isOwn[index], case .answer(let answer) = entries[index].outcome,
                !ExactAnswer.mayHavePlaceholders(answer)
            else {
                return nil
            }
            // Large ones are made when they are asked for.
            guard answer.body.octets.count < 16 << 10 else { return nil }
            let isHead = entries[index].method == Array("HEAD".utf8)
            return Ready(
                bytes: ExactAnswer(answer, [:], isHead: isHead).bytes, status: answer.status,
                keepsConnection: answer.keepsConnection(isHead: isHead),
                isNew: answer.isChunked || !answer.interim.isEmpty,
                isHead: isHead)
        }
    }

    /// An answer that is sent as it is.
    func ready(_ number: Int, _ head: RequestHead) -> Answer? {
        guard let ready = ready[number], head.minorVersion > 0 || !ready.isNew,
            ready.isHead == head.equals(head.method, "HEAD")
        else { return nil }
        var answer = Answer(Response(status: ready.status))
        answer.script = WireScript(ready.bytes, end: ready.keepsConnection && head.keepAlive ? .keep : .fin)
        return answer
    }

    func answer(
        _ entry: CassetteEntry, _ number: Int, _ head: RequestHead, _ bound: [ByteKey: [UInt8]], speed: Double?,
        shift: Int64?
    ) -> Answer {
        switch entry.outcome {
        case .answer(let whole):
            let recorded = head.minorVersion > 0 ? whole : whole.plain
            var answer = Answer(Self.response(recorded, bound, shift, keepsConnection: isOwn[number]))
            guard isOwn[number] else { return answer }
            let isHead = head.equals(head.method, "HEAD")
            let end: WireScript.End = recorded.keepsConnection(isHead: isHead) && head.keepAlive ? .keep : .fin
            var exact = ExactAnswer(recorded, bound, isHead: isHead)
            exact.shift = shift
            let pace = speed.flatMap { speed in entry.timing.map { (timing: $0, speed: speed) } }
            answer.script = WireScript(exact.steps(pace?.timing, speed: pace?.speed ?? 1), end: end)
            answer.script?.outlivesInput = true
            return answer
        case .failure(let failure):
            var answer = Self.failed(failure, bound, isOwn: isOwn[number], head)
            if let speed, let timing = entry.timing {
                answer.script?.steps.insert(.wait(CassetteEntry.Timing.scaled(timing.wait, speed)), at: 0)
                answer.script?.outlivesInput = true
            }
            return answer
        }
    }

    /// A failure is played as the same failure on the wire.
    private static func failed(
        _ failure: CassetteEntry.Failure, _ bound: [ByteKey: [UInt8]], isOwn: Bool, _ head: RequestHead
    ) -> Answer {
        let end: WireScript.End =
            switch failure.kind {
            case .closed, .cut: .fin
            case .timeout, .clientLeft: .stall
            // A listener that serves others cannot refuse one: the nearest that a client can see is a reset.
            case .refused, .dns, .tls, .reset, .malformed, .other: .rst
            }
        guard let recorded = failure.answer else {
            var answer = Answer(Response(status: 502))
            answer.script = WireScript(end: end)
            return answer
        }
        var answer = Answer(response(recorded, bound, nil, keepsConnection: isOwn))
        if isOwn {
            let isHead = head.equals(head.method, "HEAD")
            answer.script = WireScript(ExactAnswer(recorded, bound, isHead: isHead, isPartial: true).bytes, end: end)
            return answer
        }
        let length = max(failure.declared ?? 0, answer.response.body.count + 1)
        var bytes = answer.response.startLine
        for field in answer.response.fields {
            bytes += field.name + [Byte.colon, Byte.space] + field.value + [13, 10]
        }
        bytes += Array("Content-Length: \(length)\r\n\r\n".utf8) + answer.response.body
        answer.script = WireScript(bytes, end: end)
        return answer
    }

    /// The answer with framing and connection left to the server.
    private static func response(
        _ recorded: CassetteEntry.Answer, _ bound: [ByteKey: [UInt8]], _ shift: Int64?, keepsConnection: Bool
    ) -> Response {
        var response = Response(
            status: recorded.status, reason: recorded.statusText,
            fields: recorded.headers.filter { !isTransport($0.name) && !HARReader.isFraming($0.name) }.map {
                HeaderField($0.name, ExactAnswer.filled($0, bound))
            }, body: ExactAnswer.filledBody(recorded, bound))
        if let shift { DateShift.apply(shift, to: &response.fields) }
        return response
    }

    private static func isTransport(_ name: [UInt8]) -> Bool {
        transport.contains { name.equalsIgnoringCase($0) }
    }

    private static let transport = ["connection", "keep-alive", "proxy-connection", "upgrade", "trailer"].map {
        Array($0.utf8)
    }
}

/// An answer of our own recording, octet for octet, but for what stood for secrets.
struct ExactAnswer {
    private let recorded: CassetteEntry.Answer
    private let bound: [ByteKey: [UInt8]]
    private let sendsBody: Bool
    /// Whether the connection broke before the end.
    private let isPartial: Bool
    /// Under its coding; empty where none is sent.
    private let body: [UInt8]
    var shift: Int64?

    init(
        _ recorded: CassetteEntry.Answer, _ bound: [ByteKey: [UInt8]], isHead: Bool, isPartial: Bool = false
    ) {
        self.recorded = recorded
        self.bound = bound
        self.isPartial = isPartial
        sendsBody = !isHead && recorded.status != 204 && recorded.status != 304
        body = sendsBody ? Self.body(recorded, bound) : []
    }

    static func mayHavePlaceholders(_ answer: CassetteEntry.Answer) -> Bool {
        Template.mayHavePlaceholders(answer.body.octets)
            || Template.mayHavePlaceholders(answer.statusText ?? [])
            || (answer.headers + answer.trailers + answer.interim.flatMap(\.headers)).contains {
                Template.mayHavePlaceholders($0.value)
            }
    }

    static func filled(_ field: HeaderField, _ bound: [ByteKey: [UInt8]]) -> [UInt8] {
        var value = field.value
        if Template.mayHavePlaceholders(value) {
            let isAddress = addresses.contains { field.isNamed($0) }
            value = Template(value, in: isAddress ? .address : .plain).filled(bound)
        }
        // What somebody bound is not to end the field.
        return HeaderField.isValue(value) ? value : value.map { $0 < 32 && $0 != 9 || $0 == 127 ? 32 : $0 }
    }

    private static let addresses = ["location", "content-location", "referer", "link"].map { Array($0.utf8) }

    static func filledBody(_ answer: CassetteEntry.Answer, _ bound: [ByteKey: [UInt8]]) -> [UInt8] {
        let body = answer.body.octets
        guard Template.mayHavePlaceholders(body) else { return body }
        if (try? JSONDocument(body)) != nil { return Template(body, in: .json).filled(bound) }
        let isForm = answer.mediaType.hasPrefix("application/x-www-form-urlencoded")
        return Template(body, in: isForm ? .form : .plain).filled(bound)
    }

    var bytes: [UInt8] { head + (sendsBody ? framed(parts(asRecorded: false)) : []) }

    /// The head after the time that the answer took, and the body's parts over the time that those took.
    func steps(_ timing: CassetteEntry.Timing?, speed: Double) -> [WireScript.Step] {
        guard let timing else { return [.bytes(bytes)] }
        func scaled(_ time: Int64) -> Int64 { CassetteEntry.Timing.scaled(time, speed) }
        var steps: [WireScript.Step] = [.wait(scaled(timing.wait)), .bytes(head)]
        guard sendsBody else { return steps }
        let pieces = parts(asRecorded: true)
        // Without the times of chunks they come evenly.
        let known = timing.chunks.count == pieces.count ? timing.chunks : nil
        var before: Int64 = 0
        for (index, piece) in pieces.enumerated() {
            let at = known?[index] ?? timing.receive / Int64(pieces.count) * Int64(index + 1)
            if at > before { steps.append(.wait(scaled(at - before))) }
            before = max(before, at)
            let isLast = index == pieces.count - 1
            steps.append(.bytes(isChunked && !isLast ? chunk(piece) : framed([piece])))
        }
        if pieces.isEmpty { steps.append(.bytes(framed([]))) }
        return steps
    }

    private var isChunked: Bool { recorded.isChunked }

    private var head: [UInt8] {
        var out: [UInt8] = []
        for interim in recorded.interim {
            out += Array("HTTP/1.1 \(interim.status) ".utf8) + interim.statusText + [13, 10]
            for field in interim.headers { Self.write(field.name, Self.filled(field, bound), &out) }
            out += [13, 10]
        }
        out += recorded.httpVersion + Array(" \(recorded.status) ".utf8)
        let reason = recorded.statusText.map { Template($0).filled(bound) }
        out += (reason ?? Array(StatusText.reason(recorded.status).utf8)) + [13, 10]
        var fields = recorded.headers.map { field -> HeaderField in
            if field.isNamed(Array("content-length".utf8)) { return HeaderField(field.name, length(field.value)) }
            return HeaderField(field.name, Self.filled(field, bound))
        }
        if let shift { DateShift.apply(shift, to: &fields) }
        for field in fields { Self.write(field.name, field.value, &out) }
        return out + [13, 10]
    }

    private static func write(_ name: [UInt8], _ value: [UInt8], _ out: inout [UInt8]) {
        out += name
        out += [Byte.colon, Byte.space]
        out += value
        out += [13, 10]
    }

    /// The length of what is sent; of what is not sent, or not sent whole, what was said.
    private func length(_ said: [UInt8]) -> [UInt8] {
        guard sendsBody else { return said }
        let count = body.count
        if isPartial { return Array(String(max(count + 1, decimalDigits(said) ?? 0)).utf8) }
        return Array(String(count).utf8)
    }

    private static func body(_ recorded: CassetteEntry.Answer, _ bound: [ByteKey: [UInt8]]) -> [UInt8] {
        if let encoded = recorded.encodedBody { return encoded }
        let plain = filledBody(recorded, bound)
        if plain.isEmpty { return [] }
        let coding = recorded.headers.first("content-encoding").flatMap { ContentCoding($0) }
        return coding.map { $0.encodeStored(plain) } ?? plain
    }

    private func parts(asRecorded: Bool) -> [[UInt8]] {
        if body.isEmpty { return [] }
        guard isPartial || asRecorded, let sizes = recorded.chunks, sizes.reduce(0, +) >= body.count else {
            return [body]
        }
        var parts: [[UInt8]] = []
        var start = 0
        for size in sizes where start < body.count {
            parts.append(Array(body[start..<min(body.count, start + size)]))
            start += size
        }
        return parts
    }

    private func framed(_ parts: [[UInt8]]) -> [UInt8] {
        guard isChunked else { return parts.flatMap { $0 } }
        var out: [UInt8] = []
        if isPartial {
            // The last chunk is said to be as long as it was.
            let sizes = recorded.chunks ?? []
            for (index, part) in parts.enumerated() {
                let said = index < sizes.count ? max(sizes[index], part.count) : part.count + 1
                out += Array("\(String(said, radix: 16))\r\n".utf8) + part
                if said == part.count { out += [13, 10] }
            }
            return out
        }
        for part in parts { out += chunk(part) }
        out += Array("0\r\n".utf8)
        for field in recorded.trailers { Self.write(field.name, Self.filled(field, bound), &out) }
        return out + [13, 10]
    }

    private func chunk(_ part: [UInt8]) -> [UInt8] {
        Array("\(String(part.count, radix: 16))\r\n".utf8) + part + [13, 10]
    }
}
