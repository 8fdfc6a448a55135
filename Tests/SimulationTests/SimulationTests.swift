import PushSimSimulation
import PushSimWebPush
import PushSimWire
import Testing

@Suite("Draws and time (DESIGN.md, decisions 4 and 5)")
struct SimulationTests {
    @Test("Draws are interface: these values never change")
    func golden() {
        let draws = Draws(seed: 7, seedName: "default")
        #expect(Hex.text(draws.octets("test", [Array("key".utf8)], index: 3)) == goldenOctets)
        #expect(draws.uuid("test", [Array("key".utf8)], index: 3).text == goldenUUID)
        #expect(draws.octets("test", [[1], [2]]) != draws.octets("test", [[1, 2]]))
        #expect(draws.octets("test", [[1]]) != Draws(seed: 8, seedName: "default").octets("test", [[1]]))
        #expect(draws.octets("test", [[1]]) != Draws(seed: 7, seedName: "other").octets("test", [[1]]))
    }

    @Test(
        "Instants are RFC 3339, with any offset",
        arguments: [
            ("2026-01-01T00:00:00Z", 1_767_225_600_000_000_000, "2026-01-01T00:00:00Z"),
            ("2026-01-01T05:30:00.25+05:30", 1_767_225_600_250_000_000, "2026-01-01T00:00:00.250Z"),
            ("2000-02-29T23:59:59-01:00", 951_872_399_000_000_000, "2000-03-01T00:59:59Z"),
        ] as [(String, Int64, String)])
    func instants(_ text: String, _ instant: Int64, _ written: String) {
        #expect(TimeText.instant(text) == instant)
        #expect(TimeText.rfc3339(instant) == written)
    }

    @Test(
        "Refuses what is no instant",
        arguments: ["2026-02-29T00:00:00Z", "2026-01-01", "2026-01-01T24:00:00Z", "2026-01-01T00:00:00"])
    func noInstants(_ text: String) { #expect(TimeText.instant(text) == nil) }

    @Test(
        "Durations have a unit",
        arguments: [
            ("500ms", 500_000_000), ("1.5m", 90_000_000_000), ("0s", 0), ("2d", 172_800_000_000_000),
            ("1.999999999m", 119_999_999_940), ("1.999999999h", 7_199_999_996_400), ("1.5d", 129_600_000_000_000),
            ("0.000000001d", 86_400), ("0.5ns", 0), ("1.999999999ms", 1_999_999),
        ] as [(String, Int64)])
    func durations(_ text: String, _ nanoseconds: Int64) { #expect(TimeText.duration(text) == nanoseconds) }

    @Test("Refuses what is no duration", arguments: ["", "5", "s", "-1s", "+1s", "1 s", "1e3s", "1..5s", "999999999d"])
    func noDurations(_ text: String) { #expect(TimeText.duration(text) == nil) }

    @Test("A path's segments compare raw: %2F is never a slash")
    func routes() {
        let table = RouteTable([
            RouteDescription("one", "GET", "/a/{x}/b", ""), RouteDescription("rest", "GET", "/t/{r...}", ""),
        ])
        func route(_ path: String) -> Int? {
            var parser = RequestParser()
            var used = 0
            let step = Array("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n".utf8).withUnsafeBytes {
                parser.advance($0, consumed: &used)
            }
            guard case .complete = step, let head = parser.head,
                case .route(let index, _) = table.match(head, head.path)
            else { return nil }
            return index
        }
        #expect(route("/a/1/b") == 0)
        #expect(route("/a/1%2F2/b") == 0)
        #expect(route("/a/1/2/b") == nil)
        #expect(route("/a%2F1/b") == nil)
        #expect(route("/t/1/2") == 1)
    }
}

// Reckoned with Python: SHA-256 of each part behind its length in four octets, for (7, "default", "test", "key", 3).
private let goldenOctets = "f30aae982faa474eed67facef85883acbeec374e3b139fa7d4a9a2fc05dcb94f"
private let goldenUUID = "f30aae98-2faa-474e-ad67-facef85883ac"
