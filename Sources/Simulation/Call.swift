package import PushSimWire

/// One request of a client, as the scope sees it: the base path of the scope is gone from its path.
///
/// A class, since it is handed on at every step. `@unchecked Sendable`: all is constant but `index`, which is set once,
/// under the scope's lock, before the journal and the exchange are given the call.
package final class Call: @unchecked Sendable {
    package let request: Request
    /// The raw path, without the scope's base path and without the query.
    package let path: ArraySlice<UInt8>
    package let peerAddress: String
    /// What URLs that the fake hands out begin with: scheme, host and base path.
    package let baseURL: String
    /// The journal's index of this call.
    package var index = 0

    package init(request: Request, path: ArraySlice<UInt8>, peerAddress: String, baseURL: String) {
        self.request = request
        self.path = path
        self.peerAddress = peerAddress
        self.baseURL = baseURL
    }

    package var head: RequestHead { request.head }
    package var body: [UInt8] { request.body }
    package var method: ArraySlice<UInt8> { head.bytes[head.method.range] }
    package var query: ArraySlice<UInt8>? { head.query.map { head.bytes[$0.range] } }

    /// The target without the scope's base path.
    package var target: [UInt8] {
        guard let query else { return Array(path) }
        return path + [Byte.questionMark] + query
    }

    /// The body with gzip coding undone; nil where it is no gzip, or larger than `limit` when unpacked.
    package func plainBody(limit: Int = 16 << 20) -> [UInt8]? {
        guard let coding = head.value(.contentEncoding), !coding.isEmpty,
            !coding.equalsIgnoringCase(Array("identity"))
        else { return body }
        guard coding.equalsIgnoringCase(Array("gzip")) else { return nil }
        return try? Inflate.gzip(body, limit: limit)
    }
}
