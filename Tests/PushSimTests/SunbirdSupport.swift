import Foundation
import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Testing

let fcmCredential = [("Authorization", "key=server")]
let greeting = #"""
    {"id":7,"type":2,"epoch":"2026-01-01T05:30:00+0530","expiry":60,
     "actiondata":{"translations":{"en":{"title":"Hi","msg":"there"}}},"unknown":{"kept":1.50}}
    """#
let sunbirdStart: SimClock = .frozen(at: "2026-01-01T00:00:00Z")

extension PushSim {
    func fcm(
        _ method: String, _ target: String, _ body: String = "", fields: [(String, String)] = fcmCredential
    ) async throws -> Response {
        try await PushSimTestSupport.call(port: url.port ?? 0, method, target, fields: fields, body: body)
    }

    func add(_ topic: String, _ tokens: String...) async throws -> Response {
        let list = tokens.map { "\"\($0)\"" }.joined(separator: ",")
        return try await fcm("POST", "/iid/v1:batchAdd", #"{"to":"\#(topic)","registration_tokens":[\#(list)]}"#)
    }

    func broadcast(_ payload: String, _ more: String = "") async throws -> Response {
        try await fcm("POST", "/__pushsim/sunbird/broadcasts", #"{"payload":\#(payload)\#(more)}"#)
    }

    func got(_ token: String) -> [String] {
        inbox(of: token).deliveries.map { $0.plaintext?.text ?? "" }
    }

    func state(of obligation: String) async throws -> String? {
        let rows = try await fcm("GET", "/__pushsim/obligations").json["obligations"]?.elements ?? []
        return rows.first { $0["id"]?.string == obligation }?["state"]?.string
    }
}

extension Response {
    var errorStatus: String? { json["error"]?["status"]?.string }
}
