import PushSimSimulation
import PushSimWire

/// Moves the dates of an answer (contract cassettes.md, "Dates").
enum DateShift {
    private static let names = ["date", "expires", "last-modified"].map { Array($0.utf8) }
    private static let cookie = Array("set-cookie".utf8)
    private static let attribute = Array("expires=".utf8)

    /// - Parameter shift: nanoseconds.
    static func apply(_ shift: Int64, to fields: inout [HeaderField]) {
        for index in fields.indices {
            if names.contains(where: fields[index].isNamed) {
                if let date = HTTPDate.parse(fields[index].value) { fields[index].value = moved(date, shift) }
            } else if fields[index].isNamed(cookie) {
                fields[index].value = cookieMoved(fields[index].value, shift)
            }
        }
    }

    /// When an answer, or a cookie of it, expires; seconds since 1970.
    static func expiry(_ field: HeaderField) -> Int64? {
        if field.isNamed(Array("expires".utf8)) { return HTTPDate.parse(field.value) }
        guard field.isNamed(cookie) else { return nil }
        for part in field.value.split(separator: 59) {
            let bare = Array(part).trimmed
            if bare.count > attribute.count, Array(bare.prefix(attribute.count)).equalsIgnoringCase(attribute) {
                return HTTPDate.parse(Array(bare[attribute.count...]))
            }
        }
        return nil
    }

    private static func moved(_ date: Int64, _ shift: Int64) -> [UInt8] {
        HTTPDate.bytes(date + shift.floorDivided(by: 1_000_000_000))
    }

    private static func cookieMoved(_ value: [UInt8], _ shift: Int64) -> [UInt8] {
        Array(
            value.split(separator: 59, omittingEmptySubsequences: false).map { part -> [UInt8] in
                let text = Array(part)
                let lead = text.prefix { $0 == Byte.space }.count
                let bare = Array(text[lead...])
                guard bare.count > attribute.count, Array(bare.prefix(attribute.count)).equalsIgnoringCase(attribute),
                    let date = HTTPDate.parse(Array(bare[attribute.count...]))
                else { return text }
                return Array(text[..<(lead + attribute.count)]) + moved(date, shift)
            }.joined(separator: [59]))
    }
}
