package import PushSimJSONText

/// A compact JWT (RFC 7519) with a JSON object as its claims.
package struct JSONWebToken: Sendable {
    package let header: JSONDocument
    package let claims: JSONDocument
    package let signature: [UInt8]
    private let signed: [UInt8]

    /// - Parameter text: three base64url parts, the first two JSON objects; nil for anything else.
    package init?(_ text: [UInt8]) {
        let parts = text.split(separator: 46, omittingEmptySubsequences: false)
        guard parts.count == 3, let head = Base64.decode(parts[0]), let body = Base64.decode(parts[1]),
            let signature = Base64.decode(parts[2]), let header = try? JSONDocument(head),
            let claims = try? JSONDocument(body), header.root.kind == .object, claims.root.kind == .object
        else { return nil }
        self.header = header
        self.claims = claims
        self.signature = signature
        signed = Array(text[..<parts[1].endIndex])
    }

    /// Whether it says ES256 and the signature is this key's.
    package func isSigned(by publicKey: [UInt8]) -> Bool {
        header.root["alg"]?.equals("ES256") == true && SigningKey.isValid(signature, of: signed, by: publicKey)
    }

    /// A token signed with ES256. Nil only where the crypto library fails.
    package static func make(claims: JSON, key: SigningKey) -> String? {
        let header: JSON = ["alg": "ES256", "typ": "JWT"]
        let signed = Base64.encode(header.bytes) + "." + Base64.encode(claims.bytes)
        return key.sign(Array(signed.utf8)).map { signed + "." + Base64.encode($0) }
    }
}
