import PushSimJSONText
import PushSimSimulation
import PushSimWebPush
import PushSimWire

/// Goes through the entries of a recording and notes what is a secret.
struct SecretCollector {
    private(set) var secrets = Secrets()
    private let rules: [RedactionRule]
    private let expressions: [RuleExpression]
    private let queryNames: [[UInt8]]
    private let redactsRoutingIDs: Bool
    /// Looks like an address and is none.
    private var routingIDs: Set<ByteKey> = []

    init(_ rules: [RedactionRule], redactsRoutingIDs: Bool) {
        self.rules = rules
        expressions = rules.compactMap(RuleExpression.init)
        queryNames = rules.compactMap { if case .query(let name) = $0.place { name } else { nil } }
        self.redactsRoutingIDs = redactsRoutingIDs
    }

    mutating func collect(_ entries: [CassetteEntry]) {
        for entry in entries { collectRoutingIDs(entry) }
        for entry in entries {
            target(entry.url)
            headers(entry.headers)
            body(entry.body.octets, entry.mediaType)
            if let plaintext = entry.plaintext { body(plaintext, "") }
            for place in UnknownMembers.Place.allCases { body(entry.unknown[place] ?? [], "") }
            guard let answer = entry.answer else { continue }
            for interim in answer.interim {
                text(interim.statusText)
                headers(interim.headers)
            }
            text(answer.statusText ?? [])
            headers(answer.headers + answer.trailers)
            body(answer.body.octets, answer.mediaType)
        }
        for entry in entries where entry.isDelivery || Self.isPush(entry) { deliveryTarget(entry.url) }
        for entry in entries { device(entry) }
    }

    /// A Web Push message, wherever it goes: its path is the secret of the endpoint.
    private static func isPush(_ entry: CassetteEntry) -> Bool {
        let segments = entry.url.path.split(separator: Byte.slash)
        if segments.count == 2, segments[0].elementsEqual("push".utf8), segments[1].count >= 16 { return true }
        return entry.headers.first("ttl") != nil && entry.headers.first("content-encoding") == Array("aes128gcm".utf8)
    }

    /// Where vendors' services have the token of a device: APNs in the path, the older FCM under `to`.
    private mutating func device(_ entry: CassetteEntry) {
        let segments = entry.url.path.split(separator: Byte.slash)
        if segments.count == 3, segments[0].elementsEqual("3".utf8), segments[1].elementsEqual("device".utf8) {
            secrets.add(Array(segments[2]), "device-token")
        }
        if entry.url.path == Array("/fcm/send".utf8), let root = (try? JSONDocument(entry.body.octets))?.root,
            let to = root["to"]?.stringBytes, !to.starts(with: "/topics/".utf8)
        {
            secrets.add(to, "device-token")
        }
    }

    // MARK: places

    private mutating func target(_ url: RecordedURL) {
        free(url.origin)
        for pair in Percent.lenientForm(url.query ?? []) {
            if let kind = SecretNames.query(pair.name) { secrets.add(pair.value, kind) }
            field(pair.name, pair.value) { rule in
                if case .query(let name) = rule.place { name == pair.name } else { false }
            }
        }
        for segment in url.path.split(separator: Byte.slash) { free(Percent.decode(segment) ?? Array(segment)) }
        for part in (url.query ?? []).split(separator: 38) { free(Percent.decode(part) ?? Array(part)) }
        patterns(url.target)
    }

    /// The secret part of an endpoint is what follows the authority, or `/push/` where nobody registered it.
    private mutating func deliveryTarget(_ url: RecordedURL) {
        if secrets.number(Array(url.target.dropFirst())) != nil { return }
        if let last = url.path.split(separator: Byte.slash).last {
            secrets.add(Percent.decode(last) ?? Array(last), "endpoint")
        }
    }

    private mutating func headers(_ fields: [HeaderField]) {
        for header in fields {
            let name = header.name.map(Byte.lowercased).text
            switch name {
            case "cookie":
                for part in header.value.split(separator: 59) { cookie(Array(part).trimmed) }
            case "set-cookie": cookie(Array(header.value.prefix { $0 != 59 }))
            default: if let kind = SecretNames.header(name) { credentials(header.value, kind) }
            }
            for rule in rules {
                if case .header(let wanted) = rule.place, header.isNamed(wanted) {
                    secrets.add(header.value, rule.kind, isRuled: true)
                }
            }
            free(header.value)
            patterns(header.value)
        }
    }

