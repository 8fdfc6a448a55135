import PushSimSimulation
import PushSimWebPush
package import PushSimWire

/// Recorded exchanges, in order (contract cassettes.md).
package struct Cassette: Sendable {
    package var name: String
    package var entries: [CassetteEntry]
    /// What was skipped or mended while reading.
    package var notes: [CassetteNote]
    /// What `log._pushsim` says of the whole.
    package var about = CassetteAbout()

    package init(name: String, entries: [CassetteEntry] = [], notes: [CassetteNote] = []) {
        self.name = name
        self.entries = entries
        self.notes = notes
    }
}

extension Cassette {
    /// Throws where it cannot be replayed as somebody meant it: a rule of matching that is none.
    package func checkedForReplay() throws(CassetteError) -> Cassette {
        if let note = notes.first(where: { $0.rule == "match" }) {
            throw CassetteError("\(name), entry \(note.entry ?? 0): \(note.message)")
        }
        return self
    }

    /// The names of all placeholders.
    package var placeholders: Set<String> {
        var names: Set<String> = []
        for entry in entries {
            for text in entry.texts where Template.mayHavePlaceholders(text) {
                names.formUnion(Template(text).names.map(\.text))
            }
        }
        return names
    }
}

extension CassetteEntry {
    /// Of both bodies, so that a change by hand is seen.
    var bodyDigest: String {
        let request = Digest.sha256(body.octets)
        return String(Hex.text(Digest.sha256(request + Digest.sha256(answer?.body.octets ?? []))).prefix(16))
    }

    /// With what only looks like a placeholder told from one.
    package var escaped: CassetteEntry {
        var entry = self
        entry.url.path = Template.escaped(url.path)
        entry.url.query = url.query.map(Template.escaped)
        entry.headers = Self.escaped(headers)
        if case .bytes(let bytes) = body { entry.body = .bytes(Template.escaped(bytes)) }
        entry.plaintext = plaintext.map(Template.escaped)
        for place in UnknownMembers.Place.allCases { entry.unknown[place] = unknown[place].map(Template.escaped) }
        guard var answer = entry.answer else { return entry }
        answer.statusText = answer.statusText.map(Template.escaped)
        answer.headers = Self.escaped(answer.headers)
        answer.trailers = Self.escaped(answer.trailers)
        for index in answer.interim.indices {
            answer.interim[index].headers = Self.escaped(answer.interim[index].headers)
        }
        if case .bytes(let bytes) = answer.body { answer.body = .bytes(Template.escaped(bytes)) }
        entry.answer = answer
        return entry
    }

    var mayHavePlaceholders: Bool {
        func any(_ fields: [HeaderField]) -> Bool { fields.contains { Template.mayHavePlaceholders($0.value) } }
        func one(_ text: [UInt8]?) -> Bool { text.map(Template.mayHavePlaceholders) ?? false }
        if one(url.path) || one(url.query) || one(body.octets) || any(headers) || one(plaintext) { return true }
        if unknown.texts.values.contains(where: Template.mayHavePlaceholders) { return true }
        guard let answer else { return false }
        return one(answer.body.octets) || one(answer.statusText) || any(answer.headers) || any(answer.trailers)
            || answer.interim.contains { any($0.headers) }
    }

    private static func escaped(_ fields: [HeaderField]) -> [HeaderField] {
        fields.map { HeaderField($0.name, Template.escaped($0.value)) }
    }

    /// All that may hold a placeholder.
    var texts: [[UInt8]] {
        var texts = [url.bytes, body.octets] + headers.map(\.value) + [plaintext ?? []]
        texts += UnknownMembers.Place.allCases.compactMap { unknown[$0] }
        if let answer {
            texts += [answer.body.octets, answer.statusText ?? []]
            texts += (answer.headers + answer.trailers + answer.interim.flatMap(\.headers)).map(\.value)
        }
        return texts
    }
}

