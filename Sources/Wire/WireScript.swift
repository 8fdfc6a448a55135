/// What goes over the wire, step by step, and how it ends.
package struct WireScript: Sendable {
    package enum Step: Sendable {
        case bytes([UInt8])
        /// Nanoseconds on the clock that the script is played with.
        case wait(Int64)
        /// Nanoseconds of real time.
        case pace(Int64)
    }

    package enum End: String, Sendable {
        /// The connection stays for the next request.
        case keep
        /// A clean end: FIN after the last byte.
        case fin
        /// A broken one: RST.
        case rst
        /// FIN, while what the peer still sends is read.
        case half
        /// Nothing more is said, and the connection stays open.
        case stall
        /// More follows by `Exchange.send`, as long as the client stays: one that has said all has left.
        case open
        /// More follows by `Exchange.send`, up to `Exchange.conclude`: one that has said all may still read.
        case relayed
    }

    /// Of a script that is one run of bytes: those. Most are, and need no list.
    package private(set) var whole: [UInt8]?
    private var list: [Step]
    package var end: End
    /// Whether a client that has said all is waited for: what was recorded comes as it came then.
    package var outlivesInput = false

    package init(_ steps: [Step] = [], end: End) {
        list = steps
        self.end = end
    }

    package init(_ bytes: [UInt8], end: End) {
        whole = bytes
        list = []
        self.end = end
    }

    package var steps: [Step] {
        get { whole.map { [.bytes($0)] } ?? list }
        set { (whole, list) = (nil, newValue) }
    }

    package init(_ answer: (bytes: [UInt8], end: End)) { self.init(answer.bytes, end: answer.end) }

    package var hasWait: Bool {
        whole == nil
            && list.contains { step in
                if case .wait = step { true } else { false }
            }
    }

    /// All bytes, without the waits between them.
    package var bytes: [UInt8] {
        if let whole { return whole }
        return list.reduce(into: []) { bytes, step in
            if case .bytes(let more) = step { bytes += more }
        }
    }
}

/// The clock that a script's waits run on.
package protocol ScriptClock: AnyObject, Sendable {
    /// Calls `due` once, `nanoseconds` from now. Whoever is called says `settled` when what came of it is done.
    func wait(_ nanoseconds: Int64, _ due: @escaping @Sendable () -> Void) -> UInt64
    func cancel(_ wait: UInt64)
    func settled()
}
