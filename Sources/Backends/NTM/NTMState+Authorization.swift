import PushSimJSONText
import PushSimSimulation
import PushSimWebPush
import PushSimWire

extension NTMState {
    /// The bearer, once it may do what it asks for.
    func authorize(_ route: NTM.RouteName, _ call: Call, _ world: inout World) throws(NTMError) -> Bearer {
        guard let bearer = Bearer(call.head) else {
            broken(.bearer, call, "There is no bearer, or one that is a client's bug.", &world)
            throw .unauthorized("A bearer token is needed: Authorization: Bearer <Iris token>.")
        }
        met(.bearer, &world)
        // Only a profile expires a bearer before its time: that is not the client's doing.
        if !expiredBearers.isEmpty, expiredBearers.contains(bearer.text) {
            throw .unauthorized("The token has expired.")
        }
        if options.wantsJWT { try checkToken(bearer, call, &world) }
        guard Self.isPrivileged(route) else {
            try checkScope(bearer, "ntm:subscribe")
            return bearer
        }
        let type = bearer.type
        guard type == Array("core") || type == Array("server") else {
            throw .wrongType("A token of type \(type.text) may not do this; core or server is needed.")
        }
        try checkScope(bearer, route == .publish ? "ntm:publish" : "ntm:read")
        return bearer
    }

    private static func isPrivileged(_ route: NTM.RouteName) -> Bool {
        switch route {
        case .read, .find, .list, .publish: true
        default: false
        }
    }

    private func checkToken(_ bearer: Bearer, _ call: Call, _ world: inout World) throws(NTMError) {
        guard let token = bearer.token, let key = issuerKey(&world), token.isSigned(by: key.publicKey),
            token.claims.root["iss"]?.equals("irisauth") == true
        else { throw .unauthorized("The token is not one that was minted here.") }
        guard let expiry = bearer.expiry else { throw .unauthorized("The token has no expiry.") }
        if expiry <= world.clock.now {
            noteLostToken(bearer, call, &world)
            throw .unauthorized("The token has expired.")
        }
    }

    /// A token that names scopes may do only what they cover. A token without the claim may do all that its type may.
    private func checkScope(_ bearer: Bearer, _ scope: StaticString) throws(NTMError) {
        guard options.wantsJWT, let scopes = bearer.scopes else { return }
        if !scopes.contains(Array(scope)) { throw .scopeMissing("The token lacks the scope \(scope).") }
    }

    /// In mode `jwt` the token's domain and the device's must agree.
    func checkDomain(_ bearer: Bearer, _ domain: [UInt8]) throws(NTMError) {
        guard options.wantsJWT, let own = bearer.domain, own != domain else { return }
        throw .invalid("The token is for the domain \(own.text), not \(domain.text).")
    }

    /// A session that is over while its subscriber lives was not logged out properly.
    private func noteLostToken(_ bearer: Bearer, _ call: Call, _ world: inout World) {
        guard accounts[ByteKey(bearer.account)]?.isEmpty == false else { return }
        broken(.logout, call, "The token is gone and its subscriber still lives.", &world)
    }

    func issuerKey(_ world: inout World) -> SigningKey? {
        if issuer == nil { issuer = world.draws.signingKey("ntm issuer", []) }
        return issuer
    }

    func spoilToken(_ fault: String, _ tokens: [[UInt8]], _ call: Call, _ world: inout World) {
        if fault == "expire", let bearer = Bearer(call.head) { expiredBearers.insert(bearer.text) }
    }

    /// POST `/__pushsim/ntm/tokens`.
    func mint(_ body: JSONValue?, _ world: inout World) throws(ControlError) -> ControlAnswer {
        var reader = try MemberReader(body)
        let domain = try reader.required("domain")
        let type = try reader.string("type") ?? "user"
        let scopes = try reader.strings("scopes")
        let lifetime = try reader.duration("ttl") ?? 3_600_000_000_000
        let user = try reader.string("id")
        let name = try reader.string("name")
        try reader.finish()
        guard ["user", "core", "server"].contains(type) else {
            throw ControlError("must be user, core or server, not \"\(type)\"", path: "$.type")
        }
        tokensMinted += 1
        let number = tokensMinted
        let id = user ?? world.draws.uuid("ntm user", [Array(domain.utf8)], index: number).text
        let issued = world.clock.now.floorDivided(by: 1_000_000_000)
        var claims: JSON = [
            "app_key": .text(world.draws.hex("ntm app key", [Array(domain.utf8)], count: 32)),
            "domain": .string(domain),
            "exp": .int((world.clock.now + lifetime).floorDivided(by: 1_000_000_000)), "iat": .int(issued),
            "id": .string(id), "iss": "irisauth", "name": .string(name ?? "user \(number)"),
        ]
        if let scopes { claims.set("scopes", .array(scopes.map { .string($0) })) }
        claims.set("type", .string(type))
        guard let key = issuerKey(&world), let token = JSONWebToken.make(claims: claims, key: key) else {
            throw ControlError("the crypto library could not sign the token", code: "internal")
        }
        return ControlAnswer(201, ["token": .string(token), "claims": claims])
    }
}
