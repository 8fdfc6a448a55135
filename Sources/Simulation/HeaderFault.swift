/// The rows of the catalogue that concern a delivery's header fields (contract webpush.md, H01 to H12).
package struct HeaderFault: Sendable {
    package let id: String
    package let about: String
    let change: @Sendable (inout DeliveryActions) -> Void

    package func apply(to actions: inout DeliveryActions) { change(&actions) }

    package static func find(_ id: String) -> HeaderFault? { all.first { $0.id == id } }

    package static let all: [HeaderFault] =
        [
            fields("H01", "Content-Encoding missing", "Content-Encoding", []),
            fields("H02.aesgcm", "Content-Encoding aesgcm", "Content-Encoding", ["aesgcm"]),
            fields("H02.gzip", "Content-Encoding gzip", "Content-Encoding", ["gzip"]),
            fields("H02.identity", "Content-Encoding identity", "Content-Encoding", ["identity"]),
            fields("H03", "Content-Encoding twice", "Content-Encoding", ["aes128gcm", "aes128gcm"]),
            fields("H04", "TTL missing", "TTL", []), fields("H05.negative", "TTL -1", "TTL", ["-1"]),
            fields("H05.word", "TTL abc", "TTL", ["abc"]), fields("H05.unit", "TTL 86400s", "TTL", ["86400s"]),
            fields("H05.large", "TTL above 2^31", "TTL", ["2147483649"]),
            fields("H06.twice", "Urgency twice", "Urgency", ["high", "low"]),
            fields("H06.unknown", "an unknown Urgency", "Urgency", ["soon"]),
            fields("H07.long", "a Topic of 33 characters", "Topic", ["abcdefghijklmnopqrstuvwxyz0123456"]),
            fields("H07.padded", "a Topic with =", "Topic", ["YWJj="]),
            wire("H08.high", "Content-Length one too high") { $0.contentLength = .off(1) },
            wire("H08.low", "Content-Length one too low") { $0.contentLength = .off(-1) },
            wire("H09.chunked", "sent in chunks") { $0.isChunked = true },
            fields("H09.expect", "Expect: 100-continue", "Expect", ["100-continue"]),
            fields("H10.missing", "Content-Type missing", "Content-Type", []),
            fields("H10.json", "Content-Type application/json", "Content-Type", ["application/json"]),
        ]
        + [
            ("H11.missing", "no VAPID"), ("H11.expired", "VAPID expired"), ("H11.long", "VAPID for more than 24 h"),
            ("H11.audience", "VAPID for another origin"), ("H11.key", "VAPID by another key"),
            ("H11.draft", "VAPID in the form of the draft"),
        ].map { id, about in HeaderFault(id: id, about: about) { $0.vapid = id } }
        + [
            fields(
                "H12.cryptoKey", "a Crypto-Key of the draft beside it", "Crypto-Key",
                ["dh=BNoRDbb84JGm8g5Z5CFxurSqsXWJ11ItfXEWYVLE85Y7"]),
            fields(
                "H12.encryption", "an Encryption of the draft beside it", "Encryption", ["salt=DGv6ra1nlYgDCS1FRnbzlw"]),
        ]

    private static func fields(_ id: String, _ about: String, _ name: String, _ values: [String]) -> HeaderFault {
        HeaderFault(id: id, about: about) { actions in
            actions.headers.append(.init(Array(name.utf8), values.map { Array($0.utf8) }))
        }
    }

    private static func wire(
        _ id: String, _ about: String, _ change: @escaping @Sendable (inout WireFaults) -> Void
    ) -> HeaderFault {
        HeaderFault(id: id, about: about) { actions in
            var wire = actions.headerWire ?? WireFaults()
            change(&wire)
            actions.headerWire = wire
        }
    }
}
