import PushSimJSONText
import PushSimWebPush
import PushSimWire

/// Reads HAR files as real tools write them (contract cassettes.md, R1 to R17). It never crashes, and reads nothing
/// outside the file's folder.
package struct HARReader {
    /// Reads a body that stands in a file of its own, by its path within the HAR's folder; nil where there is none, or
    /// where it would lead out of the folder.
    package typealias BodyFile = @Sendable (String) -> [UInt8]?

    private let bodyFile: BodyFile
    private(set) var notes: [CassetteNote] = []
    /// What the file says of itself, where PushSim wrote it: then nothing needs to be mended.
    var about = CassetteAbout()
    /// Whether the file names the tool that wrote it, as HAR 1.2 asks of every tool, and it is another.
    private var isForeign = false
    /// Header names and values stand many times in a file: one copy of each serves all.
    private var known: [ByteKey: [UInt8]] = [:]

    private init(_ bodyFile: @escaping BodyFile) { self.bodyFile = bodyFile }

    /// - Parameter bodyFile: how `_file` bodies are read.
    package static func read(
        _ bytes: [UInt8], name: String, bodyFile: @escaping BodyFile = { _ in nil }
    ) throws(CassetteError) -> Cassette {
        var reader = HARReader(bodyFile)
        let list = try reader.list(bytes, name)
        let entries = reader.entries(list)
        if !reader.about.isOwn {
            reader.about.isImported = true
        }
        var cassette = Cassette(name: name, entries: entries, notes: reader.notes)
        cassette.about = reader.about
        return cassette
    }

    mutating func note(_ rule: String, _ entry: Int?, _ message: String) {
        notes.append(CassetteNote(rule: rule, entry: entry, message: message))
    }

    // MARK: file

    /// The entries: of a HAR, or of a bare array of them (R15).
    private mutating func list(_ bytes: [UInt8], _ name: String) throws(CassetteError) -> [JSONValue] {
        let document: JSONDocument
        let text = try unwrapped(bytes, name)
        do throws(JSONError) {
            // As far as the entries: what they hold is listed when its turn comes.
            document = try JSONDocument(text, levels: 3)
        } catch {
            throw CassetteError("\(name):\(error.position.line):\(error.position.column): \(error.message)")
        }
        let root = document.root
        if root.kind == .array {
            note("R15", nil, "a bare array of entries")
            return root.elements
        }
        guard root.kind == .object else {
            throw CassetteError("\(name):1:1: this is no HAR: \(root.kindName) at the top")
        }
        let log = root.lenientMember("log") ?? root
        guard let entries = log.lenientMember("entries"), entries.kind == .array else {
            let place = log.position
            throw CassetteError("\(name):\(place.line):\(place.column): this is no HAR: it has no log.entries")
        }
        isForeign = log.lenientMember("creator").map { $0.lenientMember("name")?.string != "pushsim" } ?? false
        if let own = log.lenientMember("_pushsim") {
            do throws(CassetteError) {
                about = try CassetteAbout(own.alone ?? own)
            } catch {
                let place = own.position
                throw CassetteError("\(name):\(place.line):\(place.column): log._pushsim: \(error)")
            }
        }
        if !about.isOwn || about.holdsUnknown { about.unknown = UnknownMembers.log(log) }
        return entries.elements
    }

    /// Without gzip, byte order mark and JSONP wrapper (R15).
    private mutating func unwrapped(_ bytes: [UInt8], _ name: String) throws(CassetteError) -> [UInt8] {
        var text = bytes
        if text.count > 2, text[0] == 0x1F, text[1] == 0x8B {
            let limit = Self.unpackedLimit(text.count)
            guard let plain = try? Inflate.gzip(text, limit: limit) else {
                throw CassetteError(
                    "\(name): the gzip file is damaged, or more than \(limit) octets when unpacked: unpack it by hand")
            }
            note("R15", nil, "a gzip file")
            text = plain
        }
        if text.starts(with: [0xEF, 0xBB, 0xBF]) {
            note("R15", nil, "a byte order mark")
            text.removeFirst(3)
        }
        guard let first = text.firstIndex(where: { $0 > 32 }), text[first] != 123, text[first] != 91,
            let open = text.firstIndex(of: 40), let close = text.lastIndex(of: 41), open < close,
            text[first..<open].allSatisfy({ $0 == 46 || $0 == 95 || $0 == 36 || ($0 | 32 >= 97 && $0 | 32 <= 122) })
        else { return text }
        note("R15", nil, "a JSONP wrapper")
        return Array(text[(open + 1)..<close])
    }

    /// How much so many octets of gzip may unpack to: what people record does not shrink to a fiftieth, and what does is
    /// made to fill the memory.
    private static func unpackedLimit(_ packed: Int) -> Int { min(1 << 31, max(4 << 20, packed * 50)) }

    // MARK: entries

    /// Each entry is read from a text of its own: threads that counted references to one would wait for each other.
    private mutating func entries(_ list: [JSONValue]) -> [CassetteEntry] {
        guard let text = list.first?.document.bytes else { return [] }
        let places = list.map(\.place)
        let blank = self
        var (entries, rests) = Pieces.make(list.count) { range, add -> (notes: [CassetteNote], begun: Int64) in
            var reader = blank
            reader.notes = []
            var begun = Int64.max
            text.withUnsafeBytes { text in
                for index in range {
                    let own = Array(UnsafeRawBufferPointer(rebasing: text[places[index]]))
                    guard let value = (try? JSONDocument(own))?.root, let entry = reader.entry(value, index + 1) else {
                        continue
                    }
                    begun = min(begun, entry.timing?.start ?? .max)
                    add(entry)
                }
            }
            return (reader.notes, begun)
        }
        for rest in rests { notes += rest.notes }
        if !about.isOwn { setTimes(&entries, rests.map(\.begun).min() ?? .max) }
        return entries
    }

    private mutating func entry(_ value: JSONValue, _ number: Int) -> CassetteEntry? {
        guard value.kind == .object, let request = value.lenientMember("request") else {
            note("R2", number, "no request: skipped")
            return nil
        }
        var headers = self.headers(request.lenientMember("headers"), number)
        let pseudo = Self.takePseudo(&headers)
        func pseudoValue(_ name: String) -> [UInt8]? { pseudo.first(name) }
        guard var url = url(request, pseudoValue, number) else { return nil }
        url.origin = shared(url.origin)
        let method = shared(
            request.lenientMember("method")?.lenientText ?? pseudoValue(":method") ?? Array("GET".utf8))
        if let reason = Self.skipReason(method, url, value) {
            note("R13", number, "\(reason): skipped")
            return nil
        }
        guard let outcome = outcome(value, number) else { return nil }
        let body = requestBody(request.lenientMember("postData"), number)
        // What says how the body was framed is true of other bytes.
        if !about.isOwn { Self.dropFraming(&headers) }
        var entry = CassetteEntry(method: method, url: url, headers: headers, body: body, outcome: outcome)
        let own = value.lenientMember("_pushsim")
        entry.mimeType = request.lenientMember("postData")?.lenientMember("mimeType")?.lenientText.map { shared($0) }
        entry.isDelivery = own?.lenientMember("direction")?.string == "delivery"
        addMatch(own, &entry, number)
        if about.isOwn { addOwn(own, value, &entry, number) } else { entry.timing = foreignTiming(value) }
        if !about.isOwn || about.holdsUnknown { entry.unknown = UnknownMembers(entry: value) }
        // What looks like a placeholder in another tool's file is text; who writes a cassette by hand means it.
        return isForeign && !about.isOwn && entry.mayHavePlaceholders ? entry.escaped : entry
    }

    private mutating func url(
        _ request: JSONValue, _ pseudo: (String) -> [UInt8]?, _ number: Int
    ) -> RecordedURL? {
        guard let text = request.lenientMember("_url64")?.base64Bytes ?? request.lenientMember("url")?.stringBytes,
            !text.isEmpty
        else {
            note("R2", number, "no URL: skipped")
            return nil
        }
        if let url = RecordedURL(text) { return url }
        // Without an authority the pseudo-headers may know it (R6).
        if text.first == Byte.slash, let authority = pseudo(":authority") {
            let scheme = pseudo(":scheme") ?? Array("https".utf8)
            return RecordedURL(scheme + Array("://".utf8) + authority + text)
        }
        let scheme = text.prefix { $0 != Byte.colon }.map(Byte.lowercased).text
        if ["data", "blob", "about", "javascript"].contains(scheme) {
            note("R13", number, "\(scheme): URL: skipped")
        } else {
            note("R2", number, "\"\(text.prefix(80).map { $0 }.text)\" is no URL: skipped")
        }
        return nil
    }

    private static func skipReason(_ method: [UInt8], _ url: RecordedURL, _ value: JSONValue) -> String? {
        if method.isSame(as: "CONNECT") { return "CONNECT" }
        let scheme = url.scheme
        if scheme.isSame(as: "ws") || scheme.isSame(as: "wss") { return "WebSocket" }
        if !scheme.isSame(as: "http"), !scheme.isSame(as: "https") { return "\(scheme.text): URL" }
        let isUpgrade = value.lenientMember("response")?.lenientMember("status")?.lenientInt == 101
        if isUpgrade || value.lenientMember("_resourceType")?.string == "websocket" {
            return "WebSocket"
        }
        return nil
    }

    mutating func shared(_ bytes: [UInt8]) -> [UInt8] {
        if bytes.count > 256 || known.count > 4096 { return bytes }
        if let there = known[ByteKey(bytes)] { return there }
        known[ByteKey(bytes)] = bytes
        return bytes
    }

    // MARK: bodies

    private mutating func requestBody(_ value: JSONValue?, _ number: Int) -> CassetteEntry.Body {
        guard let value else { return .bytes([]) }
        let type = value.lenientMember("mimeType")?.lenientText ?? []
        let text = value.lenientMember("text")?.lenientText ?? []
        if !text.isEmpty || value.lenientMember("_file") != nil {
            return decoded(value, text, type, number)
        }
        // Rebuilt from the list where the text is missing (R10).
        let params = (value.lenientMember("params")?.lenientElements ?? []).compactMap { param -> FormParam? in
            guard let name = param.lenientMember("name")?.lenientText, !name.isEmpty else { return nil }
            return FormParam(
                name: name, value: param.lenientMember("value")?.lenientText ?? [],
                file: param.lenientMember("fileName")?.lenientText,
                type: param.lenientMember("contentType")?.lenientText)
        }
        if params.isEmpty { return .bytes([]) }
        note("R10", number, "the body is rebuilt from its params")
        return .bytes(FormParam.body(params, type))
    }

    private mutating func decoded(
        _ value: JSONValue, _ text: [UInt8], _ type: [UInt8], _ number: Int
    ) -> CassetteEntry.Body {
        if let file = value.lenientMember("_file")?.string {
            guard let bytes = bodyFile(file) else {
                note("R16", number, "the body \"\(file)\" is not in the folder of the HAR")
                return .notCaptured
            }
            return .bytes(bytes)
        }
        let encoding = value.lenientMember("encoding")?.string?.lowercased()
        var bytes: [UInt8]
        if about.isOwn {
            let own = encoding == "base64" ? LenientText.base64(text) : text
            return own.map { .bytes($0) } ?? .notCaptured
        }
        if encoding == "base64" {
            guard let octets = LenientText.base64(text) else {
                note("R4", number, "the body is no base64: not captured")
                return .notCaptured
            }
            bytes = octets
        } else {
            bytes = LenientText.encode(text, type)
            if let charset = LenientText.unusedCharset(text, bytes, type) {
                note("R4", number, "the body stays UTF-8: \"\(charset)\" is not known here, or cannot hold it")
            }
        }
        // Bodies are decoded already; one that still is gzip is decoded once (R5).
        if bytes.count > 2, bytes[0] == 0x1F, bytes[1] == 0x8B, !type.text.contains("gzip"),
            let plain = try? Inflate.gzip(bytes, limit: Self.unpackedLimit(bytes.count))
        {
            note("R5", number, "the body was gzip still")
            bytes = plain
        }
        return .bytes(bytes)
    }

    // MARK: outcomes

    private mutating func outcome(_ value: JSONValue, _ number: Int) -> CassetteEntry.Outcome? {
        let response = value.lenientMember("response")
        let status = response?.lenientMember("status")?.lenientInt ?? 0
        if let own = value.lenientMember("_pushsim")?.lenientMember("failure")?.string {
            return .failure(ownFailure(own, value, response, status, number))
        }
        let error = (value.lenientMember("_error") ?? response?.lenientMember("_error"))?.string
        guard (100...(about.isOwn ? 999 : 599)).contains(status), error?.isEmpty ?? true, let response else {
            note("R11", number, "a failure\(error.map { " (\($0))" } ?? ""): skipped")
            return nil
        }
        return .answer(answer(response, status, number))
    }

    private mutating func ownFailure(
        _ name: String, _ value: JSONValue, _ response: JSONValue?, _ status: Int, _ number: Int
    ) -> CassetteEntry.Failure {
        guard let kind = CassetteEntry.Failure.Kind(rawValue: name) else {
            return .init(.other, detail: name)
        }
        var failure = CassetteEntry.Failure(kind)
        if (100...999).contains(status), let response { failure.answer = answer(response, status, number) }
        failure.declared = value.lenientMember("_pushsim")?.lenientMember("declared")?.lenientInt
        return failure
    }

    private mutating func answer(_ response: JSONValue, _ status: Int, _ number: Int) -> CassetteEntry.Answer {
        var headers = self.headers(response.lenientMember("headers"), number)
        _ = Self.takePseudo(&headers)
        if !about.isOwn { Self.dropFraming(&headers) }
        let text = response.lenientMember("statusText")?.lenientText.flatMap { HeaderField.isValue($0) ? $0 : nil }
        var answer = CassetteEntry.Answer(
            status: status, statusText: text?.isEmpty ?? true ? nil : text.map { shared($0) }, headers: headers,
            body: responseBody(response, status, number))
        if headers.first("content-type") == nil {
            answer.mimeType = response.lenientMember("content")?.lenientMember("mimeType")?.lenientText.map {
                shared($0)
            }
        }
        if status == 304, !answer.body.octets.isEmpty {
            note("R12", number, "the body of a 304 is the browser's copy: left out")
            answer.body = .bytes([])
        }
        return answer
    }

    private mutating func responseBody(_ response: JSONValue, _ status: Int, _ number: Int) -> CassetteEntry.Body {
        let content = response.lenientMember("content")
        let type = content?.lenientMember("mimeType")?.lenientText ?? []
        if let content, content.lenientMember("text") != nil || content.lenientMember("_file") != nil {
            return decoded(content, content.lenientMember("text")?.lenientText ?? [], type, number)
        }
        // A body that is not there: none where the size says so or the status has none, else not captured (R11).
        let size = content?.lenientMember("size")?.lenientInt ?? response.lenientMember("bodySize")?.lenientInt
        if size == 0 || status == 204 || status == 304 || status < 200 || (300...399).contains(status) {
            return .bytes([])
        }
        note("R11", number, "the body was not captured")
        return .notCaptured
    }
}
