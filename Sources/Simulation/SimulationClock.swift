import CPushSimSystem
import PushSimWire

/// The time of one scope, in nanoseconds since 1970.
package struct SimulationClock: Sendable {
    package enum Mode: String, Sendable {
        case real, frozen
    }

    /// Where `frozen` starts unless told otherwise: 2026-01-01T00:00:00Z.
    package static let frozenStart: Int64 = 1_767_225_600_000_000_000

    /// Where every clock stops: 2201-01-01T00:00:00Z.
    package static let end: Int64 = 7_289_654_400_000_000_000

    package private(set) var mode: Mode
    /// Frozen: the time. Real: what is added to the wall's.
    private var base: Int64
    private var cachedSecond: Int64 = .min
    private var cachedDate: [UInt8] = []

    package static var real: SimulationClock { SimulationClock(mode: .real, base: 0) }

    package static func frozen(at instant: Int64 = frozenStart) -> SimulationClock {
        SimulationClock(mode: .frozen, base: instant)
    }

    private init(mode: Mode, base: Int64) {
        self.mode = mode
        self.base = base
    }

    package var now: Int64 { mode == .frozen ? base : pushsim_wall_clock() + base }

    /// Moves forward; a clock never goes back.
    mutating func jump(to instant: Int64) {
        let current = now
        guard instant > current else { return }
        base += instant - current
    }

    package mutating func freeze() { self = .frozen(at: now) }

    package mutating func resume() {
        guard mode == .frozen else { return }
        base -= pushsim_wall_clock()
        mode = .real
    }

    /// The `Date` header's value, made once a second.
    package mutating func httpDate() -> [UInt8] {
        let second = now.floorDivided(by: 1_000_000_000)
        if second != cachedSecond {
            cachedSecond = second
            cachedDate = HTTPDate.bytes(second)
        }
        return cachedDate
    }
}
