import PushSimSimulation
import PushSimTestSupport
import PushSimWire
import Testing

private func octets(_ number: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

private func zoneHeader(_ counts: [Int32]) -> [UInt8] {
    var header = Array<UInt8>("TZif2") + [UInt8](repeating: 0, count: 15)
    for count in counts { header += octets(count) }
    return header
}

/// A file of zoneinfo (RFC 9636) whose first block, which only old readers look at, is as good as empty.
private func zoneFile(_ changes: [(time: Int64, kind: UInt8)], _ offsets: [Int32], _ footer: String) -> [UInt8] {
    var bytes = zoneHeader([0, 0, 0, 0, 1, 1]) + [UInt8](repeating: 0, count: 7)
    bytes += zoneHeader([0, 0, 0, Int32(changes.count), Int32(offsets.count), 4])
    for change in changes { bytes += octets(change.time) }
    for change in changes { bytes.append(change.kind) }
    for offset in offsets { bytes += octets(offset) + [0, 0] }
    return bytes + Array("LMT\0\n\(footer)\n".utf8)
}

private func seconds(_ text: String) -> Int64 { (TimeText.instant(text) ?? 0) / 1_000_000_000 }

@Suite("Time zones (RFC 9636; sunbird.md, topics)")
struct ZoneInfoTests {
    @Test("Listed changes decide, the first kind before them, and the rule at the end after them")
    func offsets() throws {
        let bytes = zoneFile([(1000, 1), (2000, 2)], [10, 3600, 7200], "CET-1CEST,M3.5.0,M10.5.0/3")
        let zone = try #require(ZoneInfo(bytes))
        let asked = [
            -5_000_000_000, 999, 1000, 1999, 2000, seconds("2026-03-29T00:59:59Z"), seconds("2026-03-29T01:00:00Z"),
        ]
        #expect(asked.map { zone.offset(at: $0) } == [10, 10, 3600, 3600, 3600, 3600, 7200])
        #expect(zone.change(after: 999) == 1000)
        #expect(zone.change(after: seconds("2026-03-29T01:00:00Z")) == seconds("2026-10-25T01:00:00Z"))
    }

    @Test("Without a rule the last offset stays, and nothing is changed any more")
    func noRule() throws {
        let zone = try #require(ZoneInfo(zoneFile([(1000, 1)], [0, 3600], "")))
        #expect(zone.offset(at: 9_000_000_000) == 3600 && zone.change(after: 1000) == nil)
    }

    @Test(
        "Rules of every form hold, in both hemispheres, before midnight and days later, and all the year",
        arguments: [
            ("EST5", "2026-07-01T00:00:00Z", -18_000), ("<+0545>-5:45", "2026-07-01T00:00:00Z", 20_700),
            ("EST5EDT,M3.2.0,M11.1.0", "2026-03-08T06:59:59Z", -18_000),
            ("EST5EDT,M3.2.0,M11.1.0", "2026-03-08T07:00:00Z", -14_400),
            ("EST5EDT,M3.2.0,M11.1.0", "2026-11-01T05:59:59Z", -14_400),
            ("AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-01-01T00:00:00Z", 39_600),
            ("AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-04-04T16:00:00Z", 36_000),
            ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T00:59:59Z", -7200),
            ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T01:00:00Z", -3600),
            ("EET-2EEST,M3.4.4/50,M10.4.4/50", "2026-03-27T23:59:59Z", 7200),
            ("EET-2EEST,M3.4.4/50,M10.4.4/50", "2026-03-28T00:00:00Z", 10_800),
            ("IST-1GMT0,M10.5.0,M3.5.0/1", "2026-01-01T00:00:00Z", 0),
            ("AAA3BBB2:30,J60/0,J300", "2028-03-01T02:59:59Z", -10_800),
            ("AAA3BBB2:30,J60/0,J300", "2028-03-01T03:00:00Z", -9000),
            ("AAA3BBB2:30,59/0,300", "2028-02-29T03:00:00Z", -9000),
            ("XXX3EDT4,0/0,J365/23", "2026-01-01T02:00:00Z", -14_400),
            ("XXX3EDT4,0/0,J365/23", "2026-12-31T23:59:59Z", -14_400),
        ])
    func rules(_ rule: String, _ time: String, _ offset: Int64) throws {
        let zone = try #require(ZoneInfo(zoneFile([], [0], rule)))
        #expect(zone.offset(at: seconds(time)) == offset)
    }

    @Test("What clocks leap over is when they leap; what they show twice is the first time")
    func local() throws {
        let zone = try #require(ZoneInfo(zoneFile([], [3600], "CET-1CEST,M3.5.0,M10.5.0/3")))
        #expect(zone.instant(ofLocal: seconds("2026-03-29T02:30:00Z")) == seconds("2026-03-29T01:00:00Z"))
        #expect(zone.instant(ofLocal: seconds("2026-10-25T02:30:00Z")) == seconds("2026-10-25T00:30:00Z"))
        #expect(zone.instant(ofLocal: seconds("2026-10-25T03:00:00Z")) == seconds("2026-10-25T02:00:00Z"))
    }

    @Test(
        "Files that are none, cut short, or whose rule has no such form give no time zone",
        arguments: [
            "", "EST", "5", "ES5", "EST25", "EST5EDT", "EST5EDT,M3.2.0", "EST5EDT,M13.2.0,M11.1.0",
            "EST5EDT,M3.6.0,M11.1.0",
            "EST5EDT,M3.2.7,M11.1.0", "EST5EDT,J0,J1", "EST5EDT,366,1", "EST5EDT,M3.2.0/168,M11.1.0",
            "EST5EDT,M3.2.0,M11.1.0,", "<EST5",
        ])
    func noZone(_ rule: String) {
        let bytes = zoneFile([(1000, 0)], [0], rule)
        #expect((ZoneInfo(bytes) == nil) == !rule.isEmpty)
        for size in 0..<bytes.count { #expect(ZoneInfo(Array(bytes.prefix(size))) == nil) }
    }

    @Test("A file with any of its octets changed is none, or one that answers")
    func mutations() {
        var generator = SeededGenerator(state: 11)
        let good = zoneFile([(1000, 1), (2000, 0)], [10, 3600], "CET-1CEST,M3.5.0,M10.5.0/3")
        for _ in 0..<5000 {
            var bytes = good
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(in: 0...255, using: &generator)
            }
            guard let zone = ZoneInfo(bytes) else { continue }
            for time: Int64 in [0, 1500, 4_000_000_000] {
                #expect(abs(zone.offset(at: time)) <= 26 * 3600)
                #expect(abs(zone.instant(ofLocal: time) - time) <= 60 * 3600)
            }
        }
    }
}
