import PushSimWire

/// A text with secrets taken out of it, before they have their names.
struct RedactedText: Sendable {
    enum Piece: Sendable {
        case literal([UInt8])
        /// - `codings`: in the order in which they are undone.
        case secret(Int, [Coding])
    }

    var pieces: [Piece]

    init(_ pieces: [Piece] = []) { self.pieces = pieces }

    init(_ literal: [UInt8]) { pieces = literal.isEmpty ? [] : [.literal(literal)] }

    var hasSecrets: Bool {
        pieces.contains { if case .secret = $0 { true } else { false } }
    }

    mutating func append(_ bytes: [UInt8]) { if !bytes.isEmpty { pieces.append(.literal(bytes)) } }

    mutating func append(_ other: RedactedText) { pieces += other.pieces }

    func rendered(_ name: (Int) -> String) -> [UInt8] {
        if pieces.count == 1, case .literal(let bytes) = pieces[0] { return bytes }
        var out: [UInt8] = []
        for piece in pieces {
            switch piece {
            case .literal(let bytes): out += bytes
            case .secret(let number, let codings):
                out += Array("{{\(name(number))".utf8)
                for coding in codings { out += Array(":\(coding.rawValue)".utf8) }
                out += [125, 125]
            }
        }
        return out
    }
}

/// An entry with secrets taken out.
struct RedactedEntry: Sendable {
    let source: CassetteEntry
    var origin = RedactedText()
    var path = RedactedText()
    var query: RedactedText?
    var headers: [RedactedText] = []
    var body = RedactedText()
    var plaintext: RedactedText?
    var answerHeaders: [RedactedText] = []
    var trailers: [RedactedText] = []
    var interim: [(statusText: RedactedText, headers: [RedactedText])] = []
    var answerBody = RedactedText()
    var statusText: RedactedText?
    var unknown: [UnknownMembers.Place: RedactedText] = [:]

    func rendered(_ name: (Int) -> String) -> CassetteEntry {
        var entry = source
        entry.url.origin = origin.rendered(name)
        entry.url.path = path.rendered(name)
        entry.url.query = query.map { $0.rendered(name) }
        entry.headers = Self.filled(entry.headers, headers, name)
        if case .bytes = entry.body { entry.body = .bytes(body.rendered(name)) }
        for (place, text) in unknown { entry.unknown[place] = text.rendered(name) }
        entry.plaintext = plaintext?.rendered(name)
        guard var answer = entry.answer else { return entry }
        answer.statusText = statusText?.rendered(name)
        answer.headers = Self.filled(answer.headers, answerHeaders, name)
        answer.trailers = Self.filled(answer.trailers, trailers, name)
        for (index, redacted) in interim.enumerated() {
            answer.interim[index].statusText = redacted.statusText.rendered(name)
            answer.interim[index].headers = Self.filled(answer.interim[index].headers, redacted.headers, name)
        }
        if case .bytes = answer.body { answer.body = .bytes(answerBody.rendered(name)) }
        // The coded octets hold what was taken out, and chunks were counted in them.
        if answerBody.hasSecrets { (answer.encodedBody, answer.chunks) = (nil, answer.chunks.map { _ in [] }) }
        entry.answer = answer
        return entry
    }

    private static func filled(
        _ fields: [HeaderField], _ values: [RedactedText], _ name: (Int) -> String
    ) -> [HeaderField] {
        zip(fields, values).map { HeaderField($0.name, $1.rendered(name)) }
    }
}
