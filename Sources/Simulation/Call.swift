package import PushSimWire

/// One request of a client, as the scope sees it: the base path of the scope is gone from its path.
///
/// A class, since it is handed on at every step. `@unchecked Sendable`: all is constant but `index` and `number`, which are
/// set once, under the scope's lock, before anybody else has the call, and `known`, which is read and set only under that
/// lock.
package final class Call: @unchecked Sendable {
    package let request: Request
    /// Where the raw path stands in the head, without the scope's base path and without the query.
    package let pathSpan: RequestHead.Span
    package let peerAddress: String
    package let place: Place
    /// Nil where no backend owns the path.
    package let match: RouteMatch?
    /// The journal's index of this call.
    package var index = 0
    /// Which of the scope's calls it is, from 1: deliveries do not count.
    package var number = 0
    private var known: Facts?

    package init(
        request: Request, path: RequestHead.Span, peerAddress: String, place: Place = .none, match: RouteMatch? = nil
    ) {
        self.request = request
        pathSpan = path
        self.peerAddress = peerAddress
        self.place = place
        self.match = match
    }

    /// No call at all.
    package static let none = Call(
        request: Request(head: .empty, body: []), path: .init(0, 0), peerAddress: "")

    package var head: RequestHead { request.head }
    package var body: [UInt8] { request.body }
    package var path: ArraySlice<UInt8> { head.bytes[pathSpan.range] }
    package var method: ArraySlice<UInt8> { head.bytes[head.method.range] }
    package var query: ArraySlice<UInt8>? { head.query.map { head.bytes[$0.range] } }

    /// The target without the scope's base path.
    package var target: [UInt8] {
        guard let query else { return Array(path) }
        return path + [Byte.questionMark] + query
    }

    /// What the call is about, reckoned when it is first asked for. Under the scope's lock only.
    package var facts: Facts {
        if let known { return known }
        let facts = identified
        known = facts
        return facts
    }

    /// The same, reckoned anew, on any thread.
    package var identified: Facts {
        guard case .route(let route, let parameters) = match, let backend = place.backend else { return Facts() }
        return backend.identify(route, parameters, self)
    }

    /// The body with gzip coding undone; nil where it is no gzip, or larger than `limit` when unpacked.
    package func plainBody(limit: Int = 16 << 20) -> [UInt8]? {
        guard let span = head[.contentEncoding] else { return body }
        let coding = head.slice(span)
        if coding.isEmpty || coding.equalsIgnoringCase(Array("identity")) { return body }
        guard coding.equalsIgnoringCase(Array("gzip")) || coding.equalsIgnoringCase(Array("x-gzip")) else { return nil }
        return try? Inflate.gzip(body, limit: limit)
    }

    /// This is what a call that was announced by its head has become.
    package func goesOn(_ announced: Call) {
        index = announced.index
        number = announced.number
    }

    /// The same call with no more than `limit` octets of its body.
    func capped(_ limit: Int) -> Call {
        var request = request
        request.body = Array(request.body.prefix(limit))
        let call = Call(request: request, path: pathSpan, peerAddress: peerAddress, place: place, match: match)
        call.index = index
        call.number = number
        call.known = known
        return call
    }
}
