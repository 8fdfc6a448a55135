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
    private var turns: [Int]
    private var used: [Bool]
    /// By the octets of a request: what it may be answered with, for those that come again as they came.
    private var seen: [ByteKey: Seen] = [:]
    private static let seenLimit = 4096
    /// Rises whenever a placeholder is bound.
    private var bindings = 0

    /// The entry that the last call was answered with.
    private var current: Int?
    /// Which deliveries have been pushed again.
    private var pushed: Set<Int> = []
    private var keys = RegisteredKeys()

    private struct Seen {
        let group: Int?
        /// Entries that were compared one by one and match, with nothing left to bind.
        let open: [Int]
        let bindings: Int
    }
    /// By cassette: the same name in two of them are two secrets.
    private var bound: [[ByteKey: [UInt8]]]
    private var next = 0

    package init(_ tape: CassetteTape, _ settings: PlayerSettings) {
        self.tape = tape
        self.settings = settings
        bound = Array(repeating: [:], count: tape.cassetteCount)
        turns = Array(repeating: 0, count: tape.groups.count)
        used = Array(repeating: false, count: tape.entries.count)
    }

    package func reset() {
        used = Array(repeating: false, count: tape.entries.count)
        turns = Array(repeating: 0, count: tape.groups.count)
        bound = Array(repeating: [:], count: tape.cassetteCount)
        seen = [:]
        pushed = []
        keys = RegisteredKeys()
        next = 0
    }

    /// Recordings that nobody has asked for.
    package var leftovers: [String] {
        tape.entries.indices.filter { !used[$0] }.map { "entry \($0 + 1): \(tape.entries[$0].line)" }
            + tape.deliveries.indices.filter { !pushed.contains($0) }.map {
                "push \($0 + 1): \(tape.deliveries[$0].line): no registration has named its endpoint"
            }
    }

    package func answer(_ call: Call, now: Int64, isExact: Bool) -> Answer {
        current = nil
        let octets = settings.order == .identity ? octets(call) : nil
        if let octets, let known = seen[octets], known.bindings == bindings, let number = next(known) {
            return play(number, call, now, isExact)
        }
        let request = Self.meaning(call)
        defer { if let octets { note(octets, request) } }
        switch find(request) {
        case .found(let number): return play(number, call, now, isExact)
        case .exhausted(let number, let count):
            return unmatched(
                request, "entry \(number + 1) matched, used \(count) of \(count)",
                "Record the request once more, or replay with --repeat-last.")
        case .none:
            if settings.order == .strict, next < tape.entries.count {
                return unmatched(
                    request, "it is the turn of entry \(next + 1), \(tape.entries[next].line)",
                    "Ask in the order of the recording, or replay with --order identity.")
            }
            return unmatched(request, "no recording matches", nil)
        }
    }

    /// A delivery is pushed again once all that its endpoint stands for is known: when its device has registered.
    package func pushes(after call: Call) -> [RecordedPush] {
        guard let current, pushed.count < tape.deliveries.count else { return [] }
        keys.note(call.body)
        var found: [RecordedPush] = []
        for (number, delivery) in tape.deliveries.enumerated() where !pushed.contains(number) {
            let path = Template(delivery.url.target)
            let values = values(tape.deliverySource[number])
            guard path.names.allSatisfy({ values[ByteKey($0)] != nil }) else { continue }
            pushed.insert(number)
            // Recorded under another authority, it is the endpoint of that path.
            let target = path.filled(values)
            let token = keys.endpoint(target) ?? delivery.url.origin + target
            // Times of two cassettes have nothing to do with each other.
            let isSame = tape.deliverySource[number] == tape.source[current]
            let (after, isNone) = (delivery.timing?.start ?? 0).subtractingReportingOverflow(
                tape.entries[current].timing?.start ?? 0)
            found.append(
                RecordedPush(
                    token: token,
                    headers: delivery.headers.filter { !Self.isOfConnection($0.name) }.map {
                        HeaderField($0.name, Template($0.value).filled(values))
                    }, body: delivery.body.octets,
                    plaintext: delivery.plaintext.map { Template($0, in: .json).filled(values) }, keys: keys[token],
                    delay: settings.speed.map { isSame && !isNone ? CassetteEntry.Timing.scaled(after, $0) : 0 } ?? 0))
        }
        return found
    }

    private static func isOfConnection(_ name: [UInt8]) -> Bool {
        ["host", "connection", "content-length", "transfer-encoding"].contains {
            name.equalsIgnoringCase(Array($0.utf8))
        }
    }

    // MARK: finding

    private enum Found {
        case found(Int)
        case exhausted(Int, count: Int)
        case none
    }

    private static func meaning(_ call: Call) -> RequestMeaning {
        RequestMeaning(
            method: Array(call.method), path: Array(call.path), query: call.query.map { Array($0) },
            headers: call.head.headerFields, body: call.body)
    }

    /// What of a request its meaning depends on, as it came.
    private func octets(_ call: Call) -> ByteKey {
        let head = call.head
        var octets: [UInt8] = []
        octets.reserveCapacity(head.method.count + call.target.count + call.body.count + 64)
        octets += head.slice(head.method)
        octets.append(Byte.space)
        octets += call.target
        for field in [head.value(.contentType), head.value(.contentEncoding)] {
            octets.append(Byte.lineFeed)
            if let field { octets += field }
        }
        for name in tape.identity {
            octets.append(Byte.lineFeed)
            if let field = head.values(name.text).first { octets += field }
        }
        octets.append(Byte.lineFeed)
        octets += call.body
        return ByteKey(octets)
    }

    /// The next recording of a request that was seen before.
    private func next(_ known: Seen) -> Int? {
        let numbers = known.group.map { tape.groups[$0] } ?? []
        let done = known.group.map { turns[$0] } ?? 0
        let closed = done < numbers.count ? numbers[done] : nil
        let open = known.open.first { !used[$0] }
        if let closed, let group = known.group, open.map({ closed < $0 }) ?? true {
            turns[group] = done + 1
            used[closed] = true
            return closed
        }
        if let open {
            used[open] = true
            return open
        }
        return settings.repeatsLast ? max(numbers.last ?? -1, known.open.last ?? -1) : nil
    }

    /// Notes what a request may be answered with, where that binds nothing more. Headers that count are not in the key.
    private func note(_ octets: ByteKey, _ request: RequestMeaning) {
        guard octets.bytes.count < 64 << 10, !tape.comparesHeaders else { return }
        var open: [Int] = []
        for number in tape.open(request) {
            var trial = bound[tape.source[number]]
            guard tape.meanings[number].differences(request, &trial).isEmpty else { continue }
            if trial.count != bound[tape.source[number]].count { return }
            open.append(number)
            // More than a few are sought out anew each time.
            if open.count > 64 { return }
        }
        var group = tape.group(request)
        if let own = group, tape.groups[own].contains(where: { !tape.meanings[$0].identity.isEmpty }) {
            guard open.isEmpty, tape.groups[own].count <= 64 else { return }
            group = nil
            for number in tape.groups[own] {
                var trial = bound[tape.source[number]]
                guard tape.meanings[number].identityDifference(request, &trial) == nil else { continue }
                if trial.count != bound[tape.source[number]].count { return }
                open.append(number)
            }
        }
        if group == nil, open.isEmpty { return }
        if seen.count >= Self.seenLimit { seen.removeAll(keepingCapacity: true) }
        seen[octets] = Seen(group: group, open: open, bindings: bindings)
    }

    private func bind(_ trial: [ByteKey: [UInt8]], _ number: Int) {
        if trial.count != bound[tape.source[number]].count { bindings += 1 }
        bound[tape.source[number]] = trial
    }

    /// What placeholders of a cassette stand for: what the requests say goes before what was given.
    private func values(_ source: Int) -> [ByteKey: [UInt8]] {
        settings.secrets.isEmpty ? bound[source] : settings.secrets.merging(bound[source]) { $1 }
    }

    private func find(_ request: RequestMeaning) -> Found {
        if settings.order == .strict { return findNext(request) }
        let group = tape.group(request)
        let candidate = group.flatMap { pick($0, request) }
        var last: Int?
        var count = 0
        for number in tape.open(request) {
            if let candidate, candidate.number < number { break }
            var trial = bound[tape.source[number]]
            guard tape.meanings[number].differences(request, &trial).isEmpty else { continue }
            count += 1
            last = max(last ?? 0, number)
            if used[number] { continue }
            bind(trial, number)
            used[number] = true
            return .found(number)
        }
        if let candidate, let group {
            bind(candidate.bound, candidate.number)
            if tape.groups[group][turns[group]] == candidate.number { turns[group] += 1 }
            used[candidate.number] = true
            return .found(candidate.number)
        }
        for number in group.map({ tape.groups[$0] }) ?? [] {
            var trial = bound[tape.source[number]]
            guard tape.meanings[number].identityDifference(request, &trial) == nil else { continue }
            count += 1
            last = max(last ?? 0, number)
        }
        guard let last else { return .none }
        return settings.repeatsLast ? .found(last) : .exhausted(last, count: count)
    }

    /// The next recording of a group that is of whoever asks.
    private func pick(_ group: Int, _ request: RequestMeaning) -> (number: Int, bound: [ByteKey: [UInt8]])? {
        let numbers = tape.groups[group]
        while turns[group] < numbers.count, used[numbers[turns[group]]] { turns[group] += 1 }
        for number in numbers[turns[group]...] where !used[number] {
            var trial = bound[tape.source[number]]
            if tape.meanings[number].identityDifference(request, &trial) == nil { return (number, trial) }
        }
        return nil
    }

    private func findNext(_ request: RequestMeaning) -> Found {
        guard next < tape.entries.count else { return .none }
        var trial = bound[tape.source[next]]
        guard tape.meanings[next].differences(request, &trial).isEmpty else { return .none }
        bind(trial, next)
        next += 1
        used[next - 1] = true
        return .found(next - 1)
    }

    // MARK: answers

    private func play(_ number: Int, _ call: Call, _ now: Int64, _ isExact: Bool) -> Answer {
        current = number
        let entry = tape.entries[number]
        if let answer = entry.answer, case .notCaptured = answer.body {
            return Self.trouble(
                "the body of entry \(number + 1) was not captured", nearest: [],
                fix: "Record the exchange again with a tool that keeps bodies.")
        }
        if isExact, settings.speed == nil, !settings.shiftsDates, let answer = tape.answers.ready(number, call.head) {
            return answer
        }
        let shift = settings.shiftsDates ? tape.recordedAt[number].map { now - $0 } : nil
        return tape.answers.answer(
            entry, number, call.head, values(tape.source[number]), speed: settings.speed, shift: shift)
    }

    /// - Parameter fix: nil is found from what is nearest.
    private func unmatched(_ request: RequestMeaning, _ why: String, _ fix: String?) -> Answer {
        var rows: [(score: Int, number: Int, differences: [String])] = []
        for (number, meaning) in tape.meanings.enumerated() {
            let distance = meaning.pathDistance(request)
            // In a large cassette only what has nearly the same path is worth a closer look.
            if tape.meanings.count > 2000, distance > 1 { continue }
            var trial = bound[tape.source[number]]
            let differences = meaning.differences(request, &trial)
            // A path that is another is further off than a body that is.
            let score = differences.reduce(distance * 4) { $0 + ($1.hasPrefix("method") ? 2 : 1) }
            rows.append((score, number, differences))
        }
        let sorted = rows.sorted { ($0.score, $0.number) < ($1.score, $1.number) }.prefix(3)
        let nearest = sorted.map { row -> JSON in
            let isUsed = used[row.number]
            let state = row.differences.isEmpty && isUsed ? ["matched, and is used up"] : row.differences
            let said = state.isEmpty ? ["matches, but it is not its turn"] : state
            return [
                "entry": .int(row.number + 1), "request": .string(tape.entries[row.number].line),
                "differences": .array(said.map { .string($0) }),
            ]
        }
        let own = sorted.first.map { self.fix($0.number, $0.differences) }
        return Self.trouble(
            "\(request.method.text) \(request.path.text): \(why)", nearest: nearest,
            fix: fix ?? own ?? "Record the exchange: the cassette holds no request.")
    }

    /// What to paste so that an entry matches, where one rule is all that it takes; else how to record.
    private func fix(_ number: Int, _ differences: [String]) -> String {
        let record = "Record it: pushsim record --upstream \(tape.entries[number].url.origin.text) --out FILE."
        guard differences.count == 1, let difference = differences.first else { return record }
        let rule: String
        if difference.hasPrefix("body differs at ") {
            let path = difference.dropFirst("body differs at ".count).prefix { $0 != ":" && $0 != " " }
            rule = "\"ignoreJSON\": [\"\(path)\"]"
        } else if difference.hasPrefix("query ") {
            rule = "\"ignoreQuery\": [\"\(difference.dropFirst("query ".count).prefix { $0 != ":" })\"]"
        } else if difference.hasPrefix("body") {
            rule = "\"body\": \"ignore\""
        } else {
            return record
        }
        return record + " Or let entry \(number + 1) match, by this member of it: \"_pushsim\": {\"match\": {\(rule)}}."
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
        let told = nearest.map { row in
            let differences = (row["differences"]?.elements ?? []).compactMap(\.string).joined(separator: "; ")
            return "\n  entry \(row["entry"]?.int ?? 0), \(row["request"]?.string ?? ""): \(differences)"
        }
        answer.unmatched = "\(message).\(told.isEmpty ? "" : " Nearest:")\(told.joined())\n  \(fix)"
        return answer
    }
}
