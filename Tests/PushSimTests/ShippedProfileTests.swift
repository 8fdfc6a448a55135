import Foundation
import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Testing

private let ntm = ("Authorization", "Bearer alice")
private let registration = #"{"proto":"apns","token":"abc","app_domain":"example.com"}"#

@Suite("The shipped profiles, each in a run (faults.md)", .pushSim(clock: .frozen))
struct ShippedProfileTests {
    private func registerNTM() async throws -> Response {
        try await call(
            port: PushSim.current.url.port ?? 0, "POST", "/v1/subscriber", fields: [ntm], body: registration)
    }

    /// The status of the next registration, or how its connection ended.
    private func outcome() async throws -> String {
        let client = try RawClient(port: PushSim.current.url.port ?? 0)
        try await client.send(
            "POST /v1/subscriber HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer alice\r\nContent-Length: \(registration.utf8.count)\r\n\r\n"
                + registration)
        let got = try await client.receive(patience: 3000)
        return "\(got.status.map(String.init) ?? "none") \(got.close.rawValue)"
    }

    private func device() async throws -> SimDevice {
        let device = try PushSim.current.device(.androidUnifiedPush)
        try await device.register()
        return device
    }

    @Test("calm: nothing goes wrong")
    func calm() async throws {
        try PushSim.current.setProfile("calm")
        #expect(try await registerNTM().status == 200)
        let device = try await device()
        try await PushSim.current.fluxer.notify(channel: "1", title: "a", body: "")
        #expect(try device.decrypt(try await device.inbox.next())["title"] == "a")
    }

    @Test("flaky-registration: 429 twice on each backend, then good")
    func flaky() async throws {
        let sim = PushSim.current
        try sim.setProfile("flaky-registration")
        for _ in 0..<2 {
            let first = try await registerNTM()
            #expect(first.status == 429 && first.fields.first("Retry-After")?.text == "2")
            #expect(try await sim.register("ios_apns", "a").status == 429)
        }
        #expect(try await registerNTM().status == 200)
        #expect(try await sim.register("ios_apns", "a").status == 200)
    }

    @Test("gone-endpoint: the first push removes the registration")
    func gone() async throws {
        let sim = PushSim.current
        try sim.setProfile("gone-endpoint")
        let device = try await device()
        #expect(try await sim.fluxer.notify(channel: "1", title: "a", body: "").map(\.outcome) == ["removed"])
        #expect(try await sim.fluxer.notify(channel: "1", title: "b", body: "").isEmpty)
        try await device.register()
        #expect(try await sim.fluxer.notify(channel: "1", title: "c", body: "").map(\.outcome) == ["accepted"])
    }

