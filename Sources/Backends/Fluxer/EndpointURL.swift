import PushSimSimulation
import PushSimWire

/// The URL of a push endpoint, taken apart.
struct EndpointURL: Hashable, Sendable {
    enum Problem: Error, Hashable {
        /// And what it fails by.
        case notAURL(String)
        case notRoutable
    }

    let isSecure: Bool
    /// Lower case and percent-decoded, with brackets where it has them.
    let host: [UInt8]
    let port: Int
    /// Path and query, at least `/`.
    let target: [UInt8]

    /// Scheme, host and, where it is not the scheme's own, port: the audience of VAPID (RFC 8292 section 2).
    var origin: String {
        "\(isSecure ? "https" : "http")://\(authority)"
    }

    var authority: String { port == (isSecure ? 443 : 80) ? host.text : "\(host.text):\(port)" }

    /// Whether a text begins as an absolute http or https URL.
    static func isURL(_ text: String) -> Bool { scheme(Array(text.utf8)) != nil }

    private static func scheme(_ bytes: [UInt8]) -> (isSecure: Bool, length: Int)? {
        let start = bytes.prefix(8).map(Byte.lowercased)
        if start.starts(with: "https://") { return (true, 8) }
        if start.starts(with: "http://") { return (false, 7) }
        return nil
    }

    /// - Parameter allowsPrivate: lets local endpoints in: plain http, private addresses, localhost.
    init(_ text: String, allowsPrivate: Bool) throws(Problem) {
        let bytes = Array(text.utf8)
        guard let scheme = Self.scheme(bytes) else { throw .notAURL("it does not begin with https://") }
        guard scheme.isSecure || allowsPrivate else { throw .notAURL("http is not https") }
        guard text.utf16.count <= 2048 else { throw .notAURL("it is longer than 2048 characters") }
        guard !bytes.contains(35) else { throw .notAURL("it has a fragment") }
        guard bytes.allSatisfy({ $0 > 32 && $0 != 127 && $0 != 92 }) else {
            throw .notAURL("it has a blank, a control character or a backslash")
        }
        isSecure = scheme.isSecure
        let rest = bytes[scheme.length...]
        let authority = rest.prefix { $0 != Byte.slash && $0 != Byte.questionMark }
        guard !authority.contains(64) else { throw .notAURL("it has userinfo") }
        let (rawHost, port) = try Self.split(authority)
        self.port = port ?? (scheme.isSecure ? 443 : 80)
        guard let decoded = Percent.decode(rawHost), let host = Self.normal(decoded) else {
            throw .notAURL("its host is none")
        }
        try Self.check(host, allowsPrivate)
        // An address however it is spelt is one address: https://134744072/ is https://8.8.8.8/.
        self.host = PublicAddress.ipv4(host).map { Self.dotted($0) } ?? host
        let after = Array(rest.dropFirst(authority.count))
        target = Self.encoded(after.first == Byte.slash ? after : [Byte.slash] + after)
    }

    /// As it may stand in a request line: what a URL cannot hold, letters of other scripts first, is percent-encoded.
    private static func encoded(_ target: [UInt8]) -> [UInt8] {
        guard target.contains(where: { $0 > 126 || raw.contains($0) }) else { return target }
        return target.flatMap { byte in
            byte > 126 || raw.contains(byte) ? Array("%\(String(byte, radix: 16, uppercase: true))".utf8) : [byte]
        }
    }

    private static func dotted(_ address: UInt32) -> [UInt8] {
        Array([24, 16, 8, 0].map { String(address >> $0 & 255) }.joined(separator: ".").utf8)
    }

    private static let raw = Array("\"<>^`{|}".utf8)

    private static func split(_ authority: ArraySlice<UInt8>) throws(Problem) -> (host: ArraySlice<UInt8>, port: Int?) {
        var host = authority
        var digits: ArraySlice<UInt8> = []
        if authority.first == 91 {
            guard let end = authority.firstIndex(of: 93) else { throw .notAURL("its host is none") }
            host = authority[...end]
            let after = authority[(end + 1)...]
            if after.isEmpty { return (host, nil) }
            guard after.first == Byte.colon else { throw .notAURL("its host is none") }
            digits = after.dropFirst()
        } else if let colon = authority.firstIndex(of: Byte.colon) {
            host = authority[..<colon]
            digits = authority[(colon + 1)...]
        } else {
            return (host, nil)
        }
        if digits.isEmpty { return (host, nil) }
        guard let port = decimalDigits(digits), port < 65_536 else { throw .notAURL("its port is none") }
        return (host, port)
    }

    /// ASCII in lower case. Other scripts stay where they are letters: what would be read as digits, dots or ASCII
    /// letters in disguise is refused.
    private static func normal(_ host: [UInt8]) -> [UInt8]? {
        guard let text = String(validating: host, as: UTF8.self) else { return nil }
        for scalar in text.unicodeScalars {
            if scalar.isASCII {
                let byte = UInt8(truncatingIfNeeded: scalar.value)
                guard byte > 32, byte != 127, !Array("\"#%/<>?@\\^`{|}".utf8).contains(byte) else { return nil }
                continue
            }
            switch scalar.properties.generalCategory {
            case .lowercaseLetter, .uppercaseLetter, .otherLetter, .modifierLetter, .nonspacingMark, .spacingMark:
                // Full-width and mathematical forms of ASCII.
                if (0xFF01...0xFF5E).contains(scalar.value) || (0x1D400...0x1D7FF).contains(scalar.value)
                    || (0x2070...0x209F).contains(scalar.value) || (0x2100...0x214F).contains(scalar.value)
                {
                    return nil
                }
            default: return nil
            }
        }
        return host.map(Byte.lowercased)
    }

    private static func check(_ host: [UInt8], _ allowsPrivate: Bool) throws(Problem) {
        if host.last == 46 { throw .notAURL("its host ends in a dot") }
        switch PublicAddress.kind(host) {
        case .malformed: throw .notAURL("its host is no address")
        case .routable: return
        case .unroutable: if !allowsPrivate { throw .notRoutable }
        case .name:
            if allowsPrivate, host == Array("localhost".utf8) { return }
            guard host.contains(46), host.first != 46, !host.contains(Byte.colon),
                !host.contains(91), !host.contains(93)
            else { throw .notAURL("its host has no dot") }
        }
    }
}
