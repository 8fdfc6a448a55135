import PushSimJSONText
import PushSimWire

/// An error as Google's services tell it.
struct GoogleError: Error {
    let status: Int
    let name: String
    let message: String
    /// Of FCM itself, such as `UNREGISTERED`.
    var code: String?
    /// What is wrong in the body: member and description.
    var violation: (field: String, description: String)?

    static func invalid(_ field: String, _ message: String) -> GoogleError {
        GoogleError(
            status: 400, name: "INVALID_ARGUMENT", message: message, code: "INVALID_ARGUMENT",
            violation: (field, message))
    }

    /// Of the text itself: FCM has no say in it.
    static func malformed(_ message: String, _ field: String = "") -> GoogleError {
        GoogleError(status: 400, name: "INVALID_ARGUMENT", message: message, violation: (field, message))
    }

    static let unauthenticated = GoogleError(
        status: 401, name: "UNAUTHENTICATED", message: "The request has no credential: send an Authorization field.")

    static let unregistered = GoogleError(
        status: 404, name: "NOT_FOUND", message: "Requested entity was not found.", code: "UNREGISTERED")

    /// The usual error of a status.
    init(status: Int) {
        self.status = status
        message = StatusText.reason(status)
        switch status {
        case 400: (name, code) = ("INVALID_ARGUMENT", "INVALID_ARGUMENT")
        case 401: name = "UNAUTHENTICATED"
        case 403: (name, code) = ("PERMISSION_DENIED", "SENDER_ID_MISMATCH")
        case 404: (name, code) = ("NOT_FOUND", "UNREGISTERED")
        case 429: (name, code) = ("RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED")
        case 503: (name, code) = ("UNAVAILABLE", "UNAVAILABLE")
        default: (name, code) = status >= 500 ? ("INTERNAL", "INTERNAL") : ("FAILED_PRECONDITION", nil)
        }
    }

    init(
        status: Int, name: String, message: String, code: String? = nil,
        violation: (field: String, description: String)? = nil
    ) {
        self.status = status
        self.name = name
        self.message = message
        self.code = code
        self.violation = violation
    }

    var response: Response {
        var details: [JSON] = []
        if let code {
            details.append([
                "@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": .string(code),
            ])
        }
        if let violation {
            let entry: JSON = ["field": .string(violation.field), "description": .string(violation.description)]
            details.append(["@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [entry]])
        }
        var error: JSON = ["code": .int(status), "message": .string(message), "status": .string(name)]
        if !details.isEmpty { error.set("details", .array(details)) }
        return SunbirdState.json(["error": error], status: status)
    }
}
