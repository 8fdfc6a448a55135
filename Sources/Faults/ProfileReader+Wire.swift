import PushSimJSONText
import PushSimSimulation
import PushSimWire

// Delays, and what calls and deliveries have in common on the wire.
extension ProfileReader {
    mutating func delay(_ value: JSONValue) -> Delay? {
        guard value.kind == .object else { return duration(value, "delay").map { Delay(.fixed($0)) } }
        guard
            let fields = fields(value, "\"delay\"", ["fixed", "uniform", "normal", "lognormal", "before"])
        else { return nil }
        let kinds = ["fixed", "uniform", "normal", "lognormal"].filter { fields[$0] != nil }
        guard kinds.count == 1, let length = length(kinds[0], fields) else {
            if kinds.count != 1 {
                mistake(value, "\"delay\" needs one of fixed, uniform, normal and lognormal")
            }
            return nil
        }
        var delay = Delay(length)
        if let before = fields["before"], let place = choice(before, "before", "place", ["head", "body"]) {
            delay.isBeforeBody = place == "body"
        }
        return delay
    }

    private mutating func length(_ kind: String, _ fields: [String: JSONValue]) -> Delay.Length? {
        guard let value = fields[kind] else { return nil }
        switch kind {
        case "fixed": return duration(value, "fixed").map { .fixed($0) }
        case "uniform":
            guard value.kind == .array, value.elements.count == 2, let least = duration(value.elements[0], "uniform"),
                let most = duration(value.elements[1], "uniform")
            else {
                if value.kind != .array || value.elements.count != 2 {
                    wrong(value, "uniform", "two durations, such as [\"100ms\", \"900ms\"]")
                }
                return nil
            }
            if most < least { mistake(value, "the second duration is shorter than the first") }
            return .uniform(least, max(least, most))
        case "normal":
            guard let parts = self.fields(value, "\"normal\"", ["mean", "sd"]), let mean = need("mean", parts, value),
                let deviation = need("sd", parts, value)
            else { return nil }
            return .normal(mean: mean, deviation: deviation)
        default:
            guard let parts = self.fields(value, "\"lognormal\"", ["median", "sigma", "max"]),
                let median = need("median", parts, value), let most = need("max", parts, value)
            else { return nil }
            guard let sigma = parts["sigma"]?.double, sigma >= 0, sigma <= 10 else {
                wrong(parts["sigma"] ?? value, "sigma", "a number from 0 to 10")
                return nil
            }
            return .lognormal(median: median, sigma: sigma, most: most)
        }
    }

    private mutating func need(_ name: String, _ fields: [String: JSONValue], _ place: JSONValue) -> Int64? {
        guard let value = fields[name] else {
            mistake(place, "\"\(name)\" is missing")
            return nil
        }
        return duration(value, name)
    }

    // MARK: connection

    /// The names that WireMock has for four of them.
    private static let aliases: [(name: String, connection: ConnectionFault?)] = [
        ("EMPTY_RESPONSE", .close), ("CONNECTION_RESET_BY_PEER", .reset), ("MALFORMED_RESPONSE_CHUNK", nil),
        ("RANDOM_DATA_THEN_CLOSE", nil),
    ]

    /// - Parameter wire: takes what two of WireMock's names stand for.
    mutating func connection(_ value: JSONValue, _ wire: inout WireFaults?) -> ConnectionFault? {
        if value.kind == .object {
            guard let fields = fields(value, "\"connection\"", ["refuse"]), let refuse = fields["refuse"] else {
                return nil
            }
            return duration(refuse, "refuse").map { .refuse($0) }
        }
        if value.string == "refuse" {
            mistake(value, "say for how long: connection: { refuse: \"5s\" }")
            return nil
        }
        let names = ConnectionFault.named.map(\.name) + Self.aliases.map(\.name)
        guard let name = choice(value, "connection", "fault", names) else { return nil }
        if let fault = ConnectionFault.named.first(where: { $0.name == name })?.fault { return fault }
        if let alias = Self.aliases.first(where: { $0.name == name })?.connection { return alias }
        var faults = wire ?? WireFaults()
        if name == "MALFORMED_RESPONSE_CHUNK" { faults.badChunkSize = true } else { faults.garbage = 64 }
        wire = faults
        return nil
    }

    // MARK: wire

    private static let wireKeys = [
        "truncateBody", "dribble", "bandwidth", "slowHead", "badChunkSize", "missingLastChunk", "contentLength",
        "bothLengths", "garbage", "statusLine", "extraHeaders", "headerBytes", "interim",
    ]
    /// Each says how long the body is, so one excludes the others.
    private static let lengthKeys = [
        "truncateBody", "badChunkSize", "missingLastChunk", "contentLength", "bothLengths", "garbage",
    ]

