import PushSimJSONText

/// Members of a HAR that PushSim makes nothing of and gives back as they were (R2), by the object they stand in: the text
/// of a JSON object each.
package struct UnknownMembers: Hashable, Sendable {
    package enum Place: Int, CaseIterable, Sendable {
        case entry, request, postData, response, content, timings, cache

        /// What is made anew from what the entry is.
        fileprivate static let known: [[StaticString]] = [
            ["startedDateTime", "time", "request", "response", "cache", "timings", "_pushsim"],
            [
                "method", "url", "_url64", "httpVersion", "cookies", "headers", "queryString", "postData",
                "headersSize",
                "bodySize",
            ],
            ["mimeType", "text", "encoding", "params", "_file", "size"],
            [
                "status", "statusText", "_statusText64", "httpVersion", "cookies", "headers", "content", "redirectURL",
                "headersSize", "bodySize", "_error",
            ],
            ["size", "mimeType", "text", "encoding", "_file"], ["send", "wait", "receive"], [],
        ]
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
        if let text = value?.text(besides: Place.known[place.rawValue]) { texts[place] = text }
    }

    /// Of the log as a whole.
    static func log(_ value: JSONValue) -> [UInt8]? {
        value.text(besides: ["version", "creator", "_pushsim", "entries"])
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
