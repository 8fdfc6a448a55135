import PushSimCassettes
import PushSimFaults
@_exported public import PushSimJSONText
package import PushSimSimulation
import PushSimWire
import Synchronization

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A fake notification backend in this process, on a free port of loopback.
///
/// ```swift
/// let sim = try await PushSim.start(seed: 7)
/// let client = MyPushClient(baseURL: sim.url)
/// ```
public final class PushSim: Sendable {
    /// Where clients find it, without a slash at the end.
    public let url: URL
    let service: Service
    private let listener: Listener?

    /// Starts a server with a state, journal, clock and inboxes of its own.
    /// - Parameters:
    ///   - profile: what goes wrong.
    ///   - seed: what all that looks like chance is drawn from; a profile's own seed goes before it.
    ///   - clock: the time of the fake world.
    ///   - options: named options, as GET `/__pushsim/options` lists them.
    /// - Throws: `PushSimError` for a mistake in an option or profile, or where the system gives no socket.
    public static func start(
        profile: FaultProfile? = nil, seed: UInt64 = 1, clock: SimClock = .real, options: [String: String] = [:],
        filePath: String = #filePath
    ) async throws -> PushSim {
        try await start(
            profile: profile, seed: seed, seedName: "default", clock: clock, options: options, filePath: filePath)
    }

    package static func start(
        profile: FaultProfile?, seed: UInt64, seedName: String, clock: SimClock, options: [String: String],
        filePath: String, makePlayer: (@Sendable () -> any Player)? = nil
    ) async throws -> PushSim {
        var settings = Service.Settings()
        settings.makePlayer = makePlayer
        if makePlayer != nil { settings.options.raiseBodyLimit() }
        settings.seed = seed
        settings.seedName = seedName
        settings.clock = try clock.simulationClock()
        for (name, value) in options {
            do throws(OptionError) {
                try settings.options.change(name, to: value)
            } catch {
                throw PushSimError(error.description)
            }
        }
        if let problem = ServerOptions.problem(settings.options, nil) { throw PushSimError(problem) }
        settings.profile = try profile?.read(from: filePath)
        guard let loop = EventLoop.shared else { throw PushSimError("The system gives no event loop.") }
        let service = Service(settings, isLoopback: true, home: loop)
        let listener: Listener
        do throws(SystemError) {
            listener = try Listener(host: "127.0.0.1", port: 0, loops: [loop], handler: service)
        } catch {
            throw PushSimError(error.description)
        }
        let address = "http://127.0.0.1:\(listener.port)"
        service.setBaseURL(address)
        service.setListener(listener)
        let failure = await withCheckedContinuation { continuation in
            listener.open { continuation.resume(returning: $0) }
        }
        if let failure { throw PushSimError(failure.description) }
        guard let url = URL(string: address) else { throw PushSimError("\(address) is no URL.") }
        return PushSim(url: url, service: service, listener: listener)
    }

    /// Plays recordings in the place of the backends. It fails closed: what was not recorded is answered with 501 at once.
    /// - Parameters:
    ///   - cassettes: HAR files, of this or of any other tool.
    ///   - playback: how they are played.
    /// - Throws: `PushSimError` where a file is no HAR.
    public static func replay(
        _ cassettes: URL..., playback: Playback = Playback(), profile: FaultProfile? = nil, seed: UInt64 = 1,
        clock: SimClock = .real, filePath: String = #filePath
    ) async throws -> PushSim {
        let read = try cassettes.map { file throws(PushSimError) in try Playback.load(file) }
        return try await replay(read, playback, profile: profile, seed: seed, clock: clock, filePath: filePath)
    }

    /// Plays a recording of that name: in the folder `recordings` beside the calling file or beside one of the folders
    /// above it, up to that of the package; else one of the shipped.
    /// - Parameter name: with or without `.har`.
    /// - Throws: `PushSimError` where there is no such cassette, or the file is no HAR.
    public static func replay(
        _ name: String, playback: Playback = Playback(), profile: FaultProfile? = nil, seed: UInt64 = 1,
        clock: SimClock = .real, filePath: String = #filePath
    ) async throws -> PushSim {
        let cassette = try Playback.load(name, from: filePath)
        return try await replay(
            [cassette], playback, profile: profile, seed: seed, clock: clock, filePath: filePath)
    }

