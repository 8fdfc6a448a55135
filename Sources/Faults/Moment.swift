import PushSimSimulation

/// All that a condition is judged by.
struct Moment {
    let rule: String
    let key: [UInt8]
    let call: Int
    let callsInWindow: Int
    let elapsed: Int64
    let states: [String: String]
    let draws: Draws

    func holds(_ when: Condition) -> (holds: Bool, draw: Double?) {
        if let calls = when.calls, !calls.contains(call) { return (false, nil) }
        if let after = when.after, elapsed < after { return (false, nil) }
        if let until = when.until, elapsed >= until { return (false, nil) }
        if let quota = when.quota, callsInWindow <= quota.limit { return (false, nil) }
        for state in when.states where states[state.name] != state.value { return (false, nil) }
        var draw: Double?
        for part in when.all {
            let outcome = holds(part)
            draw = draw ?? outcome.draw
            if !outcome.holds { return (false, draw) }
        }
        for part in when.not {
            let outcome = holds(part)
            draw = draw ?? outcome.draw
            if outcome.holds { return (false, draw) }
        }
        if !when.any.isEmpty {
            let outcomes = when.any.map { holds($0) }
            draw = draw ?? outcomes.lazy.compactMap(\.draw).first
            if !outcomes.contains(where: \.holds) { return (false, draw) }
        }
        guard let probability = when.probability else { return (true, draw) }
        let own = draws.unit("fault", [Array(rule.utf8), key], index: call)
        return (own < probability, own)
    }
}
