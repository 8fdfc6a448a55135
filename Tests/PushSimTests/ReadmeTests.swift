import Foundation
import PushSimTesting
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The test that README.md shows.
@Test(.pushSim(profile: "flaky-registration"))
func clientRegistersAtTheThirdAttempt() async throws {
    let sim = PushSim.current
    var request = URLRequest(url: sim.url.appendingPathComponent("v1/subscriber"))
    request.httpMethod = "POST"
    request.setValue("Bearer alice", forHTTPHeaderField: "Authorization")
    request.httpBody = Data(#"{"proto":"apns","token":"abc","app_domain":"example.com"}"#.utf8)
    var statuses: [Int?] = []
    for _ in 1...3 {
        let (_, response) = try await URLSession.shared.data(for: request)
        statuses.append((response as? HTTPURLResponse)?.statusCode)
    }
    #expect(statuses == [429, 429, 200])
    sim.verify(.post("/v1/subscriber"), .exactly(3))
}

/// The second test that README.md shows.
@Test(.pushSim(clock: .frozen))
func clientRingsAndRegistersAgain() async throws {
    let sim = PushSim.current
    let device = try sim.device(.iosAPNsVoIP)
    try await device.register()
    try await sim.fluxer.ring(channel: "42", message: "7", callerID: "9", callerName: "Ada")
    let ring = try await device.inbox.next()
    #expect(try device.decrypt(ring)["data"]?["caller_name"] == "Ada")
    try await device.reregister()
    #expect(throws: PushSimError.self) { try device.decrypt(ring) }
}