    private static func replay(
        _ cassettes: [Cassette], _ playback: Playback, profile: FaultProfile?, seed: UInt64, clock: SimClock,
        filePath: String
    ) async throws -> PushSim {
        let (tape, chosen) = (CassetteTape(cassettes), playback.settings)
        return try await start(
            profile: profile, seed: seed, seedName: "default", clock: clock, options: [:], filePath: filePath,
            makePlayer: { CassettePlayer(tape, chosen) })
    }

    /// Calls that no recording answers, and why, one line each.
    public var unmatchedCalls: [String] { service.unmatched }

    /// Recordings that nobody has asked for, one line each.
    public var leftovers: [String] { service.leftovers }

    /// The simulation of the running test, where a trait has set one.
    @TaskLocal package static var running: PushSim?

    /// Answers nothing and listens nowhere: what code gets that asks outside a test's scope.
    package static let inert = PushSim(
        url: URL(string: "http://127.0.0.1:1") ?? URL(fileURLWithPath: "/"),
        service: Service(Service.Settings(), isLoopback: true, home: .inert),
        listener: nil)

    /// How many devices without a name have been made, by platform.
    let deviceCounts = Mutex<[String: Int]>([:])

    private init(url: URL, service: Service, listener: Listener?) {
        self.url = url
        self.service = service
        self.listener = listener
    }

    /// Stops listening and closes every connection before it returns; whoever waits for an inbox waits no longer. A
    /// simulation that is not stopped lives as long as the process.
    public func stop() async {
        service.defaultScope.run { world in
            for ended in world.inboxes.waiting { world.after { _ in ended() } }
        }
        guard let listener else { return }
        await withCheckedContinuation { continuation in listener.close { continuation.resume() } }
    }

    /// Empties state, journal and inboxes; pending answers are cancelled. Options, profile, seed, stubs and the clock's
    /// time stay.
    public func reset() { service.reset(service.defaultScope) }

    /// Replaces the running profile, or with nil takes it away.
    /// - Throws: `PushSimError` with every mistake in the profile; the old one stays then.
    public func setProfile(_ profile: FaultProfile?, filePath: String = #filePath) throws {
        service.setProfile(try profile?.read(from: filePath), of: service.defaultScope)
    }

    /// Changes a named option.
    /// - Throws: `PushSimError` where there is no such option or value.
    public func setOption(_ name: String, to value: String) throws {
        var values = service.defaultScope.run { $0.options }
        do throws(OptionError) {
            try values.change(name, to: value)
        } catch {
            throw PushSimError(error.description)
        }
        let changed = values
        if let problem = service.problem(changed) { throw PushSimError(problem) }
        service.defaultScope.run { $0.setOptions(changed) }
        service.optionsChanged(changed)
    }

    /// Has deliveries to hosts without a route taken out to the network.
    package func allowDeliveries(by carrier: any DeliveryCarrier) throws {
        service.defaultScope.run { $0.carrier = carrier }
        try setOption("delivery.network", to: "allow")
    }

    /// Moves the clock forward and runs all that is due on the way; returns when it is done. A delivery that is sent to a
    /// server which does not answer is waited for in real time, up to its limit of ten seconds.
    /// - Parameter duration: one below zero counts as none.
    public func advance(by duration: Duration) async {
        await withCheckedContinuation { continuation in
            service.defaultScope.advance(duration.boundedNanoseconds) { _ in continuation.resume() }
        }
    }

    /// How many wait for an inbox.
    package var waitingCount: Int { service.defaultScope.run { $0.inboxes.waiting.count } }

    /// The simulation clock, in RFC 3339.
    public var now: String { TimeText.rfc3339(service.defaultScope.now) }

    /// Stops the clock where it is: from then on it moves only when told.
    public func freezeClock() {
        service.defaultScope.run { $0.clock.freeze() }
        service.defaultScope.setAlarm()
    }

    /// Lets the clock run on with the wall's, from where it is.
    public func resumeClock() {
        service.defaultScope.run { $0.clock.resume() }
        service.defaultScope.setAlarm()
    }

    /// What a device has received.
    /// - Parameter token: the device token or routing id that was registered.
    public func inbox(of token: String) -> Inbox { Inbox(service.defaultScope, Array(token.utf8)) }

    /// All calls so far, oldest first.
    public var journal: [RecordedCall] {
        service.defaultScope.run { $0.journal.entries }.filter { $0.attempt == nil }.map { RecordedCall($0) }
    }

