import CPushSimSystem
package import PushSimWire
import Synchronization

/// One isolated world with its lock, and the loop on which its timers run.
package final class Scope: ScriptClock {
    /// How long an advance waits, in real time, for what is under way (DESIGN.md, decision 4).
    private static let patience: Int64 = 10_000_000_000

    /// Path-safe; empty for a scope with a listener of its own.
    package let route: String
    package let home: EventLoop
    package let places: PlaceTable
    package var backends: [any Backend] { places.backends }
    private let world: Mutex<World>
    private let alarm: Mutex<Alarm>

    private struct Alarm {
        /// When the loop's timer is due, on the monotonic clock: the scope's own may have moved since it was set.
        var due: Int64 = .max
        var timer: UInt64?
        var patience: UInt64?
    }

    package init(
        route: String, clock: SimulationClock, draws: Draws, options: OptionValues, places: PlaceTable,
        home: EventLoop
    ) {
        self.route = route
        self.home = home
        self.places = places
        world = Mutex(World(clock: clock, draws: draws, options: options, backends: places.backends))
        alarm = Mutex(Alarm())
    }

    /// Changes or reads the world under its lock; what that leaves to be done runs right after.
    @discardableResult
    package func run<Result: Sendable>(_ body: (inout World) -> Result) -> Result {
        var effects: [@Sendable (Scope) -> Void] = []
        let address = Unmanaged.passUnretained(self).toOpaque()
        let result = world.withLock { world -> Result in
            pushsim_lock_taken(address)
            defer { pushsim_lock_released(address) }
            let result = body(&world)
            if world.effects.count > 0 {
                effects = world.effects
                world.effects = []
            }
            return result
        }
        if effects.count > 0 {
            for effect in effects { effect(self) }
        }
        return result
    }

    /// The same where something may be thrown.
    @discardableResult
    package func run<Result: Sendable, Failure: Error>(
        _ body: (inout World) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let outcome = run { world -> Swift.Result<Result, Failure> in
            do throws(Failure) {
                return .success(try body(&world))
            } catch {
                return .failure(error)
            }
        }
        return try outcome.get()
    }

    package func reset() { run { $0.reset() } }

    // MARK: time

    package var now: Int64 { run { $0.clock.now } }

    /// Calls `action` when the clock is `nanoseconds` further. The action must lead to `settled`, once.
    package func wait(_ nanoseconds: Int64, _ due: @escaping @Sendable () -> Void) -> UInt64 {
        let id = run { world in
            // What is due after the clock's end is never due.
            let (deadline, isTooLate) = world.clock.now.addingReportingOverflow(nanoseconds)
            return world.timers.insert(isTooLate ? .max : deadline, due)
        }
        setAlarm()
        return id
    }

    /// The same, at a time: nanoseconds since 1970.
    package func wait(until time: Int64, _ due: @escaping @Sendable () -> Void) -> UInt64 {
        let id = run { $0.timers.insert(time, due) }
        setAlarm()
        return id
    }

    package func cancel(_ wait: UInt64) { run { _ = $0.timers.remove(wait) } }

    package func settled() {
        run { world in
            world.flights.count = max(0, world.flights.count - 1)
            world.tellLanded()
            if world.flights.count == 0, world.flights.isStepping { world.stepLater() }
        }
    }

    /// Moves the clock forward, running what is due on the way in order of time, then of when it was set.
    /// - Parameter done: called with the time then, when all that was due has happened.
    package func advance(_ nanoseconds: Int64, _ done: @escaping @Sendable (Int64) -> Void) {
        advance(to: run { world in (world.flights.advances.last?.target ?? world.clock.now) + nanoseconds }, done)
    }

    package func advance(to target: Int64, _ done: @escaping @Sendable (Int64) -> Void) {
        let mustBegin = run { world in
            world.flights.advances.append(.init(target: min(target, SimulationClock.end), done: done))
            if world.flights.isStepping { return false }
            world.flights.isStepping = true
            return true
        }
        if mustBegin { home.execute { self.step() } }
    }

    /// Goes on with the running advance, on the home loop.
    func queuedStep() {
        run { $0.flights.isStepQueued = false }
        step()
    }

    /// The next steps of the running advance: what is due next, or its end. On the home loop.
    private func step() {
        for _ in 0..<Self.stepsInTurn {
            let action: Step = run { world in
                guard world.flights.isStepping, let advance = world.flights.advances.first else { return .rest }
                if world.flights.count > 0 { return .waitForFlights }
                if let deadline = world.timers.earliest, deadline <= advance.target {
                    world.clock.jump(to: deadline)
                    guard let due = world.timers.popDue(deadline) else { return .rest }
                    world.flights.count += 1
                    return .perform(due)
                }
                world.clock.jump(to: advance.target)
                world.flights.advances.removeFirst()
                if world.flights.advances.isEmpty { world.flights.isStepping = false }
                let now = world.clock.now
                return .finish { advance.done(now) }
            }
            switch action {
            case .rest: return
            case .perform(let due):
                endPatience()
                due()
            case .waitForFlights: return setPatience()
            case .finish(let done):
                endPatience()
                done()
                setAlarm()
            }
        }
        // Others have their turn, however much is due.
        run { $0.stepLater() }
    }

    private static let stepsInTurn = 64

    private enum Step: Sendable {
        case rest
        case perform(@Sendable () -> Void)
        case waitForFlights
        case finish(@Sendable () -> Void)
    }

    /// What is under way may hang: then the advance goes on without it.
    private func setPatience() {
        home.execute { [self] in
            let deadline = pushsim_monotonic_clock() + Self.patience
            let timer = home.schedule(at: deadline) { [weak self] in
                self?.run { world in
                    world.flights.count = 0
                    world.tellLanded()
                }
                self?.step()
            }
            let old = alarm.withLock { alarm in
                defer { alarm.patience = timer }
                return alarm.patience
            }
            if let old { home.cancel(old) }
        }
    }

    /// What it waited for has come.
    private func endPatience() {
        let timer = alarm.withLock { alarm in
            defer { alarm.patience = nil }
            return alarm.patience
        }
        if let timer { home.cancel(timer) }
    }

    /// Sees to it that the loop wakes at the next deadline of a real clock.
    package func setAlarm() {
        let wait: Int64? = run { world in
            guard world.clock.mode == .real, let deadline = world.timers.earliest else { return nil }
            return max(0, deadline - world.clock.now)
        }
        guard let wait else { return }
        let (due, isTooLate) = pushsim_monotonic_clock().addingReportingOverflow(wait)
        guard !isTooLate, alarm.withLock({ $0.due > due }) else { return }
        home.execute { [self] in
            // Meanwhile another may have set an earlier one. Only the home loop sets it.
            guard alarm.withLock({ $0.due > due }) else { return }
            let timer = home.schedule(at: due) { [weak self] in self?.rang() }
            let old = alarm.withLock { alarm in
                defer { (alarm.due, alarm.timer) = (due, timer) }
                return alarm.timer
            }
            if let old { home.cancel(old) }
        }
    }

    private func rang() {
        alarm.withLock { ($0.due, $0.timer) = (.max, nil) }
        while true {
            let due: (@Sendable () -> Void)? = run { world in
                guard world.clock.mode == .real, !world.flights.isStepping else { return nil }
                guard let due = world.timers.popDue(world.clock.now) else { return nil }
                world.flights.count += 1
                return due
            }
            guard let due else { break }
            due()
        }
        setAlarm()
    }
}