    private mutating func text(_ text: [UInt8]) {
        free(text)
        patterns(text)
    }

    private mutating func cookie(_ pair: [UInt8]) {
        guard let equals = pair.firstIndex(of: 61) else {
            secrets.add(pair, "cookie")
            return
        }
        let value = Array(pair[(equals + 1)...])
        secrets.add(Array(value[SecretShapes.unquoted(value)]), "cookie")
    }

    /// Of `Bearer x` the secret is `x`.
    private mutating func credentials(_ value: [UInt8], _ kind: String) {
        guard kind == "authorization", let space = value.firstIndex(of: Byte.space) else {
            secrets.add(value, kind)
            return
        }
        let scheme = value[..<space].map(Byte.lowercased).text
        let rest = Array(value[(space + 1)...]).trimmed
        // `vapid t=…, k=…`: the key is public, and the token is found as what it is.
        if scheme == "vapid" || scheme == "webpush" { return }
        secrets.add(rest, kind)
        if scheme == "basic", let plain = Base64.decodeLeniently(rest), let colon = plain.firstIndex(of: Byte.colon) {
            secrets.add(Array(plain[(colon + 1)...]), "password")
        }
    }

    private mutating func body(_ bytes: [UInt8], _ mediaType: String) {
        guard !bytes.isEmpty else { return }
        if let document = try? JSONDocument(bytes), document.root.kind == .object || document.root.kind == .array {
            value(document.root, 0)
            for rule in rules {
                if case .json(let steps) = rule.place { along(steps[...], document.root, rule.kind) }
            }
            patterns(bytes)
            return
        }
        if mediaType.hasPrefix("application/x-www-form-urlencoded") {
            for pair in Percent.lenientForm(bytes) {
                field(pair.name, pair.value) { rule in
                    if case .form(let name) = rule.place { name == pair.name } else { false }
                }
                free(pair.value)
            }
        } else if mediaType.hasPrefix("multipart/") {
            parts(bytes)
        }
        text(bytes)
    }

    private mutating func parts(_ bytes: [UInt8]) {
        for part in MultipartBody.parts(bytes) {
            field(part.name, Array(bytes[part.range])) { rule in
                if case .form(let name) = rule.place { name == part.name } else { false }
            }
        }
    }

    private mutating func field(_ name: [UInt8], _ value: [UInt8], _ isNamed: (RedactionRule) -> Bool) {
        if let kind = SecretNames.field(name) { named(value, kind) }
        for rule in rules where isNamed(rule) { secrets.add(value, rule.kind, isRuled: true) }
    }

    /// A token may be the URL of an endpoint, of which the authority is none of the secret.
    private mutating func named(_ value: [UInt8], _ kind: String) {
        if let url = RecordedURL(value), ["http", "https"].contains(url.scheme.text) {
            secrets.add(Array(url.target.dropFirst()), "endpoint")
        } else if !isRoutingID(value) {
            secrets.add(value, kind)
        }
    }

    // MARK: JSON

    private mutating func value(_ value: JSONValue, _ depth: Int) {
        switch value.kind {
        case .object:
            for member in value.members {
                let name = member.key.stringBytes ?? []
                if let kind = SecretNames.field(name) {
                    if let text = member.value.stringBytes { named(text, kind) }
                    if member.value.kind == .number { secrets.add(Array(member.value.source), kind) }
                    // Lists of them; of an object only what is a password in any case.
                    for text in member.value.elements.compactMap(\.stringBytes) { named(text, kind) }
                    if kind == "password" || kind == "secret" {
                        for text in member.value.members.compactMap(\.value.stringBytes) { named(text, kind) }
                    }
                }
                self.value(member.value, depth)
            }
        case .array: for element in value.elements { self.value(element, depth) }
        case .string:
            let text = value.stringBytes ?? []
            free(text)
            // JSON within a text of JSON.
            if depth < 3, text.first == 123, let inner = try? JSONDocument(text) { self.value(inner.root, depth + 1) }
        default: break
        }
    }