/// What a cassette of our own says of itself, in `log._pushsim`.
package struct CassetteAbout: Hashable, Sendable {
    /// Whether PushSim wrote the file, so that headers and bodies are as they were on the wire.
    package var isOwn = false
    /// Whether it is another tool's HAR, rewritten: how answers were framed is not known.
    package var isImported = false
    /// Redaction rules as they were given.
    package var redact: [String] = []
    package var match = MatchRules()
    /// Nanoseconds since 1970; only with `--timings`.
    package var recordedAt: Int64?
    /// Whether headers that differ from run to run were made the same.
    package var isNormalised = false
    /// The text of an object: what else the log says, and PushSim makes nothing of.
    package var unknown: [UInt8]?
    /// Whether entries hold such members.
    package var holdsUnknown = false

    package init() {}
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

    /// A head without a body that came before the answer: 103 and its kind.
    package struct Interim: Hashable, Sendable {
        package var status: Int
        package var statusText: [UInt8]
        package var headers: [HeaderField]

        package init(status: Int, statusText: [UInt8], headers: [HeaderField]) {
            self.status = status
            self.statusText = statusText
            self.headers = headers
        }
    }

    package struct Answer: Hashable, Sendable {
        package var status: Int
        /// As received; nil takes the usual one.
        package var statusText: [UInt8]?
        /// As received; HTTP/1.1 is not kept.
        private var oddVersion: [UInt8]?
        package var httpVersion: [UInt8] {
            get { oddVersion ?? CassetteEntry.usualVersion }
            set { oddVersion = newValue == CassetteEntry.usualVersion ? nil : newValue }
        }
        /// Of an own recording as they came; else without those that say how the body was framed.
        package var headers: [HeaderField]
        /// Without chunks and coding.
        package var body: Body
        /// The body under its content coding.
        package var encodedBody: [UInt8]?
        /// Octets of each chunk where the body came in chunks.
        package var chunks: [Int]?
        package var trailers: [HeaderField] = []
        package var interim: [Interim] = []
        /// As another tool told it, where no header does.
        package var mimeType: [UInt8]?

        package init(status: Int, statusText: [UInt8]? = nil, headers: [HeaderField] = [], body: Body) {
            self.status = status
            self.statusText = statusText
            self.headers = headers
            self.body = body
        }
    }

    /// What the client met instead of an answer, or in the midst of one.
    package struct Failure: Hashable, Sendable {
        package enum Kind: String, Sendable, CaseIterable {
            case refused, dns, tls, timeout, reset
            /// The connection closed before any answer.
            case closed
            /// It closed in the middle of one.
            case cut
            /// The answer was no HTTP.
            case malformed
            /// The client left before the end.
            case clientLeft
            /// Told by another tool, in words.
            case other
        }

        package var kind: Kind
        /// What had come by then.
        package var answer: Answer?
        /// How long the body was said to be, where only that is known.
        package var declared: Int?
        package var detail = ""

        package init(_ kind: Kind, answer: Answer? = nil, declared: Int? = nil, detail: String = "") {
            self.kind = kind
            self.answer = answer
            self.declared = declared
            self.detail = detail
        }
    }

    /// Indirect, so that an entry is small where it is moved.
    package indirect enum Outcome: Hashable, Sendable {
        case answer(Answer)
        case failure(Failure)
    }

    /// Nanoseconds from the beginning of the recording, and from there to the first and last octet of the answer.
    package struct Timing: Hashable, Sendable {
        package var start: Int64
        package var wait: Int64
        package var receive: Int64
        /// From the first octet of the answer to the first of each chunk.
        package var chunks: [Int64] = []

        /// What a time takes when it is played so many times faster.
        static func scaled(_ time: Int64, _ speed: Double) -> Int64 {
            Int64(min(Double(max(0, time)) / speed, Double(TimeText.longest)))
        }

        package init(start: Int64, wait: Int64, receive: Int64) {
            self.start = start
            self.wait = wait
            self.receive = receive
        }
    }

    static let usualVersion = [UInt8]("HTTP/1.1")

    package var method: [UInt8]
    package var url: RecordedURL
    /// HTTP/1.1 is not kept.
    private var oddVersion: [UInt8]?
    package var httpVersion: [UInt8] {
        get { oddVersion ?? Self.usualVersion }
        set { oddVersion = newValue == Self.usualVersion ? nil : newValue }
    }
    package var headers: [HeaderField]
    package var body: Body
    package var outcome: Outcome
    package var isDelivery = false
    /// Of a delivery: what its record says, where that is known.
    package var plaintext: [UInt8]?
    package var timing: Timing?
    /// What is compared of this entry's request otherwise than of the others'.
    package var match: MatchRules?
    package var unknown = UnknownMembers()
    /// Of the request's body as another tool told it, where no header does.
    package var mimeType: [UInt8]?

    package init(
        method: [UInt8], url: RecordedURL, headers: [HeaderField], body: Body, outcome: Outcome
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.outcome = outcome
    }

    /// What was answered, wholly or in part.
    package var answer: Answer? {
        get {
            switch outcome {
            case .answer(let answer): answer
            case .failure(let failure): failure.answer
            }
        }
        set {
            switch outcome {
            case .answer: if let newValue { outcome = .answer(newValue) }
            case .failure(var failure):
                failure.answer = newValue
                outcome = .failure(failure)
            }
        }
    }

    /// Of the body, in lower case.
    var mediaType: String { headers.mediaType(or: mimeType) }

    /// One line, for people.
    package var line: String { "\(method.text) \(url.target.text)" }
}

extension CassetteEntry.Answer {
    /// Of the body, in lower case.
    var mediaType: String { headers.mediaType(or: mimeType) }

    package var isChunked: Bool {
        headers.first("transfer-encoding").map { $0.map(Byte.lowercased).text.contains("chunked") } ?? false
    }

    /// As a client of HTTP/1.0 may have it: no interim answers, and nothing of chunks.
    var plain: Self {
        var plain = self
        plain.interim = []
        guard isChunked else { return plain }
        (plain.chunks, plain.trailers) = (nil, [])
        plain.headers.removeAll { field in
            ["transfer-encoding", "trailer"].contains { field.isNamed(Array($0.utf8)) }
        }
        return plain
    }

    /// Whether the next request may follow on the connection.
    package func keepsConnection(isHead: Bool) -> Bool {
        let isOld = httpVersion == Array("HTTP/1.0".utf8)
        let said = headers.first("connection")?.map(Byte.lowercased).text ?? ""
        if said.contains("close") || isOld && !said.contains("keep-alive") { return false }
        let hasNoBody = isHead || status == 204 || status == 304
        return hasNoBody || isChunked || headers.first("content-length") != nil
    }
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

extension [HeaderField] {
    /// What Content-Type says, or what stands beside the fields; in lower case.
    fileprivate func mediaType(or other: [UInt8]?) -> String {
        (first("content-type") ?? other ?? []).map(Byte.lowercased).text
    }
}
