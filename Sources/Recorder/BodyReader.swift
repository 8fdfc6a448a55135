import CPushSimSystem
import PushSimWire

/// Takes a body out of its framing as it comes, and notes how it was framed.
struct BodyReader {
    private enum State {
        case plain
        case size
        case data(Int)
        case dataEnd
        case trailers
        case done
    }

    private var state: State
    private var line: [UInt8] = []
    private(set) var body: [UInt8] = []
    /// The sizes that chunks were said to have, the last, empty one aside.
    private(set) var chunks: [Int] = []
    /// When each began to come, on the monotonic clock.
    private(set) var chunkTimes: [Int64] = []
    private(set) var trailers: [HeaderField] = []
    let isChunked: Bool

    init(isChunked: Bool) {
        self.isChunked = isChunked
        state = isChunked ? .size : .plain
    }

    /// Whether a chunked body has come to its end.
    var isWhole: Bool {
        if case .done = state { true } else { false }
    }

    mutating func receive(_ bytes: UnsafeBufferPointer<UInt8>) {
        var index = 0
        while index < bytes.count {
            switch state {
            case .plain:
                body.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[index...]))
                index = bytes.count
            case .data(let left):
                let count = min(left, bytes.count - index)
                body.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[index..<(index + count)]))
                index += count
                state = count == left ? .dataEnd : .data(left - count)
            case .size, .dataEnd, .trailers:
                line.append(bytes[index])
                index += 1
                if line.last == Byte.lineFeed { endLine() }
            case .done: index = bytes.count
            }
        }
    }

    private mutating func endLine() {
        let text = line.filter { $0 != 13 && $0 != 10 }
        line = []
        switch state {
        case .size:
            let size = text.prefix { Byte.hexValue($0) != nil }.prefix(15).reduce(0) {
                $0 << 4 | Int(Byte.hexValue($1) ?? 0)
            }
            if size > 0 {
                chunks.append(size)
                chunkTimes.append(pushsim_monotonic_clock())
            }
            state = size == 0 ? .trailers : .data(size)
        case .dataEnd: state = .size
        case .trailers:
            if text.isEmpty {
                state = .done
            } else if let colon = text.firstIndex(of: Byte.colon) {
                trailers.append(HeaderField(Array(text[..<colon]), Array(text[(colon + 1)...]).trimmed))
            }
        case .plain, .data, .done: break
        }
    }
}
