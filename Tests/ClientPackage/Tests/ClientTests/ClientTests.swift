import Fluxer
import PushSimTesting
import Testing

@Test("A user's package has the fixture with one import", .pushSim())
func oneImport() async throws {
    let sim = PushSim.current
    let answer = try await sim.respond(to: Array("GET /v1/subscriber/x HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
    #expect(String(decoding: answer, as: UTF8.self).hasPrefix("HTTP/1.1 401 "))
    sim.verify(.get("/v1/subscriber/x"), .exactly(1))
}
