import PushSimSimulation
import PushSimWire

/// A topic in its normal form: `<app domain>/video/<routing id>` and the like, or `federation/pstn/<routing id>`.
struct Topic: Hashable, Sendable {
    /// The normal form, which compares as bytes.
    let name: [UInt8]
    /// `video`, `chat`, `audio` or `pstn`.
    let kind: String
    /// Empty for PSTN.
    let domain: [UInt8]
    let routingID: [UInt8]
    /// Whether it was written with the app domain before `federation/pstn`.
    let hasForeignPrefix: Bool

    /// The topic without its routing id.
    var parent: [UInt8] { Array(name.dropLast(routingID.count + 1)) }

    /// Undoes up to two layers of percent-encoding; nil where an escape is bad.
    static func decode(_ raw: ArraySlice<UInt8>) -> [UInt8]? {
        var text = Array(raw)
        for _ in 0..<2 {
            guard text.contains(37) else { return text }
            guard let decoded = Percent.decode(text) else { return nil }
            text = decoded
        }
        return text
    }

    /// - Parameter strictPSTN: takes a PSTN topic with the app domain in front for another topic (`ntm.pstnDelete`).
    init?(_ text: [UInt8], strictPSTN: Bool) {
        let parts = text.split(separator: Byte.slash, omittingEmptySubsequences: false).map(Array.init)
        guard let last = parts.last, !last.isEmpty, !parts[0].isEmpty else { return nil }
        routingID = last
        if parts.count == 3, parts[0] == Array("federation"), parts[1] == Array("pstn") {
            (name, kind, domain, hasForeignPrefix) = (text, "pstn", [], false)
            return
        }
        if parts.count == 4, parts[1] == Array("federation"), parts[2] == Array("pstn") {
            name = strictPSTN ? text : Array("federation/pstn/") + last
            (kind, domain, hasForeignPrefix) = ("pstn", [], true)
            return
        }
        guard parts.count == 3, let kind = ["video", "chat", "audio"].first(where: { Array($0.utf8) == parts[1] })
        else {
            return nil
        }
        (name, domain, hasForeignPrefix) = (text, parts[0], false)
        self.kind = kind
    }
}
