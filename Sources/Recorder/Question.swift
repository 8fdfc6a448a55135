import Dispatch
package import PushSimCassettes
import PushSimWire
import Synchronization

/// A recorded request asked once more.
///
/// `@unchecked Sendable`: all is written on the thread of `Outbound` only; the asker reads `outcome` after `done`.
private final class Question: OutboundListener, @unchecked Sendable {
    private var reader = AnswerReader()
    private(set) var outcome: CassetteEntry.Outcome?
    let done = DispatchSemaphore(value: 0)

    func receivedHeadLine(_ bytes: UnsafeBufferPointer<UInt8>) { _ = reader.receiveHeadLine(bytes) }

    func receivedBody(_ bytes: UnsafeBufferPointer<UInt8>) { reader.receiveBody(bytes) }

    func ended(_ end: OutboundEnd, _ message: String) {
        outcome = reader.outcome(end.failure)
        done.signal()
    }
}

extension Recorder {
    /// Sends a recorded request to the upstream. Blocks until the answer is whole.
    /// - Returns: the entry as it would be recorded now.
    package func ask(_ entry: CassetteEntry) -> CassetteEntry {
        let question = Question()
        let call = call(entry)
        submit { $0.begin(call, question) }
        question.done.wait()
        var answered = entry
        if let outcome = question.outcome { answered.outcome = outcome }
        return answered
    }
}
