import Foundation
import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Testing

private let bearer = ("Authorization", "Bearer alice")

extension PushSim {
    fileprivate func send(_ method: String, _ target: String, _ body: String = "") async throws -> Response {
        try await PushSimTestSupport.call(port: url.port ?? 0, method, target, fields: [bearer], body: body)
    }

    fileprivate func subscribe() async throws {
        let answer = try await send(
            "POST", "/v1/subscriber", #"{"proto":"apns","token":"abc","app_domain":"example.com"}"#)
        let id = String(answer.body.text.dropFirst(7).prefix(30))
        let topic = try await send("POST", "/v1/subscription/subscriber/\(id)/topic/example.com/video/alice")
        #expect(topic.status == 200)
    }
}

extension RawClient {
    /// Reads until the bytes so far hold what is wanted.
    fileprivate func receive(until wanted: String) async throws -> String {
        var text = ""
        for _ in 0..<500 {
            let part = try await receive(first: 10, patience: 10)
            text += part.text
            if text.contains(wanted) || part.close != .open { break }
        }
        return text
    }
}

@Suite("The control API (control-api.md)", .pushSim(clock: .frozen))
struct ControlTests {
    @Test("The inbox's stream gives what is there and then each delivery as it comes")
    func inboxStream() async throws {
        let sim = PushSim.current
        try await sim.subscribe()
        try await sim.ntm.notify(topic: "example.com/video/alice")
        let client = try RawClient(port: sim.url.port ?? 0)
        try await client.send("GET /__pushsim/inbox/stream?token=abc HTTP/1.1\r\nHost: localhost\r\n\r\n")
        let first = try await client.receive(until: "id: d1\n")
        #expect(first.contains("Content-Type: text/event-stream\r\n"))
        #expect(!first.contains("Content-Length"))
        #expect(first.contains("event: delivery\nid: d1\ndata: {\"id\":\"d1\","))
        try await sim.ntm.notify(topic: "example.com/video/alice", type: "cancel")
        let second = try await client.receive(until: "\n\n")
        #expect(second.hasPrefix("event: delivery\nid: d2\ndata: {\"id\":\"d2\",") && second.contains("\"cancel\""))
    }

    @Test("A stream's watcher goes with its client")
    func streamEnds() async throws {
        let sim = PushSim.current
        let client = try RawClient(port: sim.url.port ?? 0)
        try await client.send("GET /__pushsim/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        _ = try await client.receive(until: "\r\n\r\n")
        client.finishSending()
        #expect(try await client.receive().close == .fin)
        try await sim.subscribe()
    }

    @Test("The events tell of calls, decisions, deliveries and changes, in order")
    func events() async throws {
        let sim = PushSim.current
        try await sim.subscribe()
        try sim.setProfile(.json5("{ rules: [ { id: 'gone', on: { path: '/v1/none' }, then: { status: 410 } } ] }"))
        let client = try RawClient(port: sim.url.port ?? 0)
        try await client.send("GET /__pushsim/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        _ = try await client.receive(until: "\r\n\r\n")
        _ = try await sim.send("GET", "/v1/none")
        try await sim.ntm.notify(topic: "example.com/video/alice")
        let text = try await client.receive(until: "event: delivery")
        let kinds = text.split(separator: "\n").filter { $0.hasPrefix("event: ") }
        #expect(kinds == ["event: decision", "event: call", "event: delivery"])
        #expect(text.contains(#"data: {"call":3,"rules":["gone"],"draw":null}"#))
    }

    @Test("verify is satisfied by the calls that are there")
    func verifySatisfied() async throws {
        let sim = PushSim.current
        try await sim.subscribe()
        let answer = try await sim.send(
            "POST", "/__pushsim/verify",
            #"{"request":{"backend":"ntm","route":"registerSubscriber"},"count":{"exactly":1}}"#)
        #expect(answer.status == 200)
        #expect(answer.body.text == "{\"satisfied\":true,\"count\":1,\"calls\":[1]}\n")
        let order = try await sim.send(
            "POST", "/__pushsim/verify", #"{"inOrder":[{"path":"/v1/subscriber"},{"route":"subscribe"}]}"#)
        #expect(order.body.text == "{\"satisfied\":true,\"calls\":[1,2]}\n")
    }

    @Test("An unsatisfied verify names the nearest calls and what differs, field by field")
    func verifyUnsatisfied() async throws {
        let sim = PushSim.current
        try await sim.subscribe()
        let answer = try await sim.send(
            "POST", "/__pushsim/verify",
            #"{"request":{"method":"PUT","path":"/v1/subscriber","body":{"proto":"xmpp"}}}"#)
        #expect(answer.status == 422)
        let body = JSON(try JSONDocument(answer.body).root)
        #expect(body["satisfied"] == false)
        #expect(body["message"] == "Wanted at least 1 of such calls, found 0 among 2.")
        #expect(body["nearest"]?[0]?["call"] == 1)
        #expect(
            body["nearest"]?[0]?["differences"]
                == ["method: POST against PUT", #"body $.proto: "xmpp" against "apns""#])
    }

    @Test("DELETE /inbox without a name empties all of them")
    func emptyInboxes() async throws {
        let sim = PushSim.current
        let devices = [try sim.device(.androidUnifiedPush), try sim.device(.androidUnifiedPush)]
        for device in devices { try await device.register() }
        try await sim.fluxer.notify(channel: "1", title: "t", body: "")
        #expect(devices.map(\.inbox.deliveries.count) == [1, 1])
        #expect(try await sim.send("DELETE", "/__pushsim/inbox").status == 204)
        #expect(devices.map(\.inbox.deliveries.count) == [0, 0])
    }

    @Test("verify waits within its time for the call to come")
    func verifyWaits() async throws {
        let sim = PushSim.current
        async let answer = sim.send(
            "POST", "/__pushsim/verify", #"{"request":{"path":"/v1/late"},"within":"5s"}"#)
        _ = try await sim.send("GET", "/v1/late")
        #expect(try await answer.status == 200)
        let never = try await sim.send(
            "POST", "/__pushsim/verify", #"{"request":{"path":"/v1/never"},"within":"10ms"}"#)
        #expect(never.status == 422)
    }

    @Test(
        "Mistakes in verify are named with their place",
        arguments: [
            (#"{}"#, "$"), (#"{"request":{"pth":"/"}}"#, "$.request"), (#"{"request":{},"count":{}}"#, "$.count"),
            (#"{"request":{},"count":{"atLeast":3,"atMost":2}}"#, "$.count"), (#"{"inOrder":{}}"#, "$.inOrder"),
            (#"{"request":{},"kount":1}"#, "$.kount"),
        ])
    func verifyMistakes(_ body: String, _ path: String) async throws {
        let answer = try await PushSim.current.send("POST", "/__pushsim/verify", body)
        #expect(answer.status == 400)
        #expect(JSON(try JSONDocument(answer.body).root)["error"]?["path"] == .string(path))
    }
}
