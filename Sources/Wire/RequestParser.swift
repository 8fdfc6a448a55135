import CPushSimSystem

/// Takes requests out of a stream of bytes. Does no input or output: it is handed what has come and says what it is.
package struct RequestParser {
    package enum Step: Sendable {
        /// Nothing more can be said before more bytes come.
        case needMore
        /// The head is whole; the body follows.
        case head
        /// The request is whole.
        case complete
        case failed(RequestFailure)
    }

    private enum State {
        case head
        case body(Int)
        case chunkSize
        case chunkData(Int)
        case chunkEnd
        case trailers
        case done
    }

    package private(set) var head: RequestHead?
    package private(set) var body: [UInt8] = []
    package private(set) var trailers: [HeaderField] = []
    private var state = State.head
    /// How far the unfinished head has been searched for line ends, and where its last line began.
    private var searched = 0
    private var lineStart = 0
    private var trailerSize = 0
    /// The head of the request before. On a connection that is kept most requests begin with the same bytes, and what has
    /// been read once need not be read again.
    private var previous: RequestHead?
    package var limits = ServerLimits()
    /// What the body of a request may have that is larger than the limits say.
    private let bodyLimit: @Sendable (RequestHead) -> Int

    package init(bodyLimit: @escaping @Sendable (RequestHead) -> Int = { _ in 0 }) { self.bodyLimit = bodyLimit }

    /// Whether a request has begun and is not yet whole.
    package var isInside: Bool {
        // So that nothing is copied for it where nothing is optimised.
        mutating get {
            if case .head = state { return searched > 0 }
            return true
        }
    }

    /// Takes the finished request out and makes ready for the next.
    package mutating func take() -> Request? {
        guard let head else { return nil }
        let request = Request(head: head, body: body, trailers: trailers)
        self.head = nil
        body = []
        trailers = []
        state = .head
        searched = 0
        lineStart = 0
        trailerSize = 0
        return request
    }

    /// Reads on in `input`, which begins with the first byte that was not consumed before.
    package mutating func advance(_ input: UnsafeRawBufferPointer, consumed: inout Int) -> Step {
        guard let base = input.baseAddress else { return .needMore }
        while true {
            let rest = UnsafeRawBufferPointer(start: base + consumed, count: input.count - consumed)
            do throws(RequestFailure) {
                switch state {
                case .head:
                    if searched == 0, rest.count > 0, rest[0] == Byte.carriageReturn {
                        // RFC 9112 section 2.2: an empty line before the request line is ignored.
                        guard rest.count > 1 else { return .needMore }
                        guard rest[1] == Byte.lineFeed else { throw .bad("The request begins with a bare CR.") }
                        consumed += 2
                        continue
                    }
                    guard let size = try readHead(rest) else { return .needMore }
                    consumed += size
                    if case .done = state { return .complete }
                    return .head
                case .body(let remaining), .chunkData(let remaining):
                    let count = min(remaining, rest.count)
                    guard count > 0 else { return .needMore }
                    let piece = UnsafeRawBufferPointer(start: rest.baseAddress, count: count)
                    // Most bodies come whole.
                    if body.count == 0, count == remaining {
                        body = Array(piece)
                    } else {
                        if body.count == 0 { body.reserveCapacity(min(remaining, 1 << 16)) }
                        body.append(contentsOf: piece)
                    }
                    consumed += count
                    bodyAdvanced(remaining - count)
                    if case .done = state { return .complete }
                case .chunkSize:
                    guard let line = try line(rest) else { return .needMore }
                    try beginChunk(line)
                    consumed += line.count + 2
                case .chunkEnd:
                    guard rest.count >= 2 else {
                        if rest.count == 1, rest[0] != Byte.carriageReturn {
                            throw .bad("A chunk is longer than its size.")
                        }
                        return .needMore
                    }
                    guard rest[0] == Byte.carriageReturn, rest[1] == Byte.lineFeed else {
                        throw .bad("A chunk is longer than its size.")
                    }
                    consumed += 2
                    state = .chunkSize
                case .trailers:
                    guard let line = try line(rest) else { return .needMore }
                    consumed += line.count + 2
                    if line.isEmpty {
                        state = .done
                        return .complete
                    }
                    try addTrailer(UnsafeRawBufferPointer(rebasing: rest[..<(line.count + 2)]))
                case .done: return .complete
                }
            } catch {
                return .failed(error)
            }
        }
    }

    private mutating func readHead(_ rest: UnsafeRawBufferPointer) throws(RequestFailure) -> Int? {
        guard let base = rest.baseAddress else { return nil }
        if searched == 0, let previous, previous.stands(at: base, rest.count), isWithinLimits(previous) {
            try begin(previous)
            return previous.bytes.count + 2
        }
        while searched < rest.count {
            guard let found = memchr(base + searched, Int32(Byte.lineFeed), rest.count - searched) else {
                searched = rest.count
                break
            }
            let index = UnsafeRawPointer(found) - base
            guard index > lineStart, base.load(fromByteOffset: index - 1, as: UInt8.self) == Byte.carriageReturn else {
                throw .bad("A line of the head ends in a bare line feed.")
            }
            searched = index + 1
            let isEmpty = index - 1 == lineStart
            let start = lineStart
            lineStart = searched
            if searched > limits.head { throw .headTooLarge }
            if !isEmpty { continue }
            let head = try HeadParser.parse(
                UnsafeRawBufferPointer(start: base, count: start), fieldLimit: limits.fields)
            previous = head
            try begin(head)
            return index + 1
        }
        if rest.count > limits.head { throw .headTooLarge }
        return nil
    }

    /// The limits may have changed since it was read.
    private func isWithinLimits(_ head: RequestHead) -> Bool {
        head.bytes.count + 2 <= limits.head && head.fields.count <= limits.fields
    }

    private mutating func begin(_ head: RequestHead) throws(RequestFailure) {
        self.head = head
        switch head.framing {
        case .none: state = .done
        case .length(let length):
            if length > limits.body, length > bodyLimit(head) { throw .bodyTooLarge }
            state = .body(length)
        case .chunked: state = .chunkSize
        }
    }

    private mutating func bodyAdvanced(_ remaining: Int) {
        if case .body = state {
            state = remaining == 0 ? .done : .body(remaining)
        } else {
            state = remaining == 0 ? .chunkEnd : .chunkData(remaining)
        }
    }

    /// The next line without its CR LF, or nil while it is not whole.
    private func line(_ rest: UnsafeRawBufferPointer) throws(RequestFailure) -> UnsafeRawBufferPointer? {
        guard let base = rest.baseAddress, let found = memchr(base, Int32(Byte.lineFeed), rest.count) else {
            if rest.count > 8192 { throw .bad("A line of the chunked body is too long.") }
            return nil
        }
        let index = UnsafeRawPointer(found) - base
        guard index > 0, rest[index - 1] == Byte.carriageReturn else {
            throw .bad("A line of the chunked body ends in a bare line feed.")
        }
        return UnsafeRawBufferPointer(rebasing: rest[..<(index - 1)])
    }

    private mutating func beginChunk(_ line: UnsafeRawBufferPointer) throws(RequestFailure) {
        var size = 0
        var index = 0
        while index < line.count, let digit = Byte.hexValue(line[index]) {
            if index == 15 { throw .bad("A chunk size is too large.") }
            size = size << 4 | Int(digit)
            index += 1
        }
        guard index > 0, index == line.count || line[index] == 59 else {
            throw .bad("A chunk size is not hexadecimal.")
        }
        while index < line.count {
            guard ByteClass.table[Int(line[index])] & ByteClass.fieldValue != 0 else {
                throw .bad("A chunk extension has a control character.")
            }
            index += 1
        }
        if size > limits.body - body.count, size > (head.map(bodyLimit) ?? 0) - body.count { throw .bodyTooLarge }
        state = size == 0 ? .trailers : .chunkData(size)
    }

    private mutating func addTrailer(_ line: UnsafeRawBufferPointer) throws(RequestFailure) {
        trailerSize += line.count
        if trailerSize > limits.head || trailers.count == limits.fields { throw .headTooLarge }
        let bytes = Array(line)
        let field = try bytes.withUnsafeBufferPointer { buffer throws(RequestFailure) -> RequestHead.FieldSpan in
            guard let base = buffer.baseAddress else { throw .bad("A trailer field is empty.") }
            return try FieldLine.scan(base, 0, buffer.count, ByteClass.table).field
        }
        trailers.append(HeaderField(Array(bytes[field.name.range]), Array(bytes[field.value.range])))
    }
}
