import PushSimJSONText
import PushSimWire

/// An error as Fluxer writes it.
struct FluxerError: Error {
    struct Element: Hashable {
        /// The dot-joined field, `root`, or `body` where the body is no JSON.
        let path: String
        let code: String
        let message: String
    }

    let status: Int
    let code: String
    let message: String
    var elements: [Element] = []
    var data: JSON?

    init(_ status: Int, _ code: String, _ message: String) {
        self.status = status
        self.code = code
        self.message = message
    }

    static func invalidForm(_ elements: [Element], routableOnTop: Bool) -> FluxerError {
        let isUnroutable = elements.contains { $0.code == unroutable }
        var error = FluxerError(
            400, routableOnTop && isUnroutable ? unroutable : "INVALID_FORM_BODY", "The request body is invalid.")
        error.elements = elements
        return error
    }

    static let unroutable = "URL_NOT_PUBLICLY_ROUTABLE"
    static let unauthorized = FluxerError(401, "UNAUTHORIZED", "A session token is needed.")
    static let notFound = FluxerError(404, "NOT_FOUND", "There is nothing here.")

    var response: Response {
        var body: JSON = ["code": .string(code), "message": .string(message)]
        if !elements.isEmpty {
            body.set(
                "errors",
                .array(
                    elements.map {
                        ["path": .string($0.path), "code": .string($0.code), "message": .string($0.message)]
                    }))
        }
        if let data { body.set("data", data) }
        return Response(status: status, body: body.bytes)
    }

    /// What a scripted status says that gives no body.
    static func scripted(_ status: Int) -> FluxerError {
        let code: String
        switch status {
        case 400: code = "BAD_REQUEST"
        case 401: code = "UNAUTHORIZED"
        case 403: code = "FORBIDDEN"
        case 404: code = "NOT_FOUND"
        case 405: code = "METHOD_NOT_ALLOWED"
        case 409: code = "CONFLICT"
        case 410: code = "GONE"
        case 413: code = "PAYLOAD_TOO_LARGE"
        case 429: code = "RATE_LIMITED"
        case 500: code = "INTERNAL_SERVER_ERROR"
        case 502: code = "BAD_GATEWAY"
        case 503: code = "SERVICE_UNAVAILABLE"
        case 504: code = "GATEWAY_TIMEOUT"
        default: code = "HTTP_\(status)"
        }
        return FluxerError(status, code, StatusText.reason(status))
    }
}
