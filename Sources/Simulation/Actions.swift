package import PushSimJSONText
package import PushSimWire

/// What a profile may want done to a call. What is nil is left as it is.
package struct Actions: Sendable {
    package enum RetryAfter: Hashable, Sendable {
        /// Nanoseconds.
        case seconds(Int64)
        case date(Int64)

        package var nanoseconds: Int64 {
            switch self {
            case .seconds(let wait), .date(let wait): wait
            }
        }
    }

    package var status: Int?
    package var reason: [UInt8]?
    package var headers: [HeaderField]?
    package var body: [UInt8]?
    /// Set with a body given as `json`.
    package var contentType: String?
    package var retryAfter: RetryAfter?
    /// Whether the backend does its work before the scripted answer takes its place.
    package var after = false
    package var delay: Delay?
    package var connection: ConnectionFault?
    package var wire: WireFaults?
    package var mutate: Mutation?
    package var lose: String?
    package var token: String?
    /// Of a call that names several tokens: those that are lost or spoilt, where the rule names one; nil for all.
    package var concerns: (@Sendable ([UInt8]) -> Bool)?
    /// What is changed in a discovery document.
    package var discovery: JSON?
    /// What the delay is drawn by.
    package private(set) var delayChance: Chance?
    /// What octets on the wire are drawn by.
    package private(set) var wireChance: Chance?

    package init() {}

    /// Whether head and body come apart, so that there is a moment between them.
    package var mayReachBody: Bool {
        if wire?.garbage != nil || connection == .closeMidHead { return false }
        return connection?.isSilent != true
    }

    /// Takes over what is not yet decided: of two rules that act, the earlier wins.
    package mutating func merge(_ later: Actions, _ chance: Chance) {
        if body == nil { (body, contentType) = (later.body, later.contentType) }
        status = status ?? later.status
        reason = reason ?? later.reason
        var added: [HeaderField] = []
        for field in later.headers ?? [] where !(headers ?? []).contains(where: { $0.isNamed(field.name) }) {
            added.append(field)
        }
        if !added.isEmpty { headers = (headers ?? []) + added }
        retryAfter = retryAfter ?? later.retryAfter
        after = after || later.after
        if delay == nil, later.delay != nil { (delay, delayChance) = (later.delay, chance) }
        connection = connection ?? later.connection
        if wire == nil, later.wire != nil { (wire, wireChance) = (later.wire, chance) }
        mutate = mutate ?? later.mutate
        if lose == nil, token == nil { concerns = later.concerns }
        lose = lose ?? later.lose
        token = token ?? later.token
        discovery = discovery ?? later.discovery
    }
}

/// How long an answer waits, on the simulation clock.
package struct Delay: Hashable, Sendable {
    /// Nanoseconds.
    package enum Length: Hashable, Sendable {
        case fixed(Int64)
        case uniform(Int64, Int64)
        case normal(mean: Int64, deviation: Int64)
        case lognormal(median: Int64, sigma: Double, most: Int64)
    }

    package var length: Length
    /// Waits between head and body, not before the head.
    package var isBeforeBody = false

    package init(_ length: Length, isBeforeBody: Bool = false) {
        self.length = length
        self.isBeforeBody = isBeforeBody
    }
}

/// How a connection ends, where that is a fault.
package enum ConnectionFault: Hashable, Sendable {
    case reset, resetAfterHead, resetMidBody, close, closeMidHead, closeMidBody, stall, stallMidBody, halfClose
    /// The listener stops listening for so many nanoseconds.
    case refuse(Int64)

    /// Those that need no value, by their names in profiles.
    package static let named: [(name: String, fault: ConnectionFault)] = [
        ("reset", .reset), ("resetAfterHead", .resetAfterHead), ("resetMidBody", .resetMidBody), ("close", .close),
        ("closeMidHead", .closeMidHead), ("closeMidBody", .closeMidBody), ("stall", .stall),
        ("stallMidBody", .stallMidBody), ("halfClose", .halfClose),
    ]

    /// Whether nothing is sent at all, so that no answer is needed.
    package var isSilent: Bool {
        switch self {
        case .reset, .close, .stall, .refuse: true
        default: false
        }
    }
}

/// What is wrong with the bytes of a message.
package struct WireFaults: Hashable, Sendable {
    package enum Length: Hashable, Sendable {
        /// So much more or less than is true.
        case off(Int)
        case none
        case fixed(Int)
    }

    /// Sends so many octets of the body under its full length.
    package var truncateBody: Int?
    /// So many pieces over so many nanoseconds of real time.
    package var dribble: (pieces: Int, over: Int64)? {
        get { dribblePieces.map { ($0, dribbleTime) } }
        set { (dribblePieces, dribbleTime) = (newValue?.pieces, newValue?.over ?? 0) }
    }
    private var dribblePieces: Int?
    private var dribbleTime: Int64 = 0
    /// Octets a second.
    package var bandwidth: Int?
    package var slowHead: Int?
    package var badChunkSize = false
    package var missingLastChunk = false
    package var contentLength: Length?
    package var bothLengths = false
    /// As it may be: in two chunks and the last.
    package var isChunked = false
    /// So many random octets instead of a message.
    package var garbage: Int?
    package var statusLine: [UInt8]?
    package var extraHeaders: Int?
    package var headerBytes: Int?
    package var interim: [Int] = []

    package init() {}

    /// With the framing of another, where this says nothing of framing.
    func framed(as other: WireFaults) -> WireFaults {
        let saysFraming =
            truncateBody != nil || badChunkSize || missingLastChunk || contentLength != nil || bothLengths || isChunked
        guard !saysFraming else { return self }
        var framed = self
        (framed.contentLength, framed.isChunked) = (other.contentLength, other.isChunked)
        return framed
    }
}

/// How a good answer is spoilt.
package enum Mutation: Hashable, Sendable {
    case named(Name)
    case contentType([UInt8])

    package enum Name: String, Sendable, CaseIterable {
        case truncatedJSON, trailingComma, notUTF8, bom, emptyBody, emptyObject, array, null, html, wrongTypes
        case missingFields, extraFields, stringified, duplicateKeys, deepNesting, gzipLabel
    }
}
