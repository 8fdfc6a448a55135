package import PushSimWire

/// Recorded exchanges, in order (contract cassettes.md).
package struct Cassette: Sendable {
    package var name: String
    package var entries: [CassetteEntry]
    /// What was skipped or mended while reading.
    package var notes: [CassetteNote]

    package init(name: String, entries: [CassetteEntry] = [], notes: [CassetteNote] = []) {
        self.name = name
        self.entries = entries
        self.notes = notes
    }
}

/// One exchange.
package struct CassetteEntry: Sendable {
    /// A body: none at all and one that was not captured are two things.
    package enum Body: Hashable, Sendable {
        case bytes([UInt8])
        case notCaptured

        package var octets: [UInt8] {
            if case .bytes(let bytes) = self { bytes } else { [] }
        }
    }

    package struct Answer: Hashable, Sendable {
        package var status: Int
        /// As received; nil takes the usual one.
        package var statusText: [UInt8]?
        /// Without those that say how the body was framed.
        package var headers: [HeaderField]
        package var body: Body

        package init(status: Int, statusText: [UInt8]? = nil, headers: [HeaderField] = [], body: Body) {
            self.status = status
            self.statusText = statusText
            self.headers = headers
            self.body = body
        }
    }

    /// What the client met instead of an answer.
    package enum Failure: Hashable, Sendable {
        case refused, timeout, reset
        /// The connection closed before any answer.
        case closed
        /// A body that ended after so many octets of those that were declared.
        case cut(Answer, declared: Int)
        /// Told by another tool, in words.
        case other(String)
    }

    package enum Outcome: Hashable, Sendable {
        case answer(Answer)
        case failure(Failure)
    }

    package var method: [UInt8]
    package var url: RecordedURL
    package var headers: [HeaderField]
    package var body: Body
    package var outcome: Outcome
    package var isDelivery = false

    package init(
        method: [UInt8], url: RecordedURL, headers: [HeaderField], body: Body, outcome: Outcome
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.outcome = outcome
    }

    /// One line, for people.
    package var line: String { "\(method.text) \(url.target.text)" }
}

/// The URL of a recorded request, raw.
package struct RecordedURL: Hashable, Sendable {
    /// Scheme and authority, such as `https://a.example`.
    package var origin: [UInt8]
    /// At least `/`.
    package var path: [UInt8]
    package var query: [UInt8]?

    /// Nil where there is no scheme. A fragment goes (R9).
    package init?(_ text: [UInt8]) {
        let bytes = text.prefix { $0 != 35 }
        guard let colon = bytes.firstIndex(of: Byte.colon), bytes.count >= colon + 3, bytes[colon + 1] == Byte.slash,
            bytes[colon + 2] == Byte.slash, colon > 0
        else { return nil }
        let rest = bytes[(colon + 3)...]
        let authority = rest.prefix { $0 != Byte.slash && $0 != Byte.questionMark }
        origin = Array(bytes[..<authority.endIndex])
        let target = bytes[authority.endIndex...]
        let path = Array(target.prefix { $0 != Byte.questionMark })
        self.path = path.isEmpty ? [Byte.slash] : path
        let mark = target.firstIndex(of: Byte.questionMark)
        query = mark.map { Array(target[($0 + 1)...]) }
    }

    package init(origin: [UInt8], path: [UInt8], query: [UInt8]?) {
        self.origin = origin
        self.path = path
        self.query = query
    }

    /// Path and query.
    package var target: [UInt8] { query.map { path + [Byte.questionMark] + $0 } ?? path }

    package var bytes: [UInt8] { origin + target }

    var scheme: [UInt8] { origin.prefix { $0 != Byte.colon }.map(Byte.lowercased) }
}

/// Something that the reader mended or left out, and by which rule of the contract.
package struct CassetteNote: Hashable, Sendable, CustomStringConvertible {
    package let rule: String
    /// Counted from 1; nil concerns the file.
    package let entry: Int?
    package let message: String

    package var description: String { "\(rule)\(entry.map { ", entry \($0)" } ?? ""): \(message)" }
}

/// Why a file is no cassette.
package struct CassetteError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