    mutating func wire(_ value: JSONValue) -> WireFaults? {
        guard let fields = fields(value, "\"wire\"", Self.wireKeys) else { return nil }
        if fields.isEmpty { mistake(value, "\"wire\" says nothing: what is to happen?") }
        var faults = WireFaults()
        faults.truncateBody = fields["truncateBody"].flatMap { whole($0, "truncateBody", to: 1 << 30) }
        faults.dribble = fields["dribble"].flatMap { dribble($0) }
        faults.bandwidth = fields["bandwidth"].flatMap { rate($0, "bandwidth") }
        faults.slowHead = fields["slowHead"].flatMap { rate($0, "slowHead") }
        faults.badChunkSize = fields["badChunkSize"].map { isTrue($0, "badChunkSize") } ?? false
        faults.missingLastChunk = fields["missingLastChunk"].map { isTrue($0, "missingLastChunk") } ?? false
        faults.bothLengths = fields["bothLengths"].map { isTrue($0, "bothLengths") } ?? false
        faults.contentLength = fields["contentLength"].flatMap { contentLength($0) }
        faults.garbage = fields["garbage"].flatMap { whole($0, "garbage", from: 1, to: 1 << 24) }
        faults.statusLine = fields["statusLine"].flatMap { line($0) }
        faults.extraHeaders = fields["extraHeaders"].flatMap { whole($0, "extraHeaders", from: 1, to: 100_000) }
        faults.headerBytes = fields["headerBytes"].flatMap { whole($0, "headerBytes", from: 1, to: 1 << 24) }
        faults.interim = fields["interim"].map { interim($0) } ?? []
        let lengths = Self.lengthKeys.filter { fields[$0] != nil }
        if lengths.count > 1 {
            mistake(value, "\(lengths.map { "\"\($0)\"" }.joined(separator: " and ")) exclude each other")
        }
        return faults
    }

    mutating func whole(_ value: JSONValue, _ name: String, from least: Int = 0, to most: Int) -> Int? {
        if let number = value.int, number >= least, number <= most { return number }
        wrong(value, name, "a whole number from \(least) to \(most)")
        return nil
    }

    private mutating func isTrue(_ value: JSONValue, _ name: String) -> Bool {
        if value.kind == .true { return true }
        wrong(value, name, "true")
        return false
    }

    private mutating func dribble(_ value: JSONValue) -> (pieces: Int, over: Int64)? {
        guard let fields = fields(value, "\"dribble\"", ["pieces", "over"]) else { return nil }
        guard let pieces = fields["pieces"], let over = fields["over"] else {
            mistake(value, "\"dribble\" needs \"pieces\" and \"over\"")
            return nil
        }
        guard let count = whole(pieces, "pieces", from: 1, to: 100_000), let time = duration(over, "over") else {
            return nil
        }
        return (count, time)
    }

    /// Octets a second: `"10B/s"`, `"8kB/s"`, `"1MB/s"`.
    private mutating func rate(_ value: JSONValue, _ name: String) -> Int? {
        guard let text = text(value, name) else { return nil }
        for (unit, factor) in [("MB/s", 1_000_000), ("kB/s", 1000), ("B/s", 1)] where text.hasSuffix(unit) {
            guard let number = decimalDigits(text.utf8.dropLast(unit.utf8.count)), number > 0, number <= 1 << 20 else {
                break
            }
            return number * factor
        }
        mistake(value, "\"\(text)\" is no rate; write it as \"10B/s\", \"8kB/s\" or \"1MB/s\"")
        return nil
    }

    private mutating func contentLength(_ value: JSONValue) -> WireFaults.Length? {
        if let number = value.int, number >= 0 { return .fixed(number) }
        if let text = value.string {
            if text == "none" { return WireFaults.Length.none }
            if let first = text.utf8.first, first == 43 || first == 45,
                let number = decimalDigits(text.utf8.dropFirst()), number <= 1 << 30
            {
                return .off(first == 43 ? number : -number)
            }
        }
        mistake(value, "\(value.sourceText) is no length; write \"+10\", \"-10\", \"none\" or a number")
        return nil
    }

    private mutating func line(_ value: JSONValue) -> [UInt8]? {
        guard let text = text(value, "statusLine") else { return nil }
        let bytes = Array(text.utf8)
        if !bytes.contains(10), !bytes.contains(13) { return bytes }
        mistake(value, "a status line has no line break within it")
        return nil
    }

    private mutating func interim(_ value: JSONValue) -> [Int] {
        let numbers = value.kind == .array ? value.elements.map(\.int) : [nil]
        let found = numbers.compactMap { $0 }.filter { (100...199).contains($0) && $0 != 101 }
        if found.count != numbers.count { wrong(value, "interim", "a list of statuses such as [100, 103]") }
        return found
    }
}
