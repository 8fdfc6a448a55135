import PushSimJSONText
package import PushSimWire

/// Response headers that differ between two recordings of the same, and what stands in their place.
enum Normalisation {
    private static let epoch = "Thu, 01 Jan 1970 00:00:00 GMT"
    private static let rules: [(header: String, value: String)] = [
        ("Date", epoch), ("Age", "0"), ("X-Request-Id", "normalised"), ("X-Correlation-Id", "normalised"),
        ("X-Amzn-RequestId", "normalised"), ("X-Amzn-Trace-Id", "normalised"), ("CF-Ray", "normalised"),
        ("X-Amz-Request-Id", "normalised"), ("X-Amz-Id-2", "normalised"), ("X-Amz-Cf-Id", "normalised"),
        ("Request-Id", "normalised"), ("X-Trace-Id", "normalised"), ("X-B3-TraceId", "normalised"),
        ("X-B3-SpanId", "normalised"), ("X-Cloud-Trace-Context", "normalised"), ("X-Ms-Request-Id", "normalised"),
        ("X-GitHub-Request-Id", "normalised"), ("Fly-Request-Id", "normalised"), ("X-Vercel-Id", "normalised"),
        ("Trace-Id", "normalised"), ("Traceparent", "normalised"), ("X-Runtime", "0"), ("Server-Timing", "normalised"),
    ]
    private static let table = rules.map { (name: Array($0.header.utf8), value: Array($0.value.utf8)) }

    static func apply(_ fields: inout [HeaderField]) {
        for index in fields.indices {
            guard let rule = table.first(where: { fields[index].isNamed($0.name) }) else { continue }
            fields[index].value = rule.value
        }
    }

    static var json: JSON {
        .array(rules.map { .string("\($0.header): \($0.value)") })
    }
}

extension CassetteEntry {
    /// With what differs from run to run made the same.
    package var normalised: CassetteEntry {
        guard var answer else { return self }
        Normalisation.apply(&answer.headers)
        Normalisation.apply(&answer.trailers)
        var entry = self
        entry.answer = answer
        return entry
    }

    /// With placeholders in its answer that say only what kind of secret they stand for.
    var anonymous: CassetteEntry {
        guard var answer else { return self }
        for index in answer.headers.indices {
            answer.headers[index].value = Template.anonymous(answer.headers[index].value)
        }
        if case .bytes(let bytes) = answer.body { answer.body = .bytes(Template.anonymous(bytes)) }
        var entry = self
        entry.answer = answer
        return entry
    }

    /// With the values of placeholders in its request, and the names of those that are not known.
    package func filled(_ bound: [ByteKey: [UInt8]]) -> (CassetteEntry, missing: [String]) {
        let isJSON = (try? JSONDocument(body.octets)) != nil
        let type = (headers.first("content-type") ?? []).map(Byte.lowercased).text
        let isForm = type.hasPrefix("application/x-www-form-urlencoded")
        let templates =
            [Template(url.path, in: .url), Template(url.query ?? [], in: .url)]
            + [Template(body.octets, in: isJSON ? .json : isForm ? .form : .plain)] + headers.map { Template($0.value) }
        let missing = Set(templates.flatMap(\.names).filter { bound[ByteKey($0)] == nil }.map(\.text)).sorted()
        var entry = self
        entry.url.path = templates[0].filled(bound)
        if url.query != nil { entry.url.query = templates[1].filled(bound) }
        if case .bytes = body { entry.body = .bytes(templates[2].filled(bound)) }
        entry.headers = zip(headers, templates[3...]).map { HeaderField($0.name, $1.filled(bound)) }
        return (entry, missing)
    }
}
