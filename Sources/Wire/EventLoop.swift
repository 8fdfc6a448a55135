import CPushSimSystem
import Synchronization

/// Something with a descriptor that a loop watches. Used on that loop only.
protocol EventSource: AnyObject {
    func ready(_ readiness: Poller.Readiness)
}

/// A thread that waits for sockets and timers and runs what is due.
///
/// `@unchecked Sendable`: the variables are touched only on the loop's own thread, which `assertOnLoop` checks in debug
/// builds; everything else is constant or behind a `Mutex`.
package final class EventLoop: @unchecked Sendable {
    package typealias Job = @Sendable () -> Void

    private struct Inbox {
        var jobs: [Job] = []
        var isAwake = false
        var isStopping = false
    }

    private struct Slot {
        var source: (any EventSource)?
        var generation: UInt32 = 0
    }

    private let inbox = Mutex(Inbox())
    private let thread = Atomic<UInt>(0)
    private let wakeRead: Int32
    private let wakeWrite: Int32
    private var poller: Poller
    private var slots: [Slot] = []
    private var free: [Int] = []
    private var timers = TimerHeap<Job>()
    private var found: [(token: UInt64, ready: Poller.Readiness)] = []
    private var deferred: [Job] = []
    /// One read buffer for all connections of the loop: most requests are read whole and need no buffer of their own.
    let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
    package let pollerKind: PollerKind

    /// The loop of this process, started at its first use. Nil where the system gives no descriptors or threads.
    package static let shared: EventLoop? = try? EventLoop.start()

    package init(_ kind: PollerKind = .preferred) throws(SystemError) {
        pollerKind = kind
        poller = try Poller(kind)
        var ends: (Int32, Int32) = (-1, -1)
        let result = pushsim_pipe(&ends.0, &ends.1)
        if result < 0 { throw SystemError("pipe", result) }
        (wakeRead, wakeWrite) = ends
        try poller.add(wakeRead, .readable, token: .max)
    }

    /// A loop that never runs: what is submitted stays undone.
    package static let inert = EventLoop()

    private init() {
        pollerKind = .poll
        poller = Poller()
        (wakeRead, wakeWrite) = (-1, -1)
    }

    deinit {
        poller.close()
        _ = pushsim_close(wakeRead)
        _ = pushsim_close(wakeWrite)
        scratch.deallocate()
    }

    /// A loop on a thread of its own.
    package static func start(_ kind: PollerKind = .preferred) throws(SystemError) -> EventLoop {
        let loop = try EventLoop(kind)
        let context = Unmanaged.passRetained(loop).toOpaque()
        let result = pushsim_thread_start(
            "pushsim",
            { context in
                guard let context else { return }
                Unmanaged<EventLoop>.fromOpaque(context).takeRetainedValue().run()
            }, context)
        if result < 0 {
            Unmanaged<EventLoop>.fromOpaque(context).release()
            throw SystemError("pthread_create", result)
        }
        return loop
    }

    package var isCurrent: Bool { thread.load(ordering: .relaxed) == pushsim_thread_current() }

    func assertOnLoop() { assert(isCurrent) }

    /// Runs `job` on the loop, soon. Jobs of one caller run in order.
    package func submit(_ job: @escaping Job) {
        let mustWake = inbox.withLock(of: self) { inbox in
            inbox.jobs.append(job)
            if inbox.isAwake { return false }
            inbox.isAwake = true
            return true
        }
        if mustWake {
            var byte: UInt8 = 1
            _ = pushsim_write(wakeWrite, &byte, 1)
        }
    }

    /// Runs `job` now where the caller is on the loop, else soon.
    package func execute(_ job: @escaping Job) {
        if isCurrent { job() } else { submit(job) }
    }

    /// Runs `job` after the events that are ready now. On the loop only.
    package func afterEvents(_ job: @escaping Job) {
        assertOnLoop()
        deferred.append(job)
    }

    /// Runs `job` at a moment of the monotonic clock. On the loop only.
    @discardableResult
    package func schedule(at deadline: Int64, _ job: @escaping Job) -> UInt64 {
        assertOnLoop()
        return timers.insert(deadline, job)
    }

    package func cancel(_ timer: UInt64) {
        assertOnLoop()
        timers.remove(timer)
    }

    package func stop() {
        inbox.withLock(of: self) { $0.isStopping = true }
        submit {}
    }

    /// Runs the loop on the calling thread until `stop`.
    package func run() {
        thread.store(pushsim_thread_current(), ordering: .relaxed)
        var isRunning = true
        while isRunning {
            poller.wait(milliseconds: patience(), into: &found)
            var index = 0
            while index < found.count {
                let event = found[index]
                dispatch(event.token, event.ready)
                index += 1
            }
            runTimers()
            isRunning = runJobs()
        }
        thread.store(0, ordering: .relaxed)
    }

    private func patience() -> Int32 {
        if !deferred.isEmpty { return 0 }
        guard let next = timers.earliest else { return -1 }
        let wait = next - pushsim_monotonic_clock()
        return wait <= 0 ? 0 : Int32(min((wait + 999_999) / 1_000_000, 60_000))
    }

    private func dispatch(_ token: UInt64, _ ready: Poller.Readiness) {
        if token == .max {
            var buffer: (UInt64, UInt64) = (0, 0)
            _ = pushsim_read(wakeRead, &buffer, 16)
            return
        }
        let number = Int(token & 0xFFFF_FFFF)
        guard number < slots.count else { return }
        let slot = slots[number]
        if slot.generation == UInt32(token >> 32) { slot.source?.ready(ready) }
    }

    private func runTimers() {
        guard let earliest = timers.earliest else { return }
        let now = pushsim_monotonic_clock()
        if earliest > now { return }
        while let job = timers.popDue(now) { job() }
    }

    private func runJobs() -> Bool {
        while !deferred.isEmpty {
            let jobs = deferred
            deferred.removeAll(keepingCapacity: true)
            for job in jobs { job() }
        }
        let (jobs, isStopping) = inbox.withLock(of: self) { inbox in
            defer {
                inbox.jobs = []
                inbox.isAwake = false
            }
            return (inbox.jobs, inbox.isStopping)
        }
        for job in jobs { job() }
        return !isStopping
    }

    /// Watches a descriptor. The token names the descriptor and this use of its slot, so that an event left over from
    /// an earlier use is told apart.
    func watch(
        _ descriptor: Int32, _ wanted: Poller.Readiness, _ source: any EventSource
    ) throws(SystemError) -> UInt64 {
        assertOnLoop()
        let slot: Int
        if let last = free.popLast() {
            slot = last
        } else {
            slot = slots.count
            slots.append(Slot())
        }
        let token = UInt64(slots[slot].generation) << 32 | UInt64(slot)
        do {
            try poller.add(descriptor, wanted, token: token)
        } catch {
            free.append(slot)
            throw error
        }
        slots[slot].source = source
        return token
    }

    func change(_ descriptor: Int32, _ wanted: Poller.Readiness, token: UInt64) {
        poller.change(descriptor, wanted, token: token)
    }

    func unwatch(_ descriptor: Int32, token: UInt64) {
        assertOnLoop()
        poller.remove(descriptor)
        let slot = Int(token & 0xFFFF_FFFF)
        slots[slot].source = nil
        slots[slot].generation &+= 1
        free.append(slot)
    }
}
