import CPushSimSystem

/// What is to be sent, in pieces. The usual one piece stands by itself, so that it costs no list.
struct OutputQueue {
    private static let joinLimit = 256 << 10

    private var first: [UInt8] = []
    /// How many bytes of the first piece are sent.
    private var sent = 0
    private var rest: [[UInt8]] = []
    /// How many bytes are still to be sent.
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// Small pieces go out as one, so that each byte is copied once at most; what is large is not copied.
    mutating func append(_ piece: [UInt8]) {
        if piece.count == 0 { return }
        count += piece.count
        if first.count == 0 {
            first = piece
        } else if rest.count == 0 {
            if first.count + piece.count <= Self.joinLimit { first += piece } else { rest.append(piece) }
        } else if rest[rest.count - 1].count + piece.count <= Self.joinLimit {
            rest[rest.count - 1] += piece
        } else {
            rest.append(piece)
        }
    }

    mutating func removeAll() { self = OutputQueue() }

    /// Sends as much as the socket takes; negative where it takes no more for ever.
    mutating func send(to descriptor: Int32) -> Int64 {
        while first.count > 0 {
            let count = Self.send(first, sent, descriptor)
            if count < 0 { return SystemError("send", count).code == SystemError.wouldBlock ? 0 : count }
            sent += Int(count)
            self.count -= Int(count)
            if sent < first.count { return 0 }
            sent = 0
            first = rest.count == 0 ? [] : rest.removeFirst()
        }
        return 0
    }

    private static func send(_ piece: borrowing [UInt8], _ start: Int, _ descriptor: Int32) -> Int64 {
        piece.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return 0 }
            return pushsim_send(descriptor, base + start, bytes.count - start)
        }
    }
}
