import Foundation
import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Testing

@Suite("Fluxer's rate limits (fluxer.md, \"Rate limits\")", .pushSim(clock: .frozen))
struct FluxerRateLimitTests {
    @Test("The subscribe bucket bursts 20, then gives a slot every 3 s; refused bodies and strangers cost too")
    func rateLimit() async throws {
        let sim = PushSim.current
        for _ in 0..<20 { #expect(try await sim.fluxer("POST", devices, "{}").status == 400) }
        let limited = try await sim.fluxer("POST", devices, "{}")
        #expect(limited.status == 429)
        #expect(
            limited.body.text
                == #"{"code":"RATE_LIMITED","message":"You are being rate limited.","global":false,"retry_after":3}"#)
        #expect(limited.fields.first("Retry-After")?.text == "3")
        #expect(limited.fields.first("X-RateLimit-Limit")?.text == "20")
        #expect(limited.fields.first("X-RateLimit-Remaining")?.text == "0")
        #expect(limited.fields.first("X-RateLimit-Reset")?.text == "1767225603")
        #expect(limited.fields.first("X-RateLimit-Reset-After")?.text == "3")
        #expect(limited.fields.first("X-RateLimit-Bucket")?.text == "b987d7a113a1b063")
        #expect(limited.fields.first("X-RateLimit-Scope")?.text == "user")
        await sim.advance(by: .milliseconds(2500))
        let later = try await sim.fluxer("POST", devices, "{}")
        #expect(later.json["retry_after"] == .number("0.5"))
        #expect(later.fields.first("Retry-After")?.text == "1")
        await sim.advance(by: .milliseconds(500))
        #expect(try await sim.fluxer("POST", devices, "{}").status == 400)
        #expect(try await sim.fluxer("POST", devices, "{}", as: "bob").status == 400)
        for _ in 0..<20 { #expect(try await sim.fluxer("POST", devices, "{}", as: nil).status == 401) }
        #expect(try await sim.fluxer("POST", devices, "{}", as: nil).status == 429)
        try sim.setOption("fluxer.rateLimits", to: "off")
        #expect(try await sim.fluxer("POST", devices, "{}", as: nil).status == 401)
    }

    @Test("The other buckets: unsubscribe 40 a minute, list 40 in 10 s")
    func otherBuckets() async throws {
        let sim = PushSim.current
        for _ in 0..<40 { #expect(try await sim.fluxer("DELETE", "\(devices)/x").status == 200) }
        let limited = try await sim.fluxer("POST", "\(devices)/unregister", "{}")
        #expect(limited.fields.first("X-RateLimit-Bucket")?.text == "367937f32b97a869")
        #expect(limited.json["retry_after"] == .number("1.5"))
        for _ in 0..<40 { #expect(try await sim.fluxer("GET", devices).status == 200) }
        #expect(try await sim.fluxer("GET", "/v1/users/@me/push/subscriptions").json["retry_after"] == .number("0.25"))
    }

    @Test("The global bucket: 50 a second, its own headers, and the session is revoked")
    func globalBucket() async throws {
        let sim = PushSim.current
        try sim.setOption("fluxer.globalBucket", to: "on")
        for _ in 0..<50 { _ = try await sim.fluxer("POST", "/v1/channels/1/call/stop-ringing") }
        let limited = try await sim.fluxer("POST", "/v1/channels/1/call/stop-ringing")
        #expect(limited.status == 429)
        #expect(limited.json["global"] == true)
        #expect(limited.fields.first("X-RateLimit-Global")?.text == "true")
        #expect(limited.fields.first("X-RateLimit-Scope")?.text == "global")
        #expect(limited.fields.first("X-RateLimit-Limit") == nil)
        await sim.advance(by: .seconds(2))
        #expect(try await sim.fluxer("GET", devices).status == 401)
    }
}
