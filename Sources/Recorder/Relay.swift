import CPushSimSystem
import PushSimCassettes
import PushSimWire

/// One request on its way to the upstream and its answer on the way back: the client sees what came, octet for octet, and
/// the end that it came to.
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
        if let block = reader.receiveHeadLine(bytes) { pass(block) }
    }

    func receivedBody(_ bytes: UnsafeBufferPointer<UInt8>) {
        reader.receiveBody(bytes)
        pass(Array(bytes))
    }

    private func pass(_ bytes: [UInt8]) {
        if !isOpen {
            isOpen = true
            exchange.finish(WireScript(end: .open))
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

    private var keepsConnection: Bool {
        entry.answer?.keepsConnection(isHead: entry.method == Array("HEAD".utf8)) ?? false
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
