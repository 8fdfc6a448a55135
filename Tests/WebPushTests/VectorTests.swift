import PushSimJSONText
import PushSimTestSupport
import PushSimWebPush
import Testing

private func vectors(_ name: String) throws -> JSONValue {
    try JSONDocument(try SharedData.read("vectors/\(name)")).root
}

private func hex(_ text: String?) -> [UInt8] {
    let digits = Array((text ?? "").utf8).map { $0 < 58 ? $0 - 48 : $0 - 87 }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

extension JSONValue {
    fileprivate subscript(member name: String) -> JSONValue { get throws { try #require(member(name)) } }
    fileprivate func octets(_ name: String) throws -> [UInt8] {
        let text = try #require(member(name)?.stringBytes)
        return try #require(Base64.decode(text))
    }
}

@Suite("Standard vectors", .enabled(if: SharedData.isThere, "the folder ../shared/data is not there"))
struct VectorTests {
    @Test("RFC 8291 Appendix A comes out octet for octet, with every value in between")
    func rfc8291() throws {
        let root = try vectors("rfc8291.json")
        let (inputs, between) = (try root[member: "inputs"], try root[member: "intermediate"])
        let sender = try #require(KeyPair(scalar: try inputs.octets("as_private")))
        let device = try #require(KeyPair(scalar: try inputs.octets("ua_private")))
        #expect(try sender.publicKey == inputs.octets("as_public"))
        #expect(try device.publicKey == inputs.octets("ua_public"))
        let secret = try #require(sender.agree(with: device.publicKey))
        #expect(try secret == between.octets("ecdh_secret"))
        let (auth, salt) = (try inputs.octets("auth_secret"), try inputs.octets("salt"))
        let keys = try #require(
            ContentKeys(
                secret: secret, auth: auth, receiver: device.publicKey, sender: sender.publicKey, salt: salt))
        #expect(try keys.key == between.octets("cek"))
        #expect(try keys.nonce == between.octets("nonce"))
        let receiver = try ReceiverKeys(publicKey: device.publicKey, authSecret: auth)
        let body = try #require(
            Record.encrypt(try inputs.octets("plaintext"), to: receiver, sender: sender, salt: salt))
        #expect(try body == root[member: "output"].octets("body"))
        let opened = try Record.decrypt(body, with: DeviceKeys(pair: device, authSecret: auth))
        #expect(opened == Array("When I grow up, I want to be a watermelon".utf8))
    }

    @Test("RFC 8188 3.1 comes out octet for octet")
    func rfc8188() throws {
        let example = try vectors("rfc8188.json")[member: "examples"].elements[0]
        let (salt, input) = (try example.octets("salt"), try example.octets("ikm"))
        let key = try #require(
            HKDF.derive(salt: salt, input: input, info: Array("Content-Encoding: aes128gcm\0".utf8), count: 16))
        let nonce = try #require(
            HKDF.derive(salt: salt, input: input, info: Array("Content-Encoding: nonce\0".utf8), count: 12))
        let sealed = try #require(AESGCM.seal(key: key, nonce: nonce, try example.octets("plaintext") + [2]))
        #expect(try salt + [0, 0, 16, 0, 0] + sealed == example.octets("body"))
    }

    @Test("163 agreements of Wycheproof: only 65 octets from 04 on the curve are taken")
    func agreements() throws {
        var count = 0
        for group in try vectors("wycheproof_ecdh_p256_ecpoint.json")[member: "testGroups"].elements {
            for test in try group[member: "tests"].elements {
                count += 1
                let point = hex(test.member("public")?.string)
                var scalar = hex(test.member("private")?.string)
                while scalar.count > 32, scalar.first == 0 { scalar.removeFirst() }
                scalar = [UInt8](repeating: 0, count: max(0, 32 - scalar.count)) + scalar
                let secret = KeyPair(scalar: scalar)?.agree(with: point)
                let id = test.member("tcId")?.int ?? 0
                if test.member("result")?.string == "valid", point.count == 65 {
                    #expect(secret == hex(test.member("shared")?.string), "tcId \(id)")
                } else {
                    #expect(secret == nil, "tcId \(id)")
                }
            }
        }
        #expect(count == 163)
    }

    @Test("67 texts of Wycheproof for AES-128-GCM")
    func ciphers() throws {
        var count = 0
        for group in try vectors("wycheproof_aes128gcm_iv96_tag128.json")[member: "testGroups"].elements {
            for test in try group[member: "tests"].elements {
                count += 1
                let (key, nonce) = (hex(test.member("key")?.string), hex(test.member("iv")?.string))
                let (additional, text) = (hex(test.member("aad")?.string), hex(test.member("msg")?.string))
                let sealed = hex(test.member("ct")?.string) + hex(test.member("tag")?.string)
                let opened = AESGCM.open(key: key, nonce: nonce, additional: additional, sealed)
                let id = test.member("tcId")?.int ?? 0
                if test.member("result")?.string == "valid" {
                    #expect(opened == text, "tcId \(id)")
                    #expect(
                        AESGCM.seal(key: key, nonce: nonce, additional: additional, text) == sealed, "tcId \(id)")
                } else {
                    #expect(opened == nil, "tcId \(id)")
                }
            }
        }
        #expect(count == 67)
    }

    @Test("83 derivations of Wycheproof for HKDF-SHA-256")
    func derivations() throws {
        var count = 0
        for group in try vectors("wycheproof_hkdf_sha256.json")[member: "testGroups"].elements {
            for test in try group[member: "tests"].elements {
                count += 1
                let got = HKDF.derive(
                    salt: hex(test.member("salt")?.string), input: hex(test.member("ikm")?.string),
                    info: hex(test.member("info")?.string), count: test.member("size")?.int ?? 0)
                let isValid = test.member("result")?.string == "valid"
                #expect(got == (isValid ? hex(test.member("okm")?.string) : nil), "\(test.member("tcId")?.int ?? 0)")
            }
        }
        #expect(count == 83)
    }

    @Test("Every body of malformed.json fails at its stage, or opens")
    func malformed() throws {
        let root = try vectors("malformed.json")
        let receiver = try root[member: "receiver"]
        let pair = try #require(KeyPair(scalar: try receiver.octets("private_key")))
        let keys = try DeviceKeys(pair: pair, authSecret: receiver.octets("auth_secret"))
        let cases = try root[member: "cases"].elements
        #expect(cases.count > 50)
        for test in cases {
            let body = test.member("body")?.stringBytes.flatMap { Base64.decode($0) } ?? []
            var stage = "none"
            do throws(Record.Stage) { _ = try Record.decryptJSON(body, with: keys) } catch { stage = error.rawValue }
            let wanted = try #require(test.member("fails_at")?.string)
            #expect(stage == wanted, "\(test.member("id")?.string ?? "")")
        }
    }
}
