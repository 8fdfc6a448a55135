import PushSimJSONText
package import PushSimSimulation
package import PushSimWire

/// How a cassette is played.
package struct PlayerSettings: Sendable {
    package enum Order: String, Sendable, CaseIterable {
        /// Identical requests take their recordings in order.
        case identity
        /// All requests come in the order of the recording.
        case strict
    }

    package var order = Order.identity
    package var repeatsLast = false
    /// How many times faster than recorded answers come, on the simulation clock; nil sends them at once.
    package var speed: Double?
    /// Whether dates are moved by the age of the recording.
    package var shiftsDates = false
    /// What placeholders stand for that no request binds.
    package var secrets: [ByteKey: [UInt8]] = [:]

    package init() {}
}

/// Plays cassettes in one scope: what was recorded, or at once why not. Used under the scope's lock.
package final class CassettePlayer: Player {
    private let tape: CassetteTape
    private let settings: PlayerSettings
    /// Of each group of recordings that mean the same, how many are used.
    private var turns: [ByteKey: Int] = [:]
    private var used: Set<Int> = []
    private var bound: [ByteKey: [UInt8]]
    private var next = 0

    package init(_ tape: CassetteTape, _ settings: PlayerSettings) {
        self.tape = tape
        self.settings = settings
        bound = settings.secrets
    }

    package func reset() {
        used = []
        turns = [:]
        bound = settings.secrets
        next = 0
    }

    /// Recordings that nobody has asked for.
    package var leftovers: [String] {
        tape.entries.indices.filter { !used.contains($0) }.map { "entry \($0 + 1): \(tape.entries[$0].line)" }
    }

    package func answer(_ call: Call, now: Int64) -> Answer {
        let request = RequestMeaning(
            method: Array(call.method), path: Array(call.path), query: call.query.map { Array($0) },
            headers: call.head.headerFields, body: call.body)
        switch find(request) {
        case .found(let number): return play(number, call, now)
        case .exhausted(let number, let count):
            return unmatched(
                request, "entry \(number + 1) matched, used \(count) of \(count)",
                "Record the request once more, or replay with --repeat-last.")
        case .none:
            return unmatched(request, "no recording matches", "Record the request, or mend the one that is nearest.")
        }
    }

    // MARK: finding

    private enum Found {
        case found(Int)
        case exhausted(Int, count: Int)
        case none
    }

    private func find(_ request: RequestMeaning) -> Found {
        if settings.order == .strict { return findNext(request) }
        let key = request.canonical
        let closed = tape.closed[key] ?? []
        let done = turns[key] ?? 0
        let candidate = done < closed.count ? closed[done] : nil
        var last = closed.last
        var count = closed.count
        for number in tape.open(request) {
            if let candidate, candidate < number { break }
            var trial = bound
            guard tape.meanings[number].differences(request, &trial).isEmpty else { continue }
            count += 1
            last = max(last ?? 0, number)
            if used.contains(number) { continue }
            bound = trial
            used.insert(number)
            return .found(number)
        }
        if let candidate {
            turns[key] = done + 1
            used.insert(candidate)
            return .found(candidate)
        }
        guard let last else { return .none }
        return settings.repeatsLast ? .found(last) : .exhausted(last, count: count)
    }

    private func findNext(_ request: RequestMeaning) -> Found {
        guard next < tape.entries.count else { return .none }
        var trial = bound
        guard tape.meanings[next].differences(request, &trial).isEmpty else { return .none }
        bound = trial
        next += 1
        used.insert(next - 1)
        return .found(next - 1)
    }

    // MARK: answers

    private func play(_ number: Int, _ call: Call, _ now: Int64) -> Answer {
        let entry = tape.entries[number]
        if let answer = entry.answer, case .notCaptured = answer.body {
            return Self.trouble(
                "the body of entry \(number + 1) was not captured", nearest: [],
                fix: "Record the exchange again with a tool that keeps bodies.")
        }
        let shift = settings.shiftsDates ? tape.recordedAt[number].map { now - $0 } : nil
        return tape.answers.answer(entry, number, call.head, bound, speed: settings.speed, shift: shift)
    }

    private func unmatched(_ request: RequestMeaning, _ why: String, _ fix: String) -> Answer {
        var rows: [(score: Int, number: Int, differences: [String])] = []
        for (number, meaning) in tape.meanings.enumerated() {
            // In a large cassette only what has the same path is worth a closer look.
            if tape.meanings.count > 2000, !meaning.path.isSame(as: request.path) { continue }
            var trial = bound
            let differences = meaning.differences(request, &trial)
            // A path that is another is further off than a body that is.
            let score = differences.reduce(0) { $0 + ($1.hasPrefix("path") ? 4 : $1.hasPrefix("method") ? 2 : 1) }
            rows.append((score, number, differences))
        }
        let nearest = rows.sorted { ($0.score, $0.number) < ($1.score, $1.number) }.prefix(3).map { row -> JSON in
            let isUsed = used.contains(row.number)
            let state = row.differences.isEmpty && isUsed ? ["matched, and is used up"] : row.differences
            let said = state.isEmpty ? ["matches, but it is not its turn"] : state
            return [
                "entry": .int(row.number + 1), "request": .string(tape.entries[row.number].line),
                "differences": .array(said.map { .string($0) }),
            ]
        }
        return Self.trouble(
            "\(request.method.text) \(request.path.text): \(why)", nearest: nearest, fix: fix)
    }

    /// 501 at once: a replay never goes out.
    private static func trouble(_ message: String, nearest: [JSON], fix: String) -> Answer {
        let body: JSON = [
            "error": ["code": "unmatched", "message": .string(message), "fix": .string(fix)],
            "nearest": .array(nearest),
        ]
        var answer = Answer(
            Response(
                status: 501,
                fields: [
                    HeaderField("X-PushSim-Unmatched", "true"), HeaderField("Content-Type", "application/json"),
                ], body: body.bytes))
        answer.unmatched = message
        return answer
    }
}
