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

    @Test("sunbird-broadcast takes a device to its topic and a broadcast there", .cassette("sunbird-broadcast"))
    func broadcast() async throws {
        let form = [("Authorization", "AidLogin 1:2"), ("Content-Type", "application/x-www-form-urlencoded")]
        let registered = try await ask(
            "POST", "/iid/register", form, "sender=590376&device=4711&app=org.sunbird.app")
        let token = String(registered.body.text.dropFirst("token=".count))
        #expect(registered.body.text.hasPrefix("token=") && !token.isEmpty)
        let topic = try await ask("POST", "/iid/register", form, "sender=\(token)&X-gcm.topic=%2Ftopics%2Ftenant-1")
        #expect(topic.status == 200 && topic.body.text == "token=\(token)")
        let info = try await ask("GET", "/iid/info/\(token)?details=true")
        #expect(JSON(try JSONDocument(info.body).root)["rel"]?["topics"]?["tenant-1"] != nil)
        let notification = #"""
            {"id":7,"type":2,"epoch":"2026-01-01T05:30:00+0530","expiry":1440,"actiondata":{"translations":
             {"en":{"title":"Hello","msg":"A new course is there"},"hi":{"title":"x","msg":"y"}}}}
            """#
        let sending = #"""
            {"request":{"notifications":[{"mode":"device","deliveryType":"message","config":{"topic":"tenant-1"},"ids":[],
             "rawData":\#(notification)}]}}
            """#
        let sent = try await ask("POST", "/v1/notification/send", [("Content-Type", "application/json")], sending)
        #expect(JSON(try JSONDocument(sent.body).root)["result"]?["response"] == "success")
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
