import PushSimJSONText
import PushSimSimulation
import PushSimWebPush
import PushSimWire

/// What is written to disk: the HAR, and the bodies that stand in files of their own.
package struct CassetteFiles: Sendable {
    package struct BodyFile: Sendable {
        /// Within the folder of the HAR.
        package let path: String
        package let bytes: [UInt8]
    }

    package let har: [UInt8]
    package let bodies: [BodyFile]
}

/// Writes HAR 1.2, the same octets for the same entries (contract cassettes.md, "Deterministic file").
package struct HARWriter {
    /// Bodies over this many octets stand in files of their own.
    private static let inlineLimit = 64 << 10

    private let folder: String
    private let isStrict: Bool
    private var about: CassetteAbout
    private var bodies: [String: CassetteFiles.BodyFile] = [:]

    /// - Parameters:
    ///   - name: the file's name without its ending, after which the folder of bodies is called.
    ///   - isStrict: whether only members of HAR 1.2 itself are written, and bodies all inline.
    package static func files(_ cassette: Cassette, name: String, isStrict: Bool = false) -> CassetteFiles {
        var writer = HARWriter(folder: "\(name).bodies", isStrict: isStrict, about: cassette.about)
        writer.about.holdsUnknown =
            cassette.about.unknown != nil || cassette.entries.contains { !$0.unknown.texts.isEmpty }
        var log: [JSON.Member] = [
            .init("version", "1.2"), .init("creator", ["name": "pushsim", "version": "1"]),
        ]
        if !isStrict { log.append(.init("_pushsim", writer.head)) }
        log += UnknownMembers.members(cassette.about.unknown, isStrict: isStrict)
        log.append(.init("entries", .array(cassette.entries.map { writer.entry($0) })))
        let har = JSONWriter.pretty(.object([.init("log", .object(log))]))
        let bodies = writer.bodies.values.sorted { $0.path < $1.path }
        return CassetteFiles(har: har, bodies: bodies)
    }

    private init(folder: String, isStrict: Bool, about: CassetteAbout) {
        self.folder = folder
        self.isStrict = isStrict
        self.about = about
    }

    /// What concerns the whole, so that a reader sees by which rules the file was made.
    private var head: JSON {
        var members: [JSON.Member] = [.init("format", 1)]
        if let begun = about.recordedAt { members.append(.init("recordedAt", .string(TimeText.rfc3339(begun)))) }
        members.append(.init("redact", .array(about.redact.map { .string($0) })))
        if about.isNormalised { members.append(.init("normalise", Normalisation.json)) }
        if about.isImported { members.append(.init("imported", true)) }
        if about.holdsUnknown { members.append(.init("unknown", true)) }
        if !about.match.isUsual { members.append(.init("match", about.match.json)) }
        return .object(members)
    }

    // MARK: entries

    private mutating func entry(_ entry: CassetteEntry) -> JSON {
        let start = about.recordedAt.flatMap { begun in entry.timing.map { begun + $0.start } } ?? 0
        let timing = about.recordedAt == nil ? nil : entry.timing
        // HAR 1.2 wants these three to be times.
        let unknown: JSON = isStrict ? 0 : -1
        var members: [JSON.Member] = [
            .init("startedDateTime", .string(Self.milliseconds(start))),
            .init("time", timing.map { Self.span($0.wait + $0.receive) } ?? 0),
            .init("request", request(entry)), .init("response", response(entry)),
            .init("cache", .object(others(.cache, entry))),
            .init(
                "timings",
                .object(
                    [
                        .init("send", timing == nil ? unknown : 0),
                        .init("wait", timing.map { Self.span($0.wait) } ?? unknown),
                        .init("receive", timing.map { Self.span($0.receive) } ?? unknown),
                    ] + others(.timings, entry))),
        ]
        members += others(.entry, entry)
        let own = isStrict ? [] : self.own(entry)
        if !own.isEmpty { members.append(.init("_pushsim", .object(own))) }
        return .object(members)
    }

    private func others(_ place: UnknownMembers.Place, _ entry: CassetteEntry) -> [JSON.Member] {
        UnknownMembers.members(entry.unknown[place], isStrict: isStrict)
    }

    private func own(_ entry: CassetteEntry) -> [JSON.Member] {
        var members: [JSON.Member] = []
        if entry.isDelivery { members.append(.init("direction", "delivery")) }
        if let plaintext = entry.plaintext {
            members.append(
                plaintext.isUTF8
                    ? .init("plaintext", .text(plaintext))
                    : .init("plaintext64", .string(Base64.encode(plaintext, .standard))))
        }
        members.append(.init("digest", .string(entry.bodyDigest)))
        let missing: [JSON] =
            (entry.body == .notCaptured ? ["request"] : []) + (entry.answer?.body == .notCaptured ? ["response"] : [])
        if !missing.isEmpty { members.append(.init("notCaptured", .array(missing))) }
        if let rules = entry.match, !rules.isUsual { members.append(.init("match", rules.json)) }
        if case .failure(let failure) = entry.outcome {
            members.append(.init("failure", .string(failure.kind.rawValue)))
            if let declared = failure.declared { members.append(.init("declared", .int(declared))) }
        }
        guard let answer = entry.answer else { return members }
        if let chunks = answer.chunks { members.append(.init("chunks", .array(chunks.map { .int($0) }))) }
        if about.recordedAt != nil, let times = entry.timing?.chunks, !times.isEmpty {
            members.append(.init("chunkTimes", .array(times.map(Self.span))))
        }
        if let encoded = answer.encodedBody {
            members.append(.init("encodedBody", .string(Base64.encode(encoded, .standard))))
        }
        if !answer.trailers.isEmpty { members.append(.init("trailers", headers(answer.trailers))) }
        if !answer.interim.isEmpty {
            members.append(
                .init(
                    "interim",
                    .array(
                        answer.interim.map { interim in
                            [
                                "status": .int(interim.status), "statusText": .text(interim.statusText),
                                "headers": headers(interim.headers),
                            ]
                        })))
        }
        return members
    }

    private mutating func request(_ entry: CassetteEntry) -> JSON {
        let url = entry.url.bytes
        var members: [JSON.Member] = [
            .init("method", .text(entry.method)), .init("url", Self.shown(url)),
        ]
        if !url.isUTF8, !isStrict { members.append(.init("_url64", .string(Base64.encode(url, .standard)))) }
        members += [
            .init("httpVersion", .text(entry.httpVersion)),
            .init("cookies", .array(Self.cookies(entry.headers, "cookie").map { Self.pair($0.name, $0.value) })),
            .init("headers", headers(entry.headers)),
            .init("queryString", .array(Self.query(entry.url).map { Self.pair($0.name, $0.value) })),
        ]
        let type = entry.headers.first("content-type") ?? entry.mimeType ?? []
        if !entry.body.octets.isEmpty {
            var data: [JSON.Member] = [.init("mimeType", Self.shown(type))]
            data += content(entry.body.octets, type) + others(.postData, entry)
            members.append(.init("postData", .object(data)))
        }
        members += [.init("headersSize", -1), .init("bodySize", .int(entry.body.octets.count))]
        members += others(.request, entry)
        return .object(members)
    }

    private mutating func response(_ entry: CassetteEntry) -> JSON {
        guard let answer = entry.answer else {
            var kind = "failed"
            if case .failure(let failure) = entry.outcome { kind = failure.kind.rawValue }
            var none: [JSON.Member] = [
                .init("status", 0), .init("statusText", ""), .init("httpVersion", ""), .init("cookies", []),
                .init("headers", []), .init("content", ["size": 0, "mimeType": "x-unknown"]), .init("redirectURL", ""),
                .init("headersSize", -1), .init("bodySize", -1),
            ]
            if !isStrict { none.append(.init("_error", .string(kind))) }
            return .object(none)
        }
        let type = answer.headers.first("content-type") ?? answer.mimeType ?? []
        var content: [JSON.Member] = [
            .init("size", answer.body == .notCaptured ? -1 : .int(answer.body.octets.count)),
            .init("mimeType", Self.shown(type)),
        ]
        if answer.body != .notCaptured { content += self.content(answer.body.octets, type) }
        content += others(.content, entry)
        let reason = answer.statusText ?? Array(StatusText.reason(answer.status).utf8)
        var members: [JSON.Member] = [.init("status", .int(answer.status)), .init("statusText", Self.shown(reason))]
        if !reason.isUTF8, !isStrict {
            members.append(.init("_statusText64", .string(Base64.encode(reason, .standard))))
        }
        members += [
            .init("httpVersion", .text(answer.httpVersion)),
            .init(
                "cookies", .array(Self.cookies(answer.headers, "set-cookie").map { Self.pair($0.name, $0.value) })),
            .init("headers", headers(answer.headers)), .init("content", .object(content)),
            .init("redirectURL", Self.shown(answer.headers.first("location") ?? [])), .init("headersSize", -1),
            .init(
                "bodySize",
                answer.body == .notCaptured ? -1 : .int((answer.encodedBody ?? answer.body.octets).count)),
        ]
        members += others(.response, entry)
        return .object(members)
    }

    // MARK: parts

    private func headers(_ fields: [HeaderField]) -> JSON {
        .array(
            fields.map { field in
                if field.value.isUTF8 || isStrict { return Self.pair(field.name, field.value) }
                return [
                    "name": .text(field.name), "value": Self.shown(field.value),
                    "_value64": .string(Base64.encode(field.value, .standard)),
                ]
            })
    }

    /// Text where that gives the octets back to every reader, else base64; large bodies in a file.
    private mutating func content(_ bytes: [UInt8], _ mimeType: [UInt8]) -> [JSON.Member] {
        if bytes.count > Self.inlineLimit, !isStrict {
            let path = "\(folder)/\(Hex.text(Digest.sha256(bytes)))"
            bodies[path] = .init(path: path, bytes: bytes)
            return [.init("_file", .string(path))]
        }
        if Self.isText(bytes, mimeType) { return [.init("text", .text(bytes))] }
        return [.init("text", .string(Base64.encode(bytes, .standard))), .init("encoding", "base64")]
    }

    private static func isText(_ bytes: [UInt8], _ mimeType: [UInt8]) -> Bool {
        guard bytes.isUTF8, !bytes.contains(0) else { return false }
        if bytes.allSatisfy({ $0 < 128 }) { return true }
        // A reader takes the text for one in the declared charset.
        let type = mimeType.map(Byte.lowercased).text
        return !type.contains("charset=") || type.contains("charset=utf-8") || type.contains("charset=\"utf-8")
    }

    /// Octets that are no UTF-8 are shown as Latin-1, as HTTP once had it.
    private static func shown(_ bytes: [UInt8]) -> JSON {
        if bytes.isUTF8 { return .text(bytes) }
        return .string(String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) })))
    }

    private static func pair(_ name: [UInt8], _ value: [UInt8]) -> JSON {
        ["name": shown(name), "value": shown(value)]
    }

    private static func query(_ url: RecordedURL) -> [(name: [UInt8], value: [UInt8])] {
        guard let query = url.query else { return [] }
        return Percent.form(query) ?? [(query, [])]
    }

    private static func cookies(_ fields: [HeaderField], _ name: String) -> [(name: [UInt8], value: [UInt8])] {
        let bytes = Array(name.utf8)
        return fields.filter { $0.isNamed(bytes) }.flatMap { field in
            let parts = field.value.split(separator: 59)
            return (name == "cookie" ? parts : Array(parts.prefix(1))).map { part in
                let text = Array(part).trimmed
                let equals = text.firstIndex(of: 61) ?? text.endIndex
                return (Array(text[..<equals]), Array(text[min(equals + 1, text.endIndex)...]))
            }
        }
    }

    private static func milliseconds(_ instant: Int64) -> String {
        let second = instant.floorDivided(by: 1_000_000_000) * 1_000_000_000
        let whole = TimeText.rfc3339(second).dropLast()
        let rest = String((instant - second) / 1_000_000)
        return "\(whole.prefix(19)).\(String(repeating: "0", count: 3 - rest.count))\(rest)Z"
    }

    /// Milliseconds with three decimals at the most.
    private static func span(_ nanoseconds: Int64) -> JSON {
        let micro = nanoseconds / 1000
        let rest = String(micro % 1000)
        return .number("\(micro / 1000).\(String(repeating: "0", count: 3 - rest.count))\(rest)")
    }
}
