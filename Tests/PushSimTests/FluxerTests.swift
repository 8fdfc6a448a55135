import Foundation
import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Testing

@Suite("Fluxer over real sockets (fluxer.md)", .pushSim(clock: .frozen))
struct FluxerTests {
    @Test(
        "The four device_ids of the contract",
        arguments: [
            ("ios_apns", "0123456789abcdef", "", "93654a23c3537fd658c2f49eec56a102"),
            ("android_fcm", "fcm-token-1", "", "eaf6f0ca2c1e9a864a0088dd838e62d9"),
            (
                "android_unified_push", "https://unifiedpush.example.com/device-with-keys", keys,
                "266247c7b3ac2a813d421fed2b2c359b"
            ),
            (
                "ios_apns_voip", "https://relay.example.com/apns-voip/device-1", keys,
                "45bd978a8b984ad114923c97d72f9858"
            ),
        ])
    func deviceIDs(_ platform: String, _ token: String, _ more: String, _ id: String) async throws {
        let answer = try await PushSim.current.register(platform, token, more)
        #expect(answer.status == 200)
        #expect(answer.body.text == #"{"device_id":"\#(id)"}"#)
    }

    @Test("Every answer carries Fluxer's headers, the request's own X-Request-ID echoed")
    func headers() async throws {
        let sim = PushSim.current
        let answer = try await sim.fluxer("GET", devices, fields: [("X-Request-ID", "r1")])
        #expect(answer.fields.first("X-Request-ID")?.text == "r1")
        #expect(answer.fields.first("X-Fluxer-Version") != nil)
        #expect(answer.fields.first("Cache-Control")?.text == "no-cache")
        let unknown = try await sim.fluxer("GET", "/v1/nothing")
        #expect(unknown.fields.first("X-Request-ID")?.count == 36)
        #expect(unknown.fields.first("X-RateLimit-Limit") == nil)
    }

