import PushSimWire

extension CassetteEntry.Outcome {
    /// The same octets for the same outcome, on every machine.
    var octets: [UInt8] {
        var out = OctetList()
        switch self {
        case .answer(let answer):
            out.add("answer")
            out.add(answer)
        case .failure(let failure):
            out.add("failure")
            out.add(Array(failure.kind.rawValue.utf8))
            out.add(Array(failure.detail.utf8))
            out.add(failure.declared ?? -1)
            if let answer = failure.answer { out.add(answer) }
        }
        return out.bytes
    }
}

/// Parts behind their lengths, so that no two lists of parts are the same octets.
private struct OctetList {
    private(set) var bytes: [UInt8] = []

    mutating func add(_ part: [UInt8]?) {
        // Nothing at all is another than an empty part.
        add(part?.count ?? -1)
        bytes += part ?? []
    }

    mutating func add(_ text: StaticString) { add([UInt8](text)) }

    mutating func add(_ number: Int) {
        bytes.appendDecimal(number)
        bytes.append(Byte.colon)
    }

    mutating func add(_ fields: [HeaderField]) {
        add(fields.count)
        for field in fields {
            add(field.name)
            add(field.value)
        }
    }

    mutating func add(_ answer: CassetteEntry.Answer) {
        add(answer.status)
        for part in [answer.statusText, answer.httpVersion, answer.encodedBody, answer.mimeType] { add(part) }
        add(answer.headers)
        if case .bytes(let body) = answer.body { add(body) } else { add(nil) }
        add(answer.chunks?.count ?? -1)
        for chunk in answer.chunks ?? [] { add(chunk) }
        add(answer.trailers)
        add(answer.interim.count)
        for interim in answer.interim {
            add(interim.status)
            add(interim.statusText)
            add(interim.headers)
        }
    }
}
