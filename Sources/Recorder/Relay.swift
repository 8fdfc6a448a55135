import CPushSimSystem
import PushSimCassettes
import PushSimWire

/// One request on its way to the upstream and its answer on the way back: the client sees what came, octet for octet but
/// for what HTTP/1.0 does not know, and the end that it came to.
///
/// `@unchecked Sendable`: set up before it is handed on; afterwards touched only on the thread of `Outbound`.
final class Relay: OutboundListener, @unchecked Sendable {
    private let exchange: Exchange
    private let log: RecordingLog
    private var entry: CassetteEntry
    private var reader = AnswerReader()
    /// What the answer's addresses begin with, and what the cassette has in its place.
    private let renaming: (from: [UInt8], to: [UInt8])?
    private var isOpen = false
    private var isOver = false

    init(
        _ exchange: Exchange, _ entry: CassetteEntry, _ log: RecordingLog,
        renaming: (from: [UInt8], to: [UInt8])? = nil
    ) {
        self.renaming = renaming
        self.exchange = exchange
        self.entry = entry
        self.log = log
    }

    func receivedHeadLine(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let block = reader.receiveHeadLine(bytes) else { return }
        if let shown = isOld ? AnswerReader.plainHead(block) : block { pass(shown) }
    }

    func receivedBody(_ bytes: UnsafeBufferPointer<UInt8>) {
        let before = reader.bodyCount
        reader.receiveBody(bytes)
        let isPlain = isOld && reader.isChunked
        if !isPlain || reader.bodyCount > before { pass(isPlain ? reader.body(from: before) : Array(bytes)) }
    }

    private func pass(_ bytes: [UInt8]) {
        if !isOpen {
            isOpen = true
            exchange.finish(WireScript(end: .relayed))
        }
        exchange.send(bytes)
    }

    func ended(_ end: OutboundEnd, _ message: String) {
        guard !isOver else { return }
        isOver = true
        finish(end.failure)
        let script: WireScript.End =
            switch end {
            case .good: keepsConnection ? .keep : .fin
            case .closed, .cut: .fin
            case .timeout: .stall
            case .dns, .refused, .tls, .reset, .malformed, .other: .rst
            }
        if isOpen { exchange.conclude(script) } else { exchange.finish(WireScript(end: script)) }
    }

    /// The client has gone before the end.
    func clientLeft() {
        guard !isOver else { return }
        isOver = true
        finish(.clientLeft)
    }

    /// Whether the client is one of HTTP/1.0: it is given no chunks, and no interim answers.
    private var isOld: Bool { entry.httpVersion == Array("HTTP/1.0".utf8) }

    private var keepsConnection: Bool {
        if isOld, reader.isChunked { return false }
        return entry.answer?.keepsConnection(isHead: entry.method == Array("HEAD".utf8)) ?? false
    }

    private func finish(_ failure: CassetteEntry.Failure.Kind?) {
        entry.timing = reader.timing(since: log.begun)
        entry.outcome = reader.outcome(failure)
        if let renaming, var answer = entry.answer {
            for index in answer.headers.indices where answer.headers[index].value.begins(with: renaming.from) {
                answer.headers[index].value.replaceSubrange(..<renaming.from.count, with: renaming.to)
            }
            entry.answer = answer
        }
        log.add(entry)
    }
}
