import CPushSimSystem
import PushSimWire

/// A time zone: how far its clocks are ahead of UTC at any time. Named ones are read from the system's zoneinfo, whose
/// files are as RFC 9636 has them. All times are in seconds.
package struct ZoneInfo: Sendable {
    /// Why a name gives no time zone.
    package struct Failure: Error, Hashable, Sendable {
        package let message: String
    }

    /// When the clocks were changed, since 1970, ascending.
    private let changes: [Int64]
    /// What they were ahead before the first change, and from each of them on.
    private let offsets: [Int64]
    /// How it goes on after the last.
    private let rule: ZoneRule?

    /// The same all the year.
    package init(offset: Int64) { (changes, offsets, rule) = ([], [offset], nil) }

    /// - Parameter name: such as `Asia/Kolkata`.
    package init(named name: String) throws(Failure) {
        guard Self.isName(Array(name.utf8)) else { throw Failure(message: "\"\(name)\" is no name of a time zone") }
        guard let bytes = Self.read("\(Self.folder)/\(name)") else {
            guard Self.read("\(Self.folder)/UTC") != nil else {
                throw Failure(message: "\(Self.folder) is not here: install tzdata, or give an offset such as +05:30")
            }
            throw Failure(message: "there is no time zone \"\(name)\" in \(Self.folder)")
        }
        guard let zone = ZoneInfo(bytes) else {
            throw Failure(message: "\(Self.folder)/\(name) is no file of zoneinfo, or one that counts leap seconds")
        }
        self = zone
    }

    private static let folder = "/usr/share/zoneinfo"

    private static func isName(_ bytes: [UInt8]) -> Bool {
        bytes.count <= 64
            && bytes.split(separator: Byte.slash, omittingEmptySubsequences: false).allSatisfy { part in
                !part.isEmpty
                    && part.allSatisfy { byte in
                        switch byte {
                        case 48...57, 65...90, 97...122, 43, 45, 95: true
                        default: false
                        }
                    }
            }
    }

    private static func read(_ path: String) -> [UInt8]? {
        var content: UnsafeMutablePointer<UInt8>?
        var size = 0
        guard pushsim_file_read(path, &content, &size) >= 0, let content else { return nil }
        defer { pushsim_free(content) }
        return Array(UnsafeBufferPointer(start: content, count: size))
    }

    /// Reads a file of zoneinfo; nil for what is none.
    package init?(_ bytes: [UInt8]) {
        var reader = ZoneReader(bytes)
        guard var counts = reader.header() else { return nil }
        var width = 4
        if counts.version > 0 {
            // The same again, in more octets, follows.
            reader.skip(counts.size(width: 4))
            guard let second = reader.header() else { return nil }
            (counts, width) = (second, 8)
        }
        guard counts.leaps == 0, let found = reader.changes(counts, width: width) else { return nil }
        (changes, offsets) = (found.times, found.offsets)
        guard width == 8 else {
            rule = nil
            return
        }
        guard let text = reader.footer() else { return nil }
        rule = ZoneRule(text)
        if rule == nil, !text.isEmpty { return nil }
    }

    /// What the clocks are ahead of UTC at a time, in seconds since 1970.
    package func offset(at time: Int64) -> Int64 {
        var least = 0
        var most = changes.count
        while least < most {
            let middle = (least + most) / 2
            if changes[middle] <= time { least = middle + 1 } else { most = middle }
        }
        if least == changes.count, let rule { return rule.offset(at: time) }
        return offsets[least]
    }

    /// When the clocks are next changed; nil where they are no more. In seconds since 1970.
    package func change(after time: Int64) -> Int64? {
        changes.first { $0 > time } ?? rule?.change(after: max(time, changes.last ?? .min))
    }

    /// When the clocks first show a time, counted in seconds as if they showed UTC. What they leap over is when they leap.
    package func instant(ofLocal local: Int64) -> Int64 {
        // No clock is further from UTC than this.
        let (start, end) = (local - Self.furthest, local + Self.furthest)
        var offset = offset(at: start)
        var next = change(after: start)
        while let change = next, change <= end, local - offset >= change {
            offset = self.offset(at: change)
            if change + offset >= local { return change }
            next = self.change(after: change)
        }
        return local - offset
    }

    private static let furthest: Int64 = 30 * 3600
}

/// Takes the parts of a zoneinfo file out, one after the other.
private struct ZoneReader {
    struct Counts {
        let version: UInt8
        let utcs: Int
        let standards: Int
        let leaps: Int
        let times: Int
        let types: Int
        let letters: Int

        func size(width: Int) -> Int {
            times * (width + 1) + types * 6 + letters + leaps * (width + 4) + standards + utcs
        }
    }

    private let bytes: [UInt8]
    private var index = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func skip(_ count: Int) { index += count }

    mutating func header() -> Counts? {
        guard bytes.count - index >= 44, bytes[index..<index + 4].elementsEqual("TZif".utf8) else { return nil }
        let version = bytes[index + 4]
        index += 20
        var numbers: [Int] = []
        for _ in 0..<6 { numbers.append(Int(number(4))) }
        // Larger ones than the file are no counts.
        guard numbers.allSatisfy({ (0...bytes.count).contains($0) }) else { return nil }
        return Counts(
            version: version, utcs: numbers[0], standards: numbers[1], leaps: numbers[2], times: numbers[3],
            types: numbers[4], letters: numbers[5])
    }

    mutating func changes(_ counts: Counts, width: Int) -> (times: [Int64], offsets: [Int64])? {
        let end = index + counts.size(width: width)
        guard counts.types > 0, end <= bytes.count else { return nil }
        var times: [Int64] = []
        for _ in 0..<counts.times { times.append(number(width)) }
        let kinds = bytes[index..<index + counts.times].map(Int.init)
        index += counts.times
        var known: [Int64] = []
        for _ in 0..<counts.types {
            known.append(number(4))
            index += 2
        }
        index = end
        guard kinds.allSatisfy(known.indices.contains), zip(times, times.dropFirst()).allSatisfy({ $0 < $1 }),
            known.allSatisfy({ abs($0) <= 26 * 3600 })
        else { return nil }
        return (times, [known[0]] + kinds.map { known[$0] })
    }

    /// The line at the end.
    mutating func footer() -> [UInt8]? {
        guard index < bytes.count, bytes[index] == Byte.lineFeed, let end = bytes[(index + 1)...].firstIndex(of: 10)
        else { return nil }
        return Array(bytes[(index + 1)..<end])
    }

    /// Big-endian, with a sign. The caller has seen to it that so many octets are there.
    private mutating func number(_ width: Int) -> Int64 {
        let raw = bytes[index..<index + width].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        index += width
        return width == 8 ? Int64(bitPattern: raw) : Int64(Int32(truncatingIfNeeded: raw))
    }
}
