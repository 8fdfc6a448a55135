/// Why a request cannot be taken: the status to answer with, once, before the connection closes.
package struct RequestFailure: Error, Hashable, Sendable {
    package let status: Int
    package let message: String

    package init(status: Int, message: String) {
        self.status = status
        self.message = message
    }

    static func bad(_ message: String) -> RequestFailure { RequestFailure(status: 400, message: message) }
    static let headTooLarge = RequestFailure(status: 431, message: "The request head is larger than the limit.")
    static let bodyTooLarge = RequestFailure(status: 413, message: "The request body is larger than the limit.")
    static let timeout = RequestFailure(status: 408, message: "The request did not arrive in time.")
}

/// Limits of the server (contract options.md, `server.*`). Sizes in bytes, times in nanoseconds of real time.
package struct ServerLimits: Hashable, Sendable {
    package var head = 64 << 10
    package var fields = 256
    package var body = 16 << 20
    package var idle: Int64 = 75_000_000_000
    package var requestTime: Int64 = 30_000_000_000
    /// How many octets of an open answer may wait for a client to read on.
    package var streamLag = 4 << 20

    package init() {}
}
