import PushSimJSONText
import PushSimWire

/// Members of a HAR that PushSim makes nothing of and gives back as they were (R2), by the object they stand in: the text
/// of a JSON object each.
package struct UnknownMembers: Hashable, Sendable {
    package enum Place: Int, CaseIterable, Sendable {
        case entry, request, postData, response, content, timings, cache

        /// What is made anew from what the entry is.
        fileprivate var known: [StaticString] {
            switch self {
            case .entry: ["startedDateTime", "time", "request", "response", "cache", "timings", "_pushsim"]
            case .request:
                [
                    "method", "url", "_url64", "httpVersion", "cookies", "headers", "queryString", "postData",
                    "headersSize", "bodySize",
                ]
            case .postData: ["mimeType", "text", "encoding", "params", "_file", "size"]
            case .response:
                [
                    "status", "statusText", "_statusText64", "httpVersion", "cookies", "headers", "content",
                    "redirectURL", "headersSize", "bodySize", "_error",
                ]
            case .content: ["size", "mimeType", "text", "encoding", "_file"]
            case .timings: ["send", "wait", "receive"]
            case .cache: []
            }
        }
    }

    package private(set) var texts: [Place: [UInt8]] = [:]

    init() {}

    init(entry: JSONValue) {
        let request = entry.lenientMember("request")
        let response = entry.lenientMember("response")
        add(.entry, entry)
        add(.request, request)
        add(.postData, request?.lenientMember("postData"))
        add(.response, response)
        add(.content, response?.lenientMember("content"))
        add(.timings, entry.lenientMember("timings"))
        add(.cache, entry.lenientMember("cache"))
    }

    private mutating func add(_ place: Place, _ value: JSONValue?) {
        if let text = value.flatMap({ Self.text($0, besides: place.known) }) { texts[place] = text }
    }

    /// Of the log as a whole.
    static func log(_ value: JSONValue) -> [UInt8]? {
        text(value, besides: ["version", "creator", "_pushsim", "entries"])
    }

    private static func text(_ value: JSONValue, besides known: [StaticString]) -> [UInt8]? {
        guard value.kind == .object else { return nil }
        var out: [UInt8] = []
        for member in value.members where !known.contains(where: { member.key.equals($0) }) {
            out.append(out.isEmpty ? 123 : Byte.comma)
            out += member.key.source + [Byte.colon] + member.value.source
        }
        return out.isEmpty ? nil : out + [125]
    }

    subscript(_ place: Place) -> [UInt8]? {
        get { texts[place] }
        set { texts[place] = newValue }
    }

    /// - Parameter isStrict: whether only what HAR 1.2 itself may name is given, without a tool's own members.
    static func members(_ text: [UInt8]?, isStrict: Bool) -> [JSON.Member] {
        guard let text, let root = (try? JSONDocument(text))?.root else { return [] }
        return JSON(root).members?.filter { !isStrict || $0.name.utf8.first != 95 } ?? []
    }
}
