import CPushSimSystem

/// The system call that waits for sockets: epoll on Linux, poll(2) elsewhere, and on Linux too where asked.
package enum PollerKind: String, Sendable, CaseIterable {
    case epoll, poll

    package static var preferred: PollerKind { pushsim_epoll_available() == 1 ? .epoll : .poll }
    package static var available: [PollerKind] { preferred == .epoll ? [.epoll, .poll] : [.poll] }
}

/// A system call that failed.
package struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    package let call: String
    package let code: Int32

    package init(_ call: String, _ code: some BinaryInteger) {
        self.call = call
        self.code = Int32(truncatingIfNeeded: code < 0 ? 0 - code : code)
    }

    package var description: String {
        var buffer = [CChar](repeating: 0, count: 128)
        pushsim_error_text(code, &buffer, buffer.count)
        let end = buffer.firstIndex(of: 0) ?? buffer.endIndex
        return "\(call): \(String(decoding: buffer[..<end].map { UInt8(bitPattern: $0) }, as: UTF8.self))"
    }
}

/// Waits for many descriptors at once. Belongs to one loop.
struct Poller {
    struct Readiness: OptionSet {
        let rawValue: UInt32
        static let readable = Readiness(rawValue: UInt32(PUSHSIM_READABLE))
        static let writable = Readiness(rawValue: UInt32(PUSHSIM_WRITABLE))
        static let peerClosed = Readiness(rawValue: UInt32(PUSHSIM_PEER_CLOSED))
        static let broken = Readiness(rawValue: UInt32(PUSHSIM_BROKEN))

        /// The same as of any set, without the generic way there, which is long where nothing is optimised.
        func contains(_ other: Readiness) -> Bool { rawValue & other.rawValue == other.rawValue }
    }

    private let epoll: Int32
    private var watches: [pushsim_watch] = []
    private var tokens: [UInt64] = []
    private var positions: [Int32: Int] = [:]
    private var events = [pushsim_event](repeating: pushsim_event(), count: 256)
    private var ready: [(token: UInt64, ready: Readiness)] = []

    init(_ kind: PollerKind) throws(SystemError) {
        guard kind == .epoll else {
            epoll = -1
            return
        }
        epoll = pushsim_epoll_create()
        if epoll < 0 { throw SystemError("epoll_create1", epoll) }
    }

    /// Watches nothing, and takes nothing of the system.
    init() { epoll = -1 }

    mutating func add(_ descriptor: Int32, _ wanted: Readiness, token: UInt64) throws(SystemError) {
        if epoll >= 0 {
            let result = pushsim_epoll_control(epoll, Int32(PUSHSIM_ADD), descriptor, wanted.rawValue, token)
            if result < 0 { throw SystemError("epoll_ctl", result) }
            return
        }
        positions[descriptor] = watches.count
        watches.append(pushsim_watch(fd: descriptor, wanted: wanted.rawValue, ready: 0))
        tokens.append(token)
    }

    mutating func change(_ descriptor: Int32, _ wanted: Readiness, token: UInt64) {
        if epoll >= 0 {
            _ = pushsim_epoll_control(epoll, Int32(PUSHSIM_CHANGE), descriptor, wanted.rawValue, token)
        } else if let position = positions[descriptor] {
            watches[position].wanted = wanted.rawValue
        }
    }

    /// To be called before the descriptor is closed.
    mutating func remove(_ descriptor: Int32) {
        if epoll >= 0 {
            _ = pushsim_epoll_control(epoll, Int32(PUSHSIM_REMOVE), descriptor, 0, 0)
            return
        }
        guard let position = positions.removeValue(forKey: descriptor) else { return }
        let last = watches.count - 1
        if position != last {
            watches[position] = watches[last]
            tokens[position] = tokens[last]
            positions[watches[position].fd] = position
        }
        watches.removeLast()
        tokens.removeLast()
    }

    /// Hands each ready descriptor's token to `body`.
    mutating func wait(milliseconds: Int32, into found: inout [(token: UInt64, ready: Readiness)]) {
        found.removeAll(keepingCapacity: true)
        if epoll >= 0 {
            let count = pushsim_epoll_wait(epoll, &events, Int32(events.count), milliseconds)
            var index = 0
            while index < Int(count) {
                found.append((events[index].token, Readiness(rawValue: events[index].ready)))
                index += 1
            }
            return
        }
        guard pushsim_poll(&watches, watches.count, milliseconds) > 0 else { return }
        for (index, watch) in watches.enumerated() where watch.ready != 0 {
            found.append((tokens[index], Readiness(rawValue: watch.ready)))
        }
    }

    func close() {
        if epoll >= 0 { _ = pushsim_close(epoll) }
    }
}