    @Test("rate-limited: five calls pass in ten seconds, the next are 429")
    func limited() async throws {
        let sim = PushSim.current
        try sim.setProfile("rate-limited")
        for _ in 0..<5 { #expect(try await sim.fluxer("GET", "/v1/users/@me/mobile-devices").status == 200) }
        let answer = try await sim.fluxer("GET", "/v1/users/@me/mobile-devices")
        #expect(answer.status == 429 && answer.fields.first("Retry-After")?.text == "5")
        #expect(try await sim.fluxer("GET", "/v1/users/@me/mobile-devices", as: "bob").status == 200)
        await sim.advance(by: .seconds(10))
        #expect(try await sim.fluxer("GET", "/v1/users/@me/mobile-devices").status == 200)
    }

    @Test("server-errors: some of many calls meet 500 and 503")
    func serverErrors() async throws {
        try PushSim.current.setProfile("server-errors")
        var seen: Set<Int> = []
        for _ in 0..<60 { seen.insert(try await registerNTM().status) }
        #expect(seen == [200, 500, 503])
    }

    @Test("slow-network: answers wait on the simulation clock")
    func slow() async throws {
        let sim = PushSim.current
        try sim.setProfile("slow-network")
        let client = try RawClient(port: sim.url.port ?? 0)
        try await client.send("GET /v1/users/@me/mobile-devices HTTP/1.1\r\nHost: a\r\nAuthorization: x\r\n\r\n")
        #expect(try await client.receive(first: 30).bytes.isEmpty)
        await sim.advance(by: .seconds(3))
        #expect(try await client.answer().status == 200)
    }

    @Test("broken-connections: six kinds in a row, then a good one")
    func broken() async throws {
        try PushSim.current.setProfile("broken-connections")
        var seen: [String] = []
        for _ in 0..<7 { seen.append(try await outcome()) }
        #expect(seen == ["none reset", "200 reset", "none fin", "200 fin", "200 fin", "200 fin", "200 fin"])
        #expect(PushSim.current.journal.map { $0.rules.first ?? "" }.prefix(7).last == "")
    }

    @Test("malformed-responses: every good answer is spoilt")
    func malformed() async throws {
        try PushSim.current.setProfile("malformed-responses")
        for _ in 0..<16 {
            let answer = try await registerNTM()
            let json = try? JSONDocument(answer.body)
            let isGood =
                json?.root.member("id")?.string != nil && json?.root.members.count == 1
                && answer.fields.first("Content-Encoding") == nil
            #expect(!isGood)
        }
        #expect(Set(PushSim.current.journal.flatMap(\.rules)).count == 16)
    }

    @Test("undecryptable-records: not one opens; without the profile the next does")
    func undecryptable() async throws {
        let sim = PushSim.current
        let device = try await device()
        try sim.setProfile("undecryptable-records")
        for _ in 0..<13 { try await sim.fluxer.notify(channel: "1", title: "a", body: "") }
        let pushes = device.inbox.deliveries
        #expect(pushes.count == 13)
        for push in pushes {
            let error = #expect(throws: PushSimError.self) { try device.decrypt(push) }
            #expect(error?.description.hasSuffix("it fails at tag.") == true)
        }
        try sim.setProfile(nil)
        try await sim.fluxer.notify(channel: "1", title: "b", body: "")
        #expect(try device.decrypt(try await device.inbox.next(after: pushes.last))["title"] == "b")
    }

    @Test("malformed-records: every row of the catalogue in turn, each failing or opening where it says")
    func malformedRecords() async throws {
        let sim = PushSim.current
        let device = try await device()
        try sim.setProfile("malformed-records")
        for _ in 0..<97 { try await sim.fluxer.notify(channel: "1", title: "a", body: "") }
        let inbox = try await sim.fluxer("GET", "/__pushsim/inbox?token=\(device.endpoint)").json
        let faults = (inbox["deliveries"]?.elements ?? []).compactMap { $0["fault"]?.string }
        #expect(faults.count == 97 && Set(faults).count == 97)
        for (fault, push) in zip(faults, device.inbox.deliveries) {
            let stage = try Self.stage { _ = try device.decrypt(push) }
            #expect(stage == Self.stages[fault], "\(fault)")
        }
    }

    private static let stages: [String: String] = {
        var stages: [String: String] = [:]
        for (id, stage) in RecordFaults.stages { stages[id] = id == "P11" ? "tag" : stage }
        return stages
    }()

    private static func stage(_ open: () throws -> Void) throws -> String {
        do {
            try open()
            return "none"
        } catch let error as PushSimError {
            return String(error.description.dropLast().split(separator: " ").last ?? "")
        }
    }

    @Test("late-and-duplicated: twice, and held back")
    func late() async throws {
        let sim = PushSim.current
        let device = try await device()
        try sim.setProfile("late-and-duplicated")
        for title in ["a", "b", "c"] { try await sim.fluxer.notify(channel: "1", title: title, body: "") }
        func titles() throws -> [String] {
            try device.inbox.deliveries.map { try device.decrypt($0)["title"]?.string ?? "" }
        }
        #expect(try titles() == ["a", "a", "c"])
        await sim.advance(by: .seconds(20))
        #expect(try titles() == ["a", "a", "c", "b"])
    }

    @Test("expired-token and lost-state: the second call is 401, the subscriber is forgotten")
    func lost() async throws {
        let sim = PushSim.current
        try sim.setProfile("expired-token")
        #expect(try await registerNTM().status == 200)
        #expect(try await registerNTM().status == 401)
        sim.reset()
        try sim.setProfile("lost-state")
        let id = String(try await registerNTM().body.text.dropFirst(7).prefix(30))
        let answer = try await call(
            port: sim.url.port ?? 0, "POST", "/v1/subscription/subscriber/\(id)/topic/example.com/video/alice",
            fields: [ntm])
        #expect(answer.status == 452)
    }

    @Test("call-trouble: late, dead, doubled, for somebody else, and none at all")
    func callTrouble() async throws {
        let sim = PushSim.current
        let device = try sim.device(.iosAPNsVoIP)
        try await device.register()
        try sim.setProfile("call-trouble")
        for message in 1...5 { try await sim.fluxer.ring(channel: "\(message)", message: "\(message)") }
        let pushes = device.inbox.deliveries
        let payloads = try pushes.map { try device.decrypt($0) }
        #expect(payloads.map { $0["data"]?["message_id"]?.string } == ["2", "3", "3", "4", "5"])
        #expect(try await sim.fluxer("POST", "/v1/channels/2/call/stop-ringing").status == 404)
        #expect(try await sim.fluxer("POST", "/v1/channels/3/call/stop-ringing").status == 204)
        #expect(payloads[3]["data"]?["target_user_id"] != payloads[1]["data"]?["target_user_id"])
        #expect(payloads[4]["type"] == nil && payloads[4]["title"] == "No call")
        await sim.advance(by: .seconds(40))
        #expect(try device.decrypt(device.inbox.deliveries[5])["data"]?["message_id"] == "1")
    }

    @Test("chaos: the same mix for the same seed")
    func chaos() async throws {
        func run() async throws -> [String] {
            let sim = try await PushSim.start(profile: "chaos", clock: .frozen)
            var seen: [String] = []
            for number in 0..<40 {
                let answer = try await sim.respond(
                    to: Array("GET /v1/x\(number) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8),
                    advancing: sim)
                seen.append(String(answer.prefix(40)))
            }
            await sim.stop()
            return seen
        }
        let first = try await run()
        #expect(Set(first).count > 3)
        #expect(try await run() == first)
    }
}

extension PushSim {
    /// Asks without a socket, and moves the clock so far that no delay is left.
    fileprivate func respond(to request: [UInt8], advancing sim: PushSim) async throws -> String {
        let before = journal.count
        async let answer = respond(to: request)
        try await eventually { self.journal.count > before }
        await advance(by: .seconds(1))
        return String(decoding: try await answer, as: UTF8.self)
    }
}
