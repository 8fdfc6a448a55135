import Foundation
import PushSimTestSupport
import PushSimTesting
import PushSimWebPush
import PushSimWire
import Testing

private let bearer = ("Authorization", "Bearer another-session")

@Suite("The shipped recordings")
struct RecordingsTests {
    private func ask(
        _ method: String, _ target: String, _ fields: [(String, String)] = [bearer], _ body: String = ""
    ) async throws -> Response {
        try await call(port: PushSim.current.url.port ?? 0, method, target, fields: fields, body: body)
    }

    private func id(_ response: Response) throws -> String {
        try #require(JSON(try JSONDocument(response.body).root)["id"]?.string)
    }

    @Test("ntm-register-apns answers any token", .cassette("ntm-register-apns", isComplete: true))
    func registerByAPNs() async throws {
        let body = #"{"app_domain":"example.com","token":"my-own-token","proto":"apns"}"#
        #expect(try id(await ask("POST", "/v1/subscriber", [bearer], body)).utf8.count == 30)
    }

    @Test("ntm-register-xmpp answers its routing id", .cassette("ntm-register-xmpp", isComplete: true))
    func registerByXMPP() async throws {
        let body = #"{"proto":"xmpp","token":"alice@example.com","app_domain":"example.com"}"#
        #expect(try id(await ask("POST", "/v1/subscriber", [bearer], body)).utf8.count == 30)
    }

    @Test(
        "The deregistrations are whole lives of a subscriber",
        arguments: [("apns", "any-token"), ("xmpp", "alice@example.com")])
    func deregister(_ proto: String, _ token: String) async throws {
        try await withCassette("ntm-deregister-\(proto)", isComplete: true) { _ in
            let body = #"{"proto":"\#(proto)","token":"\#(token)","app_domain":"example.com"}"#
            let id = try id(await ask("POST", "/v1/subscriber", [bearer], body))
            let topics = ["example.com/video", "federation/pstn", "example.com/chat"]
            for method in ["POST", "DELETE"] {
                for topic in topics {
                    let path = "/v1/subscription/subscriber/\(id)/topic/\(topic)/alice%40example.com"
                    #expect(try await ask(method, path).status == 200)
                }
            }
            #expect(try await ask("DELETE", "/v1/subscriber/\(id)").status == 200)
            #expect(try await ask("DELETE", "/v1/subscriber/\(id)").status == 454)
        }
    }

    @Test("fluxer-rate-limited ends with the documented 429", .cassette("fluxer-rate-limited", isComplete: true))
    func limited() async throws {
        var statuses: [Int] = []
        var last = Response(status: 0)
        for number in 0..<21 {
            let body =
                #"{"platform":"ios_apns_voip","token":"https://push.example.org/mine/\#(number)","encryption_key":"\#(key)","auth_secret":"any"}"#
            last = try await ask("POST", "/v1/users/@me/mobile-devices", [("Authorization", "mine")], body)
            statuses.append(last.status)
        }
        #expect(statuses == Array(repeating: 200, count: 20) + [429])
        #expect(last.fields.first("retry-after") != nil)
    }

    private let key = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"

    @Test(
        "A recorded push comes again once its device has registered, made anew for the keys of the replay",
        arguments: [
            ("fluxer-ring", "ios_apns_voip", "call_ring"), ("fluxer-delivery", "android_unified_push", "Hi"),
            ("fluxer-clear", "android_unified_push", "clear"),
        ])
    func pushes(_ name: String, _ platform: String, _ word: String) async throws {
        try await withCassette(name, isComplete: true) { _ in
            let scalar = [UInt8](repeating: 0, count: 31) + [7]
            let pair = try #require(KeyPair(scalar: scalar))
            let secret = [UInt8](repeating: 9, count: 16)
            let endpoint = "https://push.example.org/my/own/endpoint"
            let body =
                #"{"platform":"\#(platform)","token":"\#(endpoint)","encryption_key":"\#(Base64.encode(pair.publicKey))","auth_secret":"\#(Base64.encode(secret))"}"#
            #expect(
                try await ask("POST", "/v1/users/@me/mobile-devices", [("Authorization", "mine")], body).status == 200)
            let push = try await PushSim.current.inbox(of: endpoint).next()
            #expect(String(decoding: push.plaintext ?? [], as: UTF8.self).contains(word))
            let keys = try DeviceKeys(pair: pair, authSecret: secret)
            #expect(try Record.decrypt(push.body, with: keys) == push.plaintext ?? [])
            #expect(push.headers.contains { $0.name == "TTL" })
        }
    }
}