    private mutating func along(_ steps: ArraySlice<JSONPath.Step>, _ value: JSONValue, _ kind: String) {
        guard let step = steps.first else { return leaves(value, kind) }
        let rest = steps.dropFirst()
        switch step {
        case .member("*"):
            for element in value.elements + value.members.map(\.value) { along(rest, element, kind) }
        case .member(let name): if let next = value.member(name) { along(rest, next, kind) }
        case .element(let index):
            let elements = value.elements
            if elements.indices.contains(index) { along(rest, elements[index], kind) }
        }
    }

    /// All that a named value holds.
    private mutating func leaves(_ value: JSONValue, _ kind: String) {
        switch value.kind {
        case .object: for member in value.members { leaves(member.value, kind) }
        case .array: for element in value.elements { leaves(element, kind) }
        default: secrets.add(value.stringBytes ?? Array(value.source), kind, isRuled: true)
        }
    }

    // MARK: shapes

    /// What is a secret by its shape: tokens, addresses, private keys.
    private mutating func free(_ text: [UInt8]) {
        let names = queryNames
        let members = SecretShapes.members(text) { name, isQuery in
            SecretNames.field(name) != nil || isQuery && (SecretNames.query(name) != nil || names.contains(name))
        }
        for member in members {
            if let kind = SecretNames.field(member.name) ?? (member.isQuery ? SecretNames.query(member.name) : nil) {
                named(member.value, kind)
                if let other = member.otherValue { named(other, kind) }
            }
            for rule in rules where member.isQuery {
                if case .query(let name) = rule.place, name == member.name {
                    secrets.add(member.value, rule.kind, isRuled: true)
                }
            }
        }
        for endpoint in SecretShapes.endpoints(text) { secrets.add(endpoint, "endpoint") }
        for token in SecretShapes.deviceTokens(text) { secrets.add(token, "device-token") }
        for token in SecretShapes.bearers(text) { secrets.add(token, "authorization") }
        for password in SecretShapes.passwords(text) { secrets.add(password, "password") }
        for token in SecretShapes.webTokens(text) { secrets.add(token, "jwt") }
        for address in SecretShapes.addresses(text) where !isRoutingID(address) { secrets.add(address, "email") }
        for key in SecretShapes.privateKeys(text) { secrets.add(key, "private-key") }
    }

    private mutating func patterns(_ text: [UInt8]) {
        for expression in expressions {
            for range in expression.ranges(text) { secrets.add(Array(text[range]), expression.kind, isRuled: true) }
        }
    }

    private mutating func collectRoutingIDs(_ entry: CassetteEntry) {
        let segments = entry.url.path.split(separator: Byte.slash).map { Percent.decode($0) ?? Array($0) }
        if segments.count > 2, segments[1] == Array("subscription".utf8) {
            for segment in segments.dropFirst(2) { routingID(segment) }
        }
        for bytes in [entry.body.octets, entry.answer?.body.octets ?? []] {
            if let document = try? JSONDocument(bytes) { routingIDs(document.root, 0) }
        }
    }

    private mutating func routingIDs(_ value: JSONValue, _ depth: Int) {
        for member in value.members {
            let name = member.key.string ?? ""
            // What NTM registers by XMPP is a routing id.
            if name == "proto", member.value.string == "xmpp", let token = value["token"]?.stringBytes {
                routingID(token)
            }
            if name.hasSuffix("routing_id") || name == "cid" || name == "topic" {
                for part in (member.value.stringBytes ?? []).split(separator: Byte.slash) { routingID(Array(part)) }
            }
            routingIDs(member.value, depth)
        }
        for element in value.elements { routingIDs(element, depth) }
        if depth < 3, let text = value.stringBytes, text.first == 123, let inner = try? JSONDocument(text) {
            routingIDs(inner.root, depth + 1)
        }
    }

    private mutating func routingID(_ text: [UInt8]) {
        routingIDs.insert(ByteKey(text))
        if redactsRoutingIDs, text.contains(64) { secrets.add(text, "routing-id") }
    }

    private func isRoutingID(_ text: [UInt8]) -> Bool { !redactsRoutingIDs && routingIDs.contains(ByteKey(text)) }
}
