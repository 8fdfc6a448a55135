import Foundation
import PushSimTestSupport
import PushSimTesting
import PushSimWire
import Testing

let key = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
let secret = "BTBZMqHH6r4Tts7J_aSIgg"
let keys = #""encryption_key":"\#(key)","auth_secret":"\#(secret)""#
let devices = "/v1/users/@me/mobile-devices"

extension PushSim {
    func fluxer(
        _ method: String, _ target: String, _ body: String = "", as session: String? = "alice",
        fields: [(String, String)] = []
    ) async throws -> Response {
        let own = session.map { [("Authorization", $0)] } ?? []
        return try await PushSimTestSupport.call(
            port: url.port ?? 0, method, target, fields: own + fields, body: body)
    }

    func register(
        _ platform: String, _ token: String, _ more: String = "", as session: String = "alice"
    ) async throws -> Response {
        let tail = more.isEmpty ? "" : ",\(more)"
        return try await fluxer(
            "POST", devices, #"{"platform":"\#(platform)","token":"\#(token)"\#(tail)}"#, as: session)
    }
}

extension Response {
    var json: JSON { (try? JSONDocument(body)).map { JSON($0.root) } ?? .null }
    var fluxerCode: String? { json["code"]?.string }
    /// `path code` of each element.
    var errors: [String] {
        (json["errors"]?.elements ?? []).map { "\($0["path"]?.string ?? "") \($0["code"]?.string ?? "")" }
    }
}
