import CPushSimSystem
import PushSimCassettes
import Synchronization

/// What has been seen so far.
final class RecordingLog: Sendable {
    /// The most that a coded body may become.
    static let decodedLimit = 256 << 20

    let begun = pushsim_monotonic_clock()
    let begunAt = pushsim_wall_clock()
    private let entries = Mutex<[CassetteEntry]>([])
    private let begunCount = Mutex(0)

    /// A request has come.
    func begin() { begunCount.withLock { $0 += 1 } }

    func add(_ entry: CassetteEntry) { entries.withLock { $0.append(entry.escaped) } }

    var all: [CassetteEntry] { entries.withLock { $0 } }

    /// How many requests have not come to an end.
    var underway: Int { begunCount.withLock { $0 } - entries.withLock { $0.count } }
}
