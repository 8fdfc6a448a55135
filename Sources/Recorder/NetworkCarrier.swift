public import PushSim
import PushSimCassettes
import PushSimSimulation
package import PushSimWire
import Synchronization

/// Takes deliveries to push services out on the network, by libcurl, which is opened at the first of them.
package final class NetworkCarrier: DeliveryCarrier {
    private let outbound = Mutex<Result<Outbound, SystemError>?>(nil)

    package init() {}

    package func send(
        _ call: HTTPClient.Call, to origin: String,
        _ done: @escaping @Sendable (Result<Response, HTTPClient.Failure>) -> Void
    ) {
        switch opened() {
        case .failure(let problem): done(.failure(.unsent(problem.description)))
        case .success(let outbound):
            let outgoing = OutboundCall(
                origin: origin, method: call.method, target: Array(call.target.utf8), fields: call.fields,
                body: call.body, connectLimit: call.connectLimit, wholeLimit: call.wholeLimit)
            outbound.submit { $0.begin(outgoing, PushAnswer(done)) }
        }
    }

    private func opened() -> Result<Outbound, SystemError> {
        outbound.withLock { outbound in
            if let outbound { return outbound }
            let result = Result { () throws(SystemError) in try Outbound() }
            outbound = result
            return result
        }
    }

    deinit {
        if case .success(let outbound) = outbound.withLock({ $0 }) { outbound.stop {} }
    }
}

/// What a push service answers: its head counts, its body does not.
///
/// `@unchecked Sendable`: touched on the thread of `Outbound` only.
private final class PushAnswer: OutboundListener, @unchecked Sendable {
    private var reader = AnswerReader()
    private let done: @Sendable (Result<Response, HTTPClient.Failure>) -> Void

    init(_ done: @escaping @Sendable (Result<Response, HTTPClient.Failure>) -> Void) { self.done = done }

    func receivedHeadLine(_ bytes: UnsafeBufferPointer<UInt8>) { _ = reader.receiveHeadLine(bytes) }

    func receivedBody(_ bytes: UnsafeBufferPointer<UInt8>) {}

    func ended(_ end: OutboundEnd, _ message: String) {
        let failure: HTTPClient.Failure
        switch end {
        case .good:
            guard case .answer(let answer) = reader.outcome(nil) else { return done(.failure(.reset)) }
            return done(.success(Response(status: answer.status, fields: answer.headers, body: [])))
        case .dns: failure = .dns
        case .refused: failure = .refused
        case .tls: failure = .tls
        case .timeout: failure = .timeout
        case .closed, .cut, .reset: failure = .reset
        case .malformed, .other: failure = .malformed(message)
        }
        done(.failure(failure))
    }
}

extension PushSim {
    /// Lets deliveries leave this machine: those to hosts without a route are sent to their endpoints from now on, as
    /// with the option `delivery.network=allow` of `pushsim serve`.
    public func allowNetworkDeliveries() throws { try allowDeliveries(by: NetworkCarrier()) }
}
