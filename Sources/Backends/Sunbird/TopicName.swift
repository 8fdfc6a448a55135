import PushSimSimulation
import PushSimWire

/// Names of FCM's topics: `[a-zA-Z0-9-_.~%]{1,900}`, with or without `/topics/` before them.
package enum TopicName {
    static let prefix = Array("/topics/".utf8)

    static func bare(_ name: [UInt8]) -> [UInt8] {
        name.starts(with: prefix) ? Array(name.dropFirst(prefix.count)) : name
    }

    /// A segment of a path; one with a bad escape stands for itself, since `%` may be in a name.
    static func decoded(_ segment: ArraySlice<UInt8>) -> [UInt8] { Percent.decode(segment) ?? Array(segment) }

    /// The name that is subscribed to; nil where it is none.
    package static func checked(_ name: [UInt8], isStrict: Bool) -> [UInt8]? {
        let own = bare(name)
        guard (1...900).contains(own.count), own.isUTF8 else { return nil }
        return !isStrict || own.allSatisfy(isAllowed) ? own : nil
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case 37, 45, 46, 48...57, 65...90, 95, 97...122, 126: true
        default: false
        }
    }

    /// `{topic}:subscribe` or `{topic}:unsubscribe`, raw.
    static func withVerb(_ segment: ArraySlice<UInt8>) -> (topic: [UInt8], isAdding: Bool)? {
        guard let colon = segment.lastIndex(of: Byte.colon) else { return nil }
        let topic = decoded(segment[..<colon])
        switch Array(segment[(colon + 1)...]).text {
        case "subscribe": return (topic, true)
        case "unsubscribe": return (topic, false)
        default: return nil
        }
    }
}

/// A registration token: 1 to 512 of `[A-Za-z0-9:_.-]`.
enum DeviceToken {
    static func isWellFormed(_ token: [UInt8]) -> Bool {
        (1...512).contains(token.count)
            && token.allSatisfy { byte in
                switch byte {
                case 45, 46, 48...58, 65...90, 95, 97...122: true
                default: false
                }
            }
    }
}

/// The form that a device sends to `/iid/register`: with a topic it subscribes the token that `sender` names, as Google's
/// client does; without one it registers.
struct DeviceForm {
    let token: [UInt8]?
    let topic: [UInt8]?
    let isDeleting: Bool
    /// What makes the token of a device that has none: device, app and sender.
    let identity: [[UInt8]]

    init?(_ call: Call) {
        guard let body = call.plainBody(), let pairs = Percent.form(body) else { return nil }
        func value(_ name: StaticString) -> [UInt8]? {
            pairs.last { $0.name.isSame(as: name) }?.value
        }
        let given = value("X-gcm.topic")
        topic = given.map(TopicName.bare)
        isDeleting = value("delete")?.isSame(as: "true") ?? value("X-delete")?.isSame(as: "1") ?? false
        identity = [value("device") ?? [], value("app") ?? [], value("sender") ?? []]
        token = given == nil ? nil : value("sender") ?? value("X-subtype")
        // Nothing that tells a device, as in a body that is no form at all.
        if identity.allSatisfy(\.isEmpty), token == nil { return nil }
    }
}
