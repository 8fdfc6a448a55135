/// One row of the catalogue of broken and odd records (contract webpush.md, section 3).
package struct RecordFault: Hashable, Sendable {
    /// Such as `K01`.
    package let id: String
    /// Such as `wrongAuthSecret`.
    package let name: String
    /// What is on the wire.
    package let about: String
    /// Where a strict receiver stops; nil where the record opens.
    package let stage: Record.Stage?

    init(_ id: String, _ name: String, _ stage: Record.Stage?, _ about: String) {
        self.id = id
        self.name = name
        self.stage = stage
        self.about = about
    }

    /// What a correct client does.
    package var client: String {
        switch stage {
        case nil: Self.particular[id] ?? "opens it"
        case .content: Self.particular[id] ?? "discards it and keeps its registration: the keys are right"
        default: Self.particular[id] ?? "discards it, shows nothing, then registers again with its current keys, once"
        }
    }

    /// The sender's worst mistake: salt and key of each record of a device are the same (R10).
    package static let repeatedNonce = RecordFault(
        "R10", "repeatedNonce", nil, "the same salt and sender key as the device's other records of this fault")

    /// The rows R that are a course of events: how a profile has them happen, and what a correct client does.
    package static let sequences: [(id: String, about: String, how: String, client: String)] = [
        ("R01", "the same record again", "duplicate: 2", "drops the second by its message id"),
        (
            "R02", "the same plaintext under a new salt and key", "duplicate: 2, fresh: true",
            "shows one notification, rings one call"
        ),
        (
            "R03", "a clear before its notification", "reorder: 2 on { side: \"delivery\" }",
            "takes no harm, and shows what comes later"
        ),
        (
            "R04", "a ring that is over or too old", "ring: \"dead\" or ring: \"expired\"",
            "reports a call and ends it at once"
        ),
        ("R07", "a ring for another account", "ring: \"foreign\"", "reports a call and ends it at once"),
    ]

    /// Whether nobody who opens it has done right: not where the RFCs, or the keys that were, leave a choice.
    package var mustNotOpen: Bool {
        guard let stage, stage != .content else { return false }
        return !["K03", "F11", "F12", "F13", "F14", "F20", "P11", "T10"].contains(id)
    }

    /// By id or name.
    package static func find(_ text: String) -> RecordFault? { table[text] }

    private static let table: [String: RecordFault] = {
        var table: [String: RecordFault] = [:]
        for fault in all + [repeatedNonce] {
            table[fault.id] = fault
            table[fault.name] = fault
        }
        return table
    }()

    private static let particular: [String: String] = [
        "V06": "strips the zeros: padding bounds the work, not the meaning",
        "V07": "opens it: an agreed x coordinate stays 32 octets",
        "V09": "shows the text, bidi controls isolated or stripped",
        "K03": "may open it with the last key pair for a short time, or discards it",
        "F14": "opens it, or refuses a record size over 4096", "F20": "need not support two records",
        "F24": "never shows the first of the two", "P11": "may refuse it",
        "T10": "may refuse 4097 octets", "T11": "never takes plaintext for a record: anyone could forge it",
        "C20": "reads 64-bit integers, and clamps an absurd expires_at_ms",
        "C21": "shows it: the limit binds the sender", "C23": "shows what there is",
        "C24": "discards it; on PushKit reports a call and ends it", "C25": "takes it for a notification",
        "C26": "has nothing to show, discards it", "C19": "discards or ignores it without a stack overflow",
        "C18": "must not ring and clear both",
    ]

    package static let all: [RecordFault] = [
        .init("V01", "notification", nil, "a plain notification"),
        .init("V02", "paddedTo2816", nil, "padded to 2816 octets"),
        .init("V03", "recordSizeExact", nil, "a record size equal to the ciphertext"),
        .init("V04", "recordSizeTight", nil, "a record size one above the ciphertext"),
        .init("V05", "fullPayload", nil, "2713 octets of JSON"),
        .init("V06", "paddedTo4096", nil, "padded to 4096 octets"),
        .init("V07", "leadingZeroSecret", nil, "an agreed x coordinate that begins with a zero octet"),
        .init("V08", "recordSizeLargest", nil, "a record size of 4294967295"),
        .init("V09", "rawUTF8", nil, "accents, CJK, emoji and a bidi override as raw UTF-8"),
        .init("V10", "notificationClear", nil, "a notification_clear"),
        .init("V11", "callRing", nil, "a call_ring"),
        .init("K01", "wrongAuthSecret", .tag, "another auth secret"),
        .init("K02", "wrongReceiverKey", .tag, "encrypted to another key"),
        .init("K03", "previousKeys", .tag, "encrypted to the device's previous key pair"),
        .init("K04", "foreignKeyInKeyInfo", .tag, "another receiver key in key_info"),
        .init("K05", "swappedKeyInfo", .tag, "receiver and sender key swapped in key_info"),
        .init("K06", "keyInfoWithoutZero", .tag, "key_info without its zero octet"),
        .init("K07", "contentKeyInfoWithoutZero", .tag, "cek_info without its zero octet"),
        .init("K08", "contentKeyInfoOfDraft", .tag, "cek_info of the draft aesgcm"),
        .init("K09", "nonceOffByOne", .tag, "the nonce XOR 1"),
        .init("K10", "doubledCounter", .tag, "HKDF's counter octet twice"),
        .init("K11", "additionalData", .tag, "additional data that is not empty"),
        .init("K12", "droppedLeadingZero", .tag, "the leading zero of the agreed x coordinate dropped"),
        .init("K13", "swappedSaltAndAuth", .tag, "salt and auth secret swapped"),
        .init("F01", "emptyRecord", .framing, "no octet at all"),
        .init("F02", "cutInSalt", .framing, "15 octets"),
        .init("F03", "cutBeforeKey", .framing, "21 octets: the key is missing"),
        .init("F04", "cutInKey", .framing, "cut inside the key"),
        .init("F05", "headerOnly", .framing, "the header only"),
        .init("F06", "oneOctetOfCiphertext", .framing, "the header and one octet"),
        .init("F07", "tagOnly", .framing, "a valid tag over nothing"),
        .init("F08", "tagMissing", .tag, "the tag cut off"),
        .init("F09", "lastOctetMissing", .tag, "the last octet cut off"),
        .init("F10", "oneOctetMore", .tag, "one octet more"),
        .init("F11", "recordSizeZero", .framing, "a record size of 0"),
        .init("F12", "recordSizeTooSmall", .framing, "a record size of 17"),
        .init("F13", "recordSizeBelowCiphertext", .framing, "a record size one below the ciphertext"),
        .init("F14", "recordSizeLittleEndian", nil, "a record size of 4096 in little-endian order"),
        .init("F15", "keyRemoved", .framing, "idlen 0, the key removed"),
        .init("F16", "keyLengthZero", .framing, "idlen 0, the key left in"),
        .init("F17", "keyLength64", .framing, "idlen 64"),
        .init("F18", "keyLength66", .framing, "idlen 66"),
        .init("F19", "keyLength255", .framing, "idlen 255"),
        .init("F20", "twoRecords", .framing, "two records, as RFC 8188 allows"),
        .init("F21", "twoRecordsUnderOneSize", .tag, "two records under a record size that holds both"),
        .init("F22", "firstOfTwoRecords", .padding, "the first of two records"),
        .init("F23", "lastDelimiterInFirst", .framing, "two records, the last delimiter in the first"),
        .init("F24", "twoMessages", .tag, "two whole messages in one body"),
        .init("F25", "saltBitFlipped", .tag, "a bit of the salt flipped"),
        .init("F26", "keyBitFlipped", .point, "a bit of the key flipped"),
        .init("F27", "ciphertextBitFlipped", .tag, "a bit of the ciphertext flipped"),
        .init("F28", "tagBitFlipped", .tag, "a bit of the tag flipped"),
        .init("P01", "compressedPoint", .framing, "a compressed point of 33 octets"),
        .init("P02", "hybridPoint", .point, "a hybrid point, 0x06 or 0x07"),
        .init("P03", "barePoint", .framing, "x and y without a prefix"),
        .init("P04", "derPoint", .framing, "the key as SubjectPublicKeyInfo"),
        .init("P05", "pointAtInfinity", .framing, "infinity as one zero octet"),
        .init("P06", "zeroPoint", .point, "0x04 and 64 zeros"),
        .init("P07", "pointOffCurve", .point, "a point off the curve"),
        .init("P08", "coordinateTooLarge", .point, "an x coordinate equal to p"),
        .init("P09", "pointOfOtherCurve", .point, "a point of secp256k1"),
        .init("P10", "wrongPrefix", .point, "the prefix 0x05"),
        .init("P11", "receiversOwnKey", nil, "the receiver's own public key"),
        .init("D01", "delimiterMissing", .padding, "no delimiter"),
        .init("D02", "allZeros", .padding, "nothing but zeros"),
        .init("D03", "delimiterOne", .padding, "delimiter 1 in the only record"),
        .init("D04", "delimiterThree", .padding, "delimiter 3"),
        .init("D05", "nonZeroPadding", .padding, "a non-zero octet after the delimiter"),
        .init("D06", "draftPadding", .padding, "two octets of length in front, as the draft had it"),
        .init("D07", "delimiterOnly", .content, "a delimiter and nothing before it"),
        .init("D08", "trailingNULs", .content, "a plaintext that ends in NULs"),
        .init("C01", "notUTF8", .content, "octets that are no UTF-8"),
        .init("C02", "cutEmoji", .content, "cut inside an emoji"),
        .init("C03", "overlongUTF8", .content, "an overlong form"),
        .init("C04", "encodedSurrogate", .content, "a surrogate encoded as UTF-8"),
        .init("C05", "loneSurrogate", .content, "a lone surrogate as an escape"),
        .init("C06", "utf16", .content, "UTF-16"),
        .init("C07", "byteOrderMark", .content, "a byte order mark in front"),
        .init("C08", "plainText", .content, "plain text"),
        .init("C09", "cutJSON", .content, "JSON cut short"),
        .init("C10", "twoValues", .content, "two JSON values"),
        .init("C11", "trailingComma", .content, "a comma before the last brace"),
        .init("C12", "notANumber", .content, "NaN"),
        .init("C13", "topLevelArray", .content, "an array at the top"),
        .init("C14", "topLevelString", .content, "a string at the top"),
        .init("C15", "topLevelNumber", .content, "a number at the top"),
        .init("C16", "topLevelNull", .content, "null at the top"),
        .init("C17", "encodedTwice", .content, "JSON in a JSON string"),
        .init("C18", "doubledType", .content, "type twice"),
        .init("C19", "deepNesting", .content, "1300 nested arrays"),
        .init("C20", "largeInteger", nil, "an integer above 2^53"),
        .init("C21", "oversizePayload", nil, "2714 octets of JSON"),
        .init("C22", "gzipPlaintext", .content, "gzip before encryption"),
        .init("C23", "dataMissing", nil, "data left out"),
        .init("C24", "wrongTypes", nil, "title a number, data a string"),
        .init("C25", "unknownType", nil, "an unknown type at the top"),
        .init("C26", "emptyObject", nil, "an empty object"),
        .init("T01", "base64URLText", .framing, "the body as base64url"),
        .init("T02", "base64Text", .framing, "the body as base64"),
        .init("T03", "hexText", .framing, "the body as hexadecimal"),
        .init("T04", "gzipBody", .framing, "the body gzipped"),
        .init("T05", "chunkFraming", .framing, "chunk framing left in"),
        .init("T06", "newlineInFront", .framing, "a newline in front"),
        .init("T07", "htmlPage", .framing, "an HTML error page"),
        .init("T08", "jsonEnvelope", .framing, "the record in a JSON envelope"),
        .init("T09", "draftBody", .framing, "a body of the draft aesgcm"),
        .init("T10", "paddedTo4097", nil, "4097 octets, otherwise valid"),
        .init("T11", "plaintextBody", .framing, "the plaintext itself"),
    ]
}
