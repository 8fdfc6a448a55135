import CPushSimSystem

extension Delay {
    /// The wait for one call, in nanoseconds, rounded to whole microseconds: what differs between mathematical libraries
    /// is less than that.
    package func draw(_ chance: Chance) -> Int64 {
        if case .fixed(let wait) = length { return wait }
        let (draws, key) = (chance.draws, chance.parts)
        switch length {
        case .fixed(let wait): return wait
        case .uniform(let least, let most):
            return Self.rounded(Double(least) + draws.unit("delay", key) * Double(most - least))
        case .normal(let mean, let deviation):
            return Self.rounded(Double(mean) + Self.normal(draws, key) * Double(deviation))
        case .lognormal(let median, let sigma, let most):
            return min(most, Self.rounded(Double(median) * pushsim_exp(sigma * Self.normal(draws, key))))
        }
    }

    /// Box and Muller.
    private static func normal(_ draws: Draws, _ key: [[UInt8]]) -> Double {
        let first = 1 - draws.unit("delay", key)
        let second = draws.unit("delay", key, index: 1)
        return (-2 * pushsim_log(first)).squareRoot() * pushsim_cos(2 * Double.pi * second)
    }

    private static func rounded(_ nanoseconds: Double) -> Int64 {
        guard nanoseconds > 0 else { return 0 }
        return Int64((min(nanoseconds, Double(TimeText.longest)) / 1000).rounded()) * 1000
    }
}
