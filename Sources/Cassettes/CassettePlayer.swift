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
    /// What placeholders stand for that no request binds.
    package var secrets: [ByteKey: [UInt8]] = [:]

    package init() {}
}

/// Plays cassettes in one scope: what was recorded, or at once why not. Used under the scope's lock.
package final class CassettePlayer: Player {
    private let entries: [CassetteEntry]
    private let meanings: [RequestMeaning]
    private let settings: PlayerSettings
    /// By method and path: the entries, in order.
    private let index: [ByteKey: [Int]]
    private var used: Set<Int> = []
    private var bound: [ByteKey: [UInt8]]
    private var next = 0

    /// Deliveries are no answers to anybody's request, so they are left out here.
    package init(_ cassettes: [Cassette], _ settings: PlayerSettings) {
        entries = cassettes.flatMap(\.entries).filter { !$0.isDelivery }
        meanings = entries.map { RequestMeaning($0) }
        self.settings = settings
        bound = settings.secrets
        var index: [ByteKey: [Int]] = [:]
        for (number, meaning) in meanings.enumerated() { index[meaning.key, default: []].append(number) }
        self.index = index
    }

    package func reset() {
        used = []
        bound = settings.secrets
        next = 0
    }

    /// Recordings that nobody has asked for.
    package var leftovers: [String] {
        entries.indices.filter { !used.contains($0) }.map { "entry \($0 + 1): \(entries[$0].line)" }
    }

    package func answer(_ call: Call) -> Answer {
        let request = RequestMeaning(
            method: Array(call.method), path: Array(call.path), query: call.query.map { Array($0) },
            headers: call.head.headerFields, body: call.body)
        switch find(request) {
        case .found(let number): return play(number)
        case .exhausted(let number, let count):
            return unmatched(
                request, "entry \(number + 1) matched, used \(count) of \(count)",
                "Record the request once more, or replay with --repeat-last.")
        case .none:
            return unmatched(request, "no recording matches", "Record the request, or mend the one that is nearest.")
        }
    }

    private enum Found {
        case found(Int)
        case exhausted(Int, count: Int)
        case none
    }

    private func find(_ request: RequestMeaning) -> Found {
        if settings.order == .strict {
            guard next < entries.count else { return .none }
            var trial = bound
            guard meanings[next].differences(request, &trial).isEmpty else { return .none }
            bound = trial
            next += 1
            used.insert(next - 1)
            return .found(next - 1)
        }
        var last: Int?
        var count = 0
        let candidates = (index[request.key] ?? []) + (index[RequestMeaning.open(request.method)] ?? [])
        for number in candidates.sorted() {
            var trial = bound
            guard meanings[number].differences(request, &trial).isEmpty else { continue }
            count += 1
            last = number
            if used.contains(number) { continue }
            bound = trial
            used.insert(number)
            return .found(number)
        }
        guard let last else { return .none }
        return settings.repeatsLast ? .found(last) : .exhausted(last, count: count)
    }

    // MARK: answers

    private func play(_ number: Int) -> Answer {
        switch entries[number].outcome {
        case .answer(let recorded):
            guard case .bytes = recorded.body else {
                return Self.trouble(
                    "the body of entry \(number + 1) was not captured", nearest: [],
                    fix: "Record the exchange again with a tool that keeps bodies.")
            }
            return Answer(response(recorded))
        case .failure(let failure): return play(failure)
        }
    }

    private func play(_ failure: CassetteEntry.Failure) -> Answer {
        var answer = Answer(Response(status: 502))
        var faults = WireFaults()
        switch failure {
        // A listener that serves others cannot refuse one: the nearest that a client can see is a reset.
        case .refused, .reset, .other: answer.connection = .reset
        case .closed: answer.connection = .close
        case .timeout: answer.connection = .stall
        case .cut(let recorded, let declared):
            answer = Answer(response(recorded))
            faults.contentLength = .fixed(max(declared, recorded.body.octets.count + 1))
            answer.wire = faults
        }
        return answer
    }

    private func response(_ recorded: CassetteEntry.Answer) -> Response {
        Response(
            status: recorded.status, reason: recorded.statusText,
            fields: recorded.headers.filter { !Self.isTransport($0.name) }.map {
                HeaderField($0.name, Template($0.value).filled(bound))
            }, body: Template(recorded.body.octets).filled(bound))
    }

    /// Framing and connection are made afresh.
    private static func isTransport(_ name: [UInt8]) -> Bool {
        ["connection", "keep-alive", "proxy-connection", "upgrade", "trailer"].contains {
            name.equalsIgnoringCase(Array($0.utf8))
        }
    }

    private func unmatched(_ request: RequestMeaning, _ why: String, _ fix: String) -> Answer {
        var rows: [(score: Int, number: Int, differences: [String])] = []
        for (number, meaning) in meanings.enumerated() {
            var trial = bound
            let differences = meaning.differences(request, &trial)
            // A path that is another is further off than a body that is.
            let score = differences.reduce(0) { $0 + ($1.hasPrefix("path") ? 4 : $1.hasPrefix("method") ? 2 : 1) }
            rows.append((score, number, differences))
        }
        let nearest = rows.sorted { ($0.score, $0.number) < ($1.score, $1.number) }.prefix(3).map { row -> JSON in
            let isUsed = used.contains(row.number)
            let state = row.differences.isEmpty && isUsed ? ["matched, and is used up"] : row.differences
            return [
                "entry": .int(row.number + 1), "request": .string(entries[row.number].line),
                "differences": .array(state.map { .string($0) }),
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
        return Answer(
            Response(
                status: 501,
                fields: [
                    HeaderField("X-PushSim-Unmatched", "true"), HeaderField("Content-Type", "application/json"),
                ], body: body.bytes))
    }
}