    @Test("Mobile and web registrations share a store and are listed apart")
    func lists() async throws {
        let sim = PushSim.current
        _ = try await sim.register("ios_apns", "abc", #""user_agent":"app/1""#)
        let web = try await sim.fluxer(
            "POST", "/v1/users/@me/push/subscribe",
            #"{"endpoint":"https://web.example.com/1","keys":{"p256dh":"\#(key)","auth":"\#(secret)"}}"#)
        #expect(web.status == 200)
        let id = try #require(web.json["subscription_id"]?.string)
        #expect(id == "99632c00373246b74d7171b7f05a6862")
        let mobile = try await sim.fluxer("GET", devices)
        #expect(
            mobile.body.text
                == #"{"devices":[{"device_id":"\#(mobile.json["devices"]?[0]?["device_id"]?.string ?? "")","platform":"ios_apns","app_id":"stable","provider_environment":"production","user_agent":"app/1"}]}"#
        )
        let browsers = try await sim.fluxer("GET", "/v1/users/@me/push/subscriptions")
        #expect(browsers.body.text == #"{"subscriptions":[{"subscription_id":"\#(id)","user_agent":null}]}"#)
        let rotated = try await sim.fluxer(
            "POST", "/v1/users/@me/push/rotate",
            #"{"old_endpoint":"https://web.example.com/1","endpoint":"https://web.example.com/2","keys":{"p256dh":"\#(key)","auth":"\#(secret)"}}"#
        )
        let next = try #require(rotated.json["subscription_id"]?.string)
        #expect(next != id)
        let gone = try await sim.fluxer("DELETE", "/v1/users/@me/push/subscriptions/\(next)")
        #expect(gone.body.text == #"{"success":true}"#)
        #expect(
            try await sim.fluxer("GET", "/v1/users/@me/push/subscriptions").body.text == #"{"subscriptions":[]}"#)
    }

    @Test("Unregistering answers success also when nothing matches")
    func unregister() async throws {
        let sim = PushSim.current
        _ = try await sim.register("ios_apns", "abc")
        let body = #"{"platform":"ios_apns","token":"abc"}"#
        for _ in 0..<2 {
            let answer = try await sim.fluxer("POST", "\(devices)/unregister", body)
            #expect(answer.status == 200)
            #expect(answer.body.text == #"{"success":true}"#)
        }
        #expect(try await sim.fluxer("GET", devices).body.text == #"{"devices":[]}"#)
        let id = try await sim.register("ios_apns", "abc").json["device_id"]?.string ?? ""
        #expect(try await sim.fluxer("DELETE", "\(devices)/\(id)").body.text == #"{"success":true}"#)
        #expect(try await sim.fluxer("GET", devices).body.text == #"{"devices":[]}"#)
        let wrong = try await sim.fluxer("POST", "\(devices)/unregister", "{}")
        #expect(wrong.errors == ["platform INVALID_FORMAT", "token INVALID_FORMAT"])
    }

    @Test(
        "Paths: %40me, without /v1; a trailing slash and a wrong method are unknown",
        arguments: [
            ("GET", "/v1/users/%40me/mobile-devices", 200), ("GET", "/users/@me/mobile-devices", 200),
            ("GET", "/users/%40me/mobile-devices", 200), ("GET", "/v1/users/@me/mobile-devices/", 404),
            ("PUT", "/v1/users/@me/mobile-devices", 404), ("GET", "/v1/users/@me%2Fmobile-devices", 404),
            ("GET", "/v1", 404), ("PATCH", "/.well-known/fluxer", 404),
        ])
    func paths(_ method: String, _ path: String, _ status: Int) async throws {
        let answer = try await PushSim.current.fluxer(method, path)
        #expect(answer.status == status)
        if status == 404, path != "/v1" { #expect(answer.fluxerCode == "NOT_FOUND") }
    }

    @Test(
        "Credentials",
        arguments: [
            (nil, 401, "UNAUTHORIZED"), ("Bot abc", 403, "ACCESS_DENIED"), ("Bearer oauth", 403, "ACCESS_DENIED"),
            ("Admin abc", 401, "UNAUTHORIZED"), ("flx_short", 401, "UNAUTHORIZED"),
            ("Bearer flx_short", 401, "UNAUTHORIZED"), ("two words", 401, "UNAUTHORIZED"),
            ("flx_" + String(repeating: "a1B", count: 12), 200, nil),
            ("Bearer flx_" + String(repeating: "a1B", count: 12), 200, nil), ("any-text", 200, nil),
        ] as [(String?, Int, String?)])
    func credentials(_ value: String?, _ status: Int, _ code: String?) async throws {
        let answer = try await PushSim.current.fluxer("GET", devices, as: value)
        #expect(answer.status == status)
        #expect(answer.fluxerCode == code)
        #expect(answer.fields.first("WWW-Authenticate") == nil)
    }

    @Test("fluxer.tokens and fluxer.accounts: strict")
    func strictCredentials() async throws {
        let sim = PushSim.current
        try sim.setOption("fluxer.tokens", to: "strict")
        #expect(try await sim.fluxer("GET", devices, as: "alice").status == 401)
        let fresh = "flx_" + String(repeating: "z", count: 36)
        #expect(try await sim.fluxer("GET", devices, as: fresh).status == 200)
        try sim.setOption("fluxer.accounts", to: "strict")
        #expect(try await sim.fluxer("GET", devices, as: "flx_" + String(repeating: "y", count: 36)).status == 401)
        let minted = try sim.fluxer.session()
        #expect(minted.token.utf8.count == 40)
        #expect(try await sim.fluxer("GET", devices, as: minted.token).status == 200)
        let second = try sim.fluxer.session(account: minted.account)
        #expect(second.account == minted.account && second.token != minted.token)
    }

    @Test("Logout ends the session and takes its registrations, not those of another session")
    func logout() async throws {
        let sim = PushSim.current
        let first = try sim.fluxer.session()
        let second = try sim.fluxer.session(account: first.account)
        _ = try await sim.register("ios_apns", "one", as: first.token)
        _ = try await sim.register("ios_apns", "two", as: second.token)
        #expect(try await sim.fluxer("POST", "/v1/auth/logout", as: first.token).status == 204)
        #expect(try await sim.fluxer("GET", devices, as: first.token).status == 401)
        let left = try await sim.fluxer("GET", devices, as: second.token).json["devices"]?.elements
        #expect(left?.count == 1)
    }

    @Test(
        "Validation of a registration",
        arguments: [
            ("[]", ["root INVALID_FORMAT"]), ("{", ["body INVALID_FORMAT"]), ("", ["body INVALID_FORMAT"]),
            ("{}", ["platform INVALID_FORMAT", "token INVALID_FORMAT"]),
            (#"{"platform":"ios","token":"a"}"#, ["platform INVALID_FORMAT"]),
            (#"{"platform":"ios_apns","token":5}"#, ["token INVALID_FORMAT"]),
            (#"{"platform":"ios_apns","token":""}"#, ["token INVALID_FORMAT"]),
            (#"{"platform":"ios_apns","token":"  \n "}"#, ["token INVALID_FORMAT"]),
            (#"{"platform":"ios_apns","token":"a","app_id":""}"#, ["app_id INVALID_FORMAT"]),
            (#"{"platform":"ios_apns","token":"a","app_id":null}"#, ["app_id INVALID_FORMAT"]),
            (
                #"{"platform":"ios_apns","token":"a","provider_environment":"test"}"#,
                ["provider_environment INVALID_FORMAT"]
            ),
            (#"{"platform":"ios_apns","token":"https://a.example/"}"#, ["token INVALID_FORMAT"]),
            (#"{"platform":"ios_apns","token":"HTTP://a.example/"}"#, ["token INVALID_FORMAT"]),
            (
                #"{"platform":"ios_apns_voip","token":"abc"}"#,
                ["token INVALID_FORMAT", "encryption_key INVALID_FORMAT", "auth_secret INVALID_FORMAT"]
            ),
            (
                #"{"platform":"android_unified_push","token":"https://a.example/"}"#,
                ["encryption_key INVALID_FORMAT", "auth_secret INVALID_FORMAT"]
            ),
            (
                #"{"platform":"ios_apns","token":"https://a.example/","auth_secret":"x"}"#,
                ["encryption_key INVALID_FORMAT"]
            ),
            (
                #"{"platform":"android_fcm","token":"abc:APA91","encryption_key":"x","auth_secret":"y"}"#,
                ["token INVALID_FORMAT"]
            ),
        ])
    func validation(_ body: String, _ errors: [String]) async throws {
        let answer = try await PushSim.current.fluxer("POST", devices, body)
        #expect(answer.status == 400)
        #expect(answer.fluxerCode == "INVALID_FORM_BODY")
        #expect(answer.errors == errors)
    }

    @Test("Lengths count UTF-16 units after trimming and without control characters")
    func lengths() async throws {
        let sim = PushSim.current
        let emoji = String(repeating: "😀", count: 64)
        #expect(try await sim.register("ios_apns", "a", #""app_id":" \#(emoji)\t""#).status == 200)
        let long = try await sim.register("ios_apns", "a", #""app_id":"\#(emoji)x""#)
        #expect(long.errors == ["app_id STRING_LENGTH_INVALID"])
        #expect(try await sim.register("ios_apns", String(repeating: "t", count: 4096)).status == 200)
        let token = try await sim.register("ios_apns", String(repeating: "t", count: 4097))
        #expect(token.errors == ["token STRING_LENGTH_INVALID"])
        let clean = try await sim.register("ios_apns", #" 0123456789\u0007abcdef\u0000 "#)
        #expect(clean.json["device_id"]?.string == "93654a23c3537fd658c2f49eec56a102")
    }

    @Test("A vendor's token may have colons; unknown fields are ignored; values on other platforms count in the id")
    func vendorTokens() async throws {
        let sim = PushSim.current
        #expect(try await sim.register("android_fcm", "abc:APA91bH", #""more":[1]"#).status == 200)
        let plain = try await sim.register("android_unified_push", "https://a.example/1", keys)
        let valued = try await sim.register(
            "android_unified_push", "https://a.example/1", keys + #","provider_environment":"production""#)
        #expect(plain.json["device_id"] != valued.json["device_id"])
    }

    @Test("The same registration again replaces it; another account may hold the same token")
    func replacing() async throws {
        let sim = PushSim.current
        let first = try await sim.register("ios_apns", "abc", #""user_agent":"1""#)
        let again = try await sim.register("ios_apns", "abc", #""user_agent":"2""#)
        #expect(first.json["device_id"] == again.json["device_id"])
        let rows = try await sim.fluxer("GET", devices).json["devices"]
        #expect(rows?.elements?.count == 1 && rows?[0]?["user_agent"] == "2")
        #expect(try await sim.register("ios_apns", "abc", as: "bob").json["device_id"] == first.json["device_id"])
    }

    @Test(
        "Endpoints that are no public https URL are refused",
        arguments: [
            ("http://a.example/", "INVALID_FORMAT"), ("ftp://a.example/", "INVALID_FORMAT"),
            ("https://localhost/", "INVALID_FORMAT"), ("https://user@a.example/", "INVALID_FORMAT"),
            ("https://a.example/#x", "INVALID_FORMAT"), ("https://a.example./", "INVALID_FORMAT"),
            ("https://a/", "INVALID_FORMAT"), ("https:///x", "INVALID_FORMAT"),
            ("https://a.example:99999/", "INVALID_FORMAT"),
            ("https://a.example:x/", "INVALID_FORMAT"), ("https://[::1/", "INVALID_FORMAT"),
            ("https://1.2.3.4.5/", "INVALID_FORMAT"), ("https://256.1.1.1/", "INVALID_FORMAT"),
            ("https://１２７.0.0.1/", "INVALID_FORMAT"), ("https://a。example/", "INVALID_FORMAT"),
            ("https://8.8.8.8./", "INVALID_FORMAT"), ("https://[fe80::1%25eth0]/", "INVALID_FORMAT"),
            ("https://127.0.0.1/", "URL_NOT_PUBLICLY_ROUTABLE"), ("https://0.0.0.0/", "URL_NOT_PUBLICLY_ROUTABLE"),
            ("https://10.1.2.3/", "URL_NOT_PUBLICLY_ROUTABLE"), ("https://100.64.0.1/", "URL_NOT_PUBLICLY_ROUTABLE"),
            ("https://169.254.1.1/", "URL_NOT_PUBLICLY_ROUTABLE"),
            ("https://172.16.0.1/", "URL_NOT_PUBLICLY_ROUTABLE"),
            ("https://172.31.255.255/", "URL_NOT_PUBLICLY_ROUTABLE"),
            ("https://192.0.0.1/", "URL_NOT_PUBLICLY_ROUTABLE"), ("https://192.0.2.1/", "URL_NOT_PUBLICLY_ROUTABLE"),
            ("https://192.88.99.1/", "URL_NOT_PUBLICLY_ROUTABLE"),
            ("https://192.168.0.1/", "URL_NOT_PUBLICLY_ROUTABLE"),
            ("https://198.19.0.1/", "URL_NOT_PUBLICLY_ROUTABLE"),
            ("https://198.51.100.1/", "URL_NOT_PUBLICLY_ROUTABLE"),
            ("https://203.0.113.1/", "URL_NOT_PUBLICLY_ROUTABLE"),
            ("https://224.0.0.1/", "URL_NOT_PUBLICLY_ROUTABLE"),
            ("https://255.255.255.255/", "URL_NOT_PUBLICLY_ROUTABLE"),
            ("https://0x7f.1/", "URL_NOT_PUBLICLY_ROUTABLE"), ("https://2130706433/", "URL_NOT_PUBLICLY_ROUTABLE"),
            ("https://127.1/", "URL_NOT_PUBLICLY_ROUTABLE"), ("https://0177.0.0.1/", "URL_NOT_PUBLICLY_ROUTABLE"),
            ("https://0X7F000001/", "URL_NOT_PUBLICLY_ROUTABLE"),
            ("https://127.0.0.%31/", "URL_NOT_PUBLICLY_ROUTABLE"),
            ("https://%31%32%37.1/", "URL_NOT_PUBLICLY_ROUTABLE"), ("HTTPS://127.0.0.1/", "URL_NOT_PUBLICLY_ROUTABLE"),
            ("https://[::]/", "URL_NOT_PUBLICLY_ROUTABLE"), ("https://[::1]/", "URL_NOT_PUBLICLY_ROUTABLE"),
            ("https://[0:0:0:0:0:0:0:1]/", "URL_NOT_PUBLICLY_ROUTABLE"),
            ("https://[2001:db8::1]/", "URL_NOT_PUBLICLY_ROUTABLE"),
            ("https://[fc00::1]/", "URL_NOT_PUBLICLY_ROUTABLE"),
            ("https://[FD12::1]/", "URL_NOT_PUBLICLY_ROUTABLE"), ("https://[fe80::1]/", "URL_NOT_PUBLICLY_ROUTABLE"),
            ("https://[febf::1]/", "URL_NOT_PUBLICLY_ROUTABLE"), ("https://[ff02::1]/", "URL_NOT_PUBLICLY_ROUTABLE"),
            ("https://[::ffff:10.0.0.1]/", "URL_NOT_PUBLICLY_ROUTABLE"),
            ("https://[::ffff:7f00:1]/", "URL_NOT_PUBLICLY_ROUTABLE"),
            ("https://[64:ff9b::10.0.0.1]/", "URL_NOT_PUBLICLY_ROUTABLE"),
            ("https://[::127.0.0.1]/", "URL_NOT_PUBLICLY_ROUTABLE"),
            ("https://[2002:7f00:1::]/", "URL_NOT_PUBLICLY_ROUTABLE"),
        ])
    func refusedEndpoints(_ url: String, _ code: String) async throws {
        let answer = try await PushSim.current.register("android_unified_push", url, keys)
        #expect(answer.status == 400)
        #expect(answer.errors == ["token \(code)"])
    }

    @Test(
        "Public endpoints are let in",
        arguments: [
            "https://a.example/", "https://a.example", "https://a.example?x=1", "https://a.example:8443/x",
            "https://8.8.8.8/", "https://172.32.0.1/", "https://100.128.0.1/", "https://[2606:4700::1111]/",
            "https://[::ffff:8.8.8.8]/", "https://[2002:808:808::]/", "https://münchen.example/x",
            "https://192.0.1.1/",
        ])
    func publicEndpoints(_ url: String) async throws {
        #expect(try await PushSim.current.register("android_unified_push", url, keys).status == 200)
    }

    @Test("fluxer.privateEndpoints and fluxer.routableErrorCode")
    func endpointOptions() async throws {
        let sim = PushSim.current
        try sim.setOption("fluxer.routableErrorCode", to: "top")
        let top = try await sim.register("android_unified_push", "https://10.0.0.1/", keys)
        #expect(top.fluxerCode == "URL_NOT_PUBLICLY_ROUTABLE")
        try sim.setOption("fluxer.privateEndpoints", to: "allow")
        for url in ["http://127.0.0.1:9000/x", "http://localhost/x", "https://10.0.0.1/"] {
            #expect(try await sim.register("android_unified_push", url, keys).status == 200)
        }
        let long = "https://a.example/" + String(repeating: "x", count: 2030)
        #expect(try await sim.register("android_unified_push", long + "x", keys).errors == ["token INVALID_FORMAT"])
        #expect(try await sim.register("android_unified_push", long, keys).status == 200)
    }

    @Test("fluxer.keys: checked refuses what is no key, by name")
    func checkedKeys() async throws {
        let sim = PushSim.current
        let bad = #""encryption_key":"AAAA","auth_secret":"BBBB""#
        #expect(try await sim.register("android_unified_push", "https://a.example/", bad).status == 200)
        try sim.setOption("fluxer.keys", to: "checked")
        let answer = try await sim.register("android_unified_push", "https://a.example/", bad)
        #expect(answer.errors == ["encryption_key INVALID_FORMAT", "auth_secret INVALID_FORMAT"])
        #expect(try await sim.register("android_unified_push", "https://a.example/", keys).status == 200)
    }

    @Test("Discovery needs no session and gives the VAPID key; the gateway is null")
    func discovery() async throws {
        let sim = PushSim.current
        let answer = try await sim.fluxer("GET", "/.well-known/fluxer", as: nil)
        #expect(answer.status == 200)
        #expect(answer.fields.first("Access-Control-Allow-Origin")?.text == "*")
        #expect(answer.json["push"]?["public_vapid_key"]?.string?.utf8.count == 87)
        #expect(answer.json["endpoints"]?["gateway"] == JSON.null)
        #expect(answer.json["endpoints"]?["api"]?.string == "\(sim.url.absoluteString)/v1")
    }

    @Test("A flagged account is refused with its flags; a revoked session is 401")
    func flagged() async throws {
        let sim = PushSim.current
        let state = #"{"fluxer":{"accounts":[{"id":"7","sessions":["eve"],"flags":["email"]}]}}"#
        let put = try await sim.fluxer("PUT", "/__pushsim/state", state)
        #expect(put.status == 204)
        let answer = try await sim.fluxer("GET", devices, as: "eve")
        #expect(answer.status == 403)
        #expect(answer.fluxerCode == "ACCOUNT_SUSPICIOUS_ACTIVITY")
        #expect(answer.json["data"]?["suspicious_activity_flags"] == ["email"])
    }

    @Test(
        "A scripted status without a body has Fluxer's own",
        arguments: [
            (400, "BAD_REQUEST"), (403, "FORBIDDEN"), (404, "NOT_FOUND"), (405, "METHOD_NOT_ALLOWED"),
            (409, "CONFLICT"), (413, "PAYLOAD_TOO_LARGE"), (429, "RATE_LIMITED"), (500, "INTERNAL_SERVER_ERROR"),
            (502, "BAD_GATEWAY"), (503, "SERVICE_UNAVAILABLE"), (504, "GATEWAY_TIMEOUT"),
        ])
    func scripted(_ status: Int, _ code: String) async throws {
        let sim = PushSim.current
        try sim.setProfile(.json5("{ rules: [ { on: { backend: 'fluxer' }, then: { status: \(status) } } ] }"))
        let answer = try await sim.fluxer("POST", devices, "{}")
        #expect(answer.status == status)
        #expect(answer.fluxerCode == code)
        #expect(answer.fields.first("X-Request-ID") != nil)
        if status == 503 { #expect(answer.fields.first("Retry-After")?.text == "1") }
        if status == 429 { #expect(answer.fields.first("X-RateLimit-Bucket")?.text == "b987d7a113a1b063") }
    }

    @Test("lose: registration and session")
    func lose() async throws {
        let sim = PushSim.current
        _ = try await sim.register("ios_apns", "abc")
        try sim.setProfile(
            .json5("{ rules: [ { on: { route: 'stopRinging' }, then: { lose: 'registration' } } ] }"))
        _ = try await sim.fluxer("POST", "/v1/channels/1/call/stop-ringing")
        #expect(try await sim.fluxer("GET", devices).body.text == #"{"devices":[]}"#)
        try sim.setProfile(.json5("{ rules: [ { on: { route: 'stopRinging' }, then: { lose: 'session' } } ] }"))
        _ = try await sim.fluxer("POST", "/v1/channels/1/call/stop-ringing")
        #expect(try await sim.fluxer("GET", devices).status == 401)
    }

    @Test("State goes out and comes back the same")
    func state() async throws {
        let sim = PushSim.current
        _ = try await sim.register("android_unified_push", "https://a.example/", keys)
        _ = try await sim.fluxer.notify(channel: "1", title: "a", body: "b")
        let before = try await sim.fluxer("GET", "/__pushsim/state").body
        sim.reset()
        #expect(try await sim.fluxer("PUT", "/__pushsim/state", before.text).status == 204)
        #expect(try await sim.fluxer("GET", "/__pushsim/state").body == before)
        let bad = try await sim.fluxer("PUT", "/__pushsim/state", #"{"fluxer":{"accounts":[{"id":"x"}]}}"#)
        #expect(bad.status == 400)
        #expect(try await sim.fluxer("GET", "/__pushsim/state").body == before)
    }
}
