import PushSimJSONText
import PushSimSimulation

/// Rings that are none (contract fluxer.md, "Faults that are Fluxer's own").
enum RingFault {
    static func apply(_ fault: DeliveryActions.Ring, to payload: inout JSON, _ message: Message) {
        switch fault {
        case .dead: return
        case .expired:
            for name in ["started_at_ms", "expires_at_ms"] {
                guard let time = payload["data"]?[name]?.int else { continue }
                payload.set([.member("data"), .member(name)], .int(time - 120_000))
            }
        case .foreign: payload.set([.member("data"), .member("target_user_id")], "100000000000000001")
        case .notification:
            let account = payload["data"]?["target_user_id"]?.string ?? ""
            let notice = Message.Notice(title: "No call", body: "", icon: Message.icon, imageURL: nil, guildID: nil)
            payload = Message(
                channelID: message.channelID, messageID: message.messageID, content: .notification(notice)
            ).payload(account: account, badgeCount: 1)
        }
    }
}
