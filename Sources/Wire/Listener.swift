import CPushSimSystem
import Synchronization

/// A listening socket and the connections that came by it.
///
/// `@unchecked Sendable`: the descriptor and token are touched only on the home loop; the rest is constant or behind
/// a `Mutex`.
package final class Listener: EventSource, @unchecked Sendable {
    package let host: String
    package let port: Int
    let handler: any RequestHandler
    private let loops: [EventLoop]
    private let tenants: [Tenant]
    private var descriptor: Int32
    private var token: UInt64?
    private var nextLoop = 0
    private var isClosed = false

    /// Opens a listener; connections are dealt out over `loops`, the first of which accepts.
    /// - Parameter port: 0 takes a free one.
    package init(
        host: String, port: Int, loops: [EventLoop], handler: any RequestHandler
    ) throws(SystemError) {
        guard let number = UInt16(exactly: port), !loops.isEmpty else { throw SystemError("bind", 22) }
        descriptor = pushsim_listen(host, number, 1024)
        if descriptor < 0 { throw SystemError("cannot listen on \(host):\(port)", descriptor) }
        let actual = pushsim_local_port(descriptor)
        if actual < 0 {
            _ = pushsim_close(descriptor)
            throw SystemError("getsockname", actual)
        }
        self.host = host
        self.port = Int(actual)
        self.loops = loops
        self.handler = handler
        tenants = loops.map { Tenant($0, handler) }
    }

    /// Begins to accept; `done` is called, on the loop, once connections are taken.
    package func open(_ done: @escaping @Sendable (SystemError?) -> Void) {
        loops[0].execute { [self] in
            do throws(SystemError) {
                token = try loops[0].watch(descriptor, .readable, self)
                done(nil)
            } catch {
                done(error)
            }
        }
    }

    /// Stops listening, so that new connections are refused, until `resume`. Those that are open stay.
    package func pause() {
        loops[0].execute { [self] in
            guard descriptor >= 0 else { return }
            if let token { loops[0].unwatch(descriptor, token: token) }
            token = nil
            _ = pushsim_close(descriptor)
            descriptor = -1
        }
    }

    /// Listens again on the same port. Where somebody has taken it meanwhile, tries again until it is free.
    package func resume() {
        loops[0].execute { [self] in
            guard descriptor < 0, !isClosed else { return }
            let opened = pushsim_listen(host, UInt16(truncatingIfNeeded: port), 1024)
            if opened >= 0 {
                descriptor = opened
                token = try? loops[0].watch(descriptor, .readable, self)
            } else {
                loops[0].schedule(at: pushsim_monotonic_clock() + 50_000_000) { [weak self] in self?.resume() }
            }
        }
    }

    /// Stops listening and closes every connection, then calls `done`.
    package func close(_ done: @escaping @Sendable () -> Void) {
        let remaining = Mutex(loops.count)
        let counter = Counter(remaining)
        loops[0].execute { [self] in
            if let token { loops[0].unwatch(descriptor, token: token) }
            token = nil
            if descriptor >= 0 { _ = pushsim_close(descriptor) }
            descriptor = -1
            isClosed = true
            for (loop, tenant) in zip(loops, tenants) {
                loop.execute {
                    tenant.close()
                    if counter.countDown() { done() }
                }
            }
        }
    }

    /// How many connections are open.
    package func connectionCount(_ answer: @escaping @Sendable (Int) -> Void) {
        let sum = Mutex(0)
        let total = Total(sum)
        let counter = Counter(Mutex(loops.count))
        for (loop, tenant) in zip(loops, tenants) {
            loop.submit {
                total.add(tenant.connections.count)
                if counter.countDown() { answer(total.value) }
            }
        }
    }

    func ready(_ readiness: Poller.Readiness) {
        // At most so many at once, that those already open are not kept waiting.
        for _ in 0..<64 {
            guard descriptor >= 0 else { return }
            let accepted = pushsim_accept(descriptor)
            if accepted < 0 { return }
            let index = nextLoop
            nextLoop = (nextLoop + 1) % loops.count
            let tenant = tenants[index]
            if index == 0 { tenant.admit(accepted) } else { loops[index].submit { tenant.admit(accepted) } }
        }
    }
}

/// A listener's connections on one loop.
///
/// `@unchecked Sendable`: touched only on its loop.
final class Tenant: @unchecked Sendable {
    let loop: EventLoop
    let handler: any RequestHandler
    var connections: [ObjectIdentifier: Connection] = [:]
    private var isClosed = false

    init(_ loop: EventLoop, _ handler: any RequestHandler) {
        self.loop = loop
        self.handler = handler
    }

    func admit(_ descriptor: Int32) {
        if isClosed {
            _ = pushsim_reset(descriptor)
            return
        }
        let connection = Connection(descriptor, self)
        connections[ObjectIdentifier(connection)] = connection
        connection.start()
    }

    func close() {
        isClosed = true
        for connection in connections.values { connection.shutDown() }
        connections.removeAll()
    }
}

private final class Counter: Sendable {
    private let remaining: Mutex<Int>

    init(_ remaining: consuming sending Mutex<Int>) { self.remaining = remaining }

    /// Whether this was the last.
    func countDown() -> Bool {
        remaining.withLock { value in
            value -= 1
            return value == 0
        }
    }
}

private final class Total: Sendable {
    private let sum: Mutex<Int>

    init(_ sum: consuming sending Mutex<Int>) { self.sum = sum }

    func add(_ amount: Int) { sum.withLock { $0 += amount } }

    var value: Int { sum.withLock { $0 } }
}
