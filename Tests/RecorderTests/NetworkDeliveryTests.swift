import Foundation
import PushSimRecorder
import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Synchronization
import Testing

@Suite("Deliveries that may leave the machine (control-api.md, \"The built-in push service\"; delivery.network)")
struct NetworkDeliveryTests {
    /// A push service that is no route of ours, and a fake with one device there.
    private func withPushService(
        _ statuses: [Int], _ body: (PushSim, PushSim, String) async throws -> Void
    ) async throws {
        let next = Mutex(0)
        let service = try await PushSim.start()
        service.stub(.post("/wp/one")) { _ in
            let turn = next.withLock { turn in
                defer { turn += 1 }
                return turn
            }
            let status = statuses[min(turn, statuses.count - 1)]
            return StubAnswer(status, headers: status == 307 ? [("Location", "/wp/two")] : [])
        }
        let sim = try await PushSim.start(clock: .frozen, options: ["fluxer.privateEndpoints": "allow"])
        let endpoint = "http://127.0.0.1:\(service.url.port ?? 0)/wp/one"
        let keys =
            #""encryption_key":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4","#
            + #""auth_secret":"BTBZMqHH6r4Tts7J_aSIgg""#
        let registered = try await call(
            port: sim.url.port ?? 0, "POST", "/v1/users/@me/mobile-devices", fields: [("Authorization", "a-session")],
            body: #"{"platform":"android_unified_push","token":"\#(endpoint)",\#(keys)}"#)
        #expect(registered.status == 200)
        try await body(sim, service, endpoint)
        await sim.stop()
        await service.stop()
    }

    @Test("Without being asked nothing is sent: the delivery is captured")
    func denied() async throws {
        try await withPushService([201]) { sim, service, endpoint in
            let sent = try await sim.fluxer.notify(channel: "1", title: "Hi", body: "there")
            #expect(sent.map(\.outcome) == ["accepted"])
            _ = try await sim.inbox(of: endpoint).next()
            #expect(service.journal.isEmpty)
        }
    }

    @Test("Allowed, a redirect is not followed, and is the end")
    func redirected() async throws {
        try await withPushService([307]) { sim, service, endpoint in
            try sim.allowNetworkDeliveries()
            #expect(try await sim.fluxer.notify(channel: "1", title: "Hi", body: "").map(\.outcome) == ["rejected"])
            #expect(service.journal.map(\.target) == ["/wp/one"])
        }
    }

    @Test("Allowed, a 503 and a 429 are followed by the same record, with the delivery's own headers and no others")
    func retried() async throws {
        try await withPushService([503, 429, 201]) { sim, service, endpoint in
            try sim.allowNetworkDeliveries()
            _ = try await sim.fluxer.notify(channel: "1", title: "Hi", body: "there")
            await sim.advance(by: .milliseconds(600))
            let push = try await sim.inbox(of: endpoint).next()
            let calls = service.journal
            #expect(calls.count == 3)
            #expect(Set(calls.map(\.target)) == ["/wp/one"])
            #expect(calls.allSatisfy { Array($0.body) == Array(push.body) })
            let host = "Host: \(service.url.host() ?? ""):\(service.url.port ?? 0)"
            let wanted =
                [host] + push.headers.map { "\($0.name): \($0.value)" } + ["Content-Length: \(push.body.count)"]
            for call in calls { #expect(call.headers.map { "\($0.name): \($0.value)" } == wanted) }
        }
    }

    @Test("Allowed, a 410 removes the registration, and nobody at home is a failure that is retried")
    func removedAndRefused() async throws {
        try await withPushService([410]) { sim, service, endpoint in
            try sim.allowNetworkDeliveries()
            #expect(try await sim.fluxer.notify(channel: "1", title: "Hi", body: "").map(\.outcome) == ["removed"])
            #expect(try await sim.fluxer.notify(channel: "1", title: "Hi", body: "").isEmpty)
        }
        try await withPushService([201]) { sim, service, endpoint in
            try sim.allowNetworkDeliveries()
            await service.stop()
            #expect(try await sim.fluxer.notify(channel: "1", title: "Hi", body: "").map(\.outcome) == ["retrying"])
        }
    }

    @Test("Where nothing takes deliveries out, allowing them is an error that says what does")
    func noCarrier() async throws {
        let sim = try await PushSim.start()
        let failure = #expect(throws: PushSimError.self) { try sim.setOption("delivery.network", to: "allow") }
        #expect(failure?.description.contains("allowNetworkDeliveries()") == true)
        let patched = try await call(
            port: sim.url.port ?? 0, "PATCH", "/__pushsim/options", body: #"{"delivery.network":"allow"}"#)
        #expect(patched.status == 400 && String(decoding: patched.body, as: UTF8.self).contains("delivery.network"))
        await #expect(throws: PushSimError.self) { try await PushSim.start(options: ["delivery.network": "allow"]) }
        await sim.stop()
    }
}