    /// Iris NTM.
    public var ntm: NTMControl { NTMControl(service) }

    /// Fluxer.
    public var fluxer: FluxerControl { FluxerControl(service) }

    /// Sunbird over FCM.
    public var sunbird: SunbirdControl { SunbirdControl(service) }

    /// Sends deliveries to the endpoints of a host over plain HTTP to a server on this machine instead.
    /// - Parameters:
    ///   - host: of the endpoints, such as `push.example.org`.
    ///   - url: `http`, an address of loopback and a port.
    /// - Throws: `PushSimError` for any other URL: nothing leaves loopback.
    public func route(_ host: String, to url: URL) throws {
        guard url.scheme == "http", let target = url.host(), let port = url.port, ["", "/"].contains(url.path),
            target == "localhost" || target == "::1" || target.hasPrefix("127.")
        else { throw PushSimError("A route is http:// with an address of loopback and a port, not \(url).") }
        guard let key = DeliveryRoute.host(host) else {
            throw PushSimError("\"\(host)\" is no host that is delivered to: a name such as push.example.org.")
        }
        service.defaultScope.run { world in
            world.deliveryRoutes[key] = DeliveryRoute(host: target, port: port)
        }
    }

    /// How long a delivery over HTTP may take, in real time.
    package func setDeliveryLimits(connect: Duration, whole: Duration) {
        service.defaultScope.run { world in
            world.deliveryLimits = .init(
                connect: connect.boundedNanoseconds, whole: whole.boundedNanoseconds)
        }
    }

    /// Tells what the device did with a delivery, for the obligations that only a device can show.
    /// - Throws: `PushSimError` where the push is in no inbox.
    public func report(_ push: Push, _ did: DeviceReport) throws {
        guard service.defaultScope.report(push.id, did.report) else {
            throw PushSimError("\(push.id) is in no inbox.")
        }
    }

    /// Calls whose path leads to no route and no stub, oldest first.
    public var unexpectedCalls: [RecordedCall] {
        service.defaultScope.run { $0.journal.entries }
            .filter { $0.attempt == nil && $0.call.place.route == nil && !$0.isStubbed }.map { RecordedCall($0) }
    }

    /// Answers the calls that a matcher means, as a neighbour of the backends would; a stub goes before the backends.
    /// - Parameter answer: called for each such call, on the server's thread: it must not wait.
    public func stub(_ matcher: CallMatcher, _ answer: @escaping @Sendable (RecordedCall) -> StubAnswer) {
        service.addStub(matcher, answer)
    }

    /// Sends one request without a socket, as a client would over one.
    /// - Parameter request: the bytes of one whole HTTP/1.1 request.
    /// - Returns: the bytes of the answer: empty where a fault closed the connection.
    /// - Throws: `PushSimError` where the bytes are no request.
    public func respond(to request: [UInt8]) async throws -> [UInt8] {
        let service = service
        return try await withCheckedThrowingContinuation { continuation in
            do throws(RequestFailure) {
                try MemoryExchange.perform(request, service) { continuation.resume(returning: $0.bytes) }
            } catch {
                continuation.resume(throwing: PushSimError(error.message))
            }
        }
    }
}

/// A mistake in what PushSim was asked, or a system that refuses.
public struct PushSimError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What, where, and what to do.
    public let description: String

    init(_ description: String) { self.description = description }
}

/// The clock of the fake world.
public struct SimClock: Hashable, Sendable {
    private let start: String?

    /// Runs with the wall's.
    public static let real = SimClock(start: nil)
    /// Moves only when told; starts at 2026-01-01T00:00:00Z.
    public static let frozen = SimClock(start: "2026-01-01T00:00:00Z")

    /// Moves only when told.
    /// - Parameter time: where it starts, in RFC 3339.
    public static func frozen(at time: String) -> SimClock { SimClock(start: time) }

    func simulationClock() throws(PushSimError) -> SimulationClock {
        guard let start else { return .real }
        guard let instant = TimeText.instant(start) else {
            throw PushSimError("\"\(start)\" is no RFC 3339 time such as 2026-01-01T00:00:00Z")
        }
        return .frozen(at: instant)
    }
}

extension Duration {
    /// Whole nanoseconds, from none to the longest that clocks are moved by.
    var boundedNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let longest = TimeText.longest / 1_000_000_000
        if seconds < 0 { return 0 }
        return min(seconds, longest) * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
