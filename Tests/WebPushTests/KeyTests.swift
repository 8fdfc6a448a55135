import PushSimWebPush
import Testing

private let point = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
private let secret = "BTBZMqHH6r4Tts7J_aSIgg"

@Suite("Keys (webpush.md, 1.2 and R08)")
struct KeyTests {
    @Test("A strict reader takes the canonical form only, and says what is wrong")
    func strict() throws {
        func error(_ key: String, _ auth: String) -> KeyError? {
            do throws(KeyError) {
                _ = try ReceiverKeys(encryptionKey: Array(key.utf8), authSecret: Array(auth.utf8))
                return nil
            } catch { return error }
        }
        #expect(error(point, secret) == nil)
        #expect(error(point + "=", secret) == .notBase64URL("encryption_key"))
        #expect(error(point.replacing("-", with: "+"), secret) == .notBase64URL("encryption_key"))
        #expect(error(point, String(secret.dropLast()) + "h") == .notBase64URL("auth_secret"))
        #expect(error(String(point.dropLast(3)), secret) == .wrongLength("encryption_key", got: 63, wanted: 65))
        #expect(error(point, "AAAA") == .wrongLength("auth_secret", got: 3, wanted: 16))
        #expect(error("A" + point.dropFirst(), secret) == .notUncompressed("encryption_key"))
        #expect(error(point.dropLast(4) + "AAAA", secret) == .notOnCurve("encryption_key"))
        #expect(KeyError.notOnCurve("encryption_key").description == "encryption_key is no point of P-256")
    }

    @Test("A lenient reader also takes padding, the standard alphabet and bits left over")
    func lenient() throws {
        let plain = try ReceiverKeys(encryptionKey: Array(point.utf8), authSecret: Array(secret.utf8))
        let standard = point.replacing("-", with: "+").replacing("_", with: "/")
        let odd = try ReceiverKeys(
            encryptionKey: Array((standard + "=").utf8), authSecret: Array((String(secret.dropLast()) + "h==").utf8),
            .lenient)
        #expect(odd == plain)
    }

    @Test("Padding and record size", arguments: [("none", 144, 4096), ("tight", 144, 59), ("exact", 144, 58)])
    func sizes(_ name: String, _ length: Int, _ recordSize: Int) throws {
        let device = try #require(KeyPair(scalar: [UInt8](repeating: 7, count: 32)))
        let sender = try #require(KeyPair(scalar: [UInt8](repeating: 9, count: 32)))
        let receiver = try ReceiverKeys(publicKey: device.publicKey, authSecret: [UInt8](repeating: 1, count: 16))
        let size: Record.Size = name == "tight" ? .tight : name == "exact" ? .exact : .octets(4096)
        let text = [UInt8](repeating: 65, count: 41)
        let salt = [UInt8](repeating: 3, count: 16)
        let body = try #require(Record.encrypt(text, to: receiver, sender: sender, salt: salt, size: size))
        #expect(body.count == length)
        #expect(Int(body[18]) << 8 | Int(body[19]) == recordSize)
        let padded = try #require(Record.encrypt(text, to: receiver, sender: sender, salt: salt, padding: .to(2816)))
        #expect(padded.count == 2816)
        let keys = try DeviceKeys(pair: device, authSecret: receiver.authSecret)
        #expect(try Record.decrypt(padded, with: keys) == text)
    }

    @Test("Base64 of either alphabet is read back, padded or not, with white space where that is passed over")
    func base64() {
        var bytes: [UInt8] = []
        for length in 0..<130 {
            for text in [Base64.encode(bytes), Base64.encode(bytes, .standard)] {
                let octets = Array(text.utf8)
                #expect(Base64.decodeLeniently(octets) == bytes)
                var spaced: [UInt8] = []
                for (offset, octet) in octets.enumerated() {
                    spaced += offset % 5 == length % 5 ? [13, 10, octet, 32] : [octet]
                }
                #expect(Base64.decodeLeniently(spaced + [10], skipsSpace: true) == bytes)
                if !bytes.isEmpty {
                    #expect(Base64.decodeLeniently([32] + octets) == nil)
                    for wrong in [UInt8(46), 0x80, 61, 0] {
                        #expect(Base64.decodeLeniently([octets[0], wrong] + octets) == nil)
                    }
                }
                let single = octets.filter { $0 != 61 }
                if single.count % 4 == 0 { #expect(Base64.decodeLeniently(single + [65]) == nil) }
            }
            bytes.append(UInt8(truncatingIfNeeded: length &* 151 &+ 7))
        }
    }

    @Test("Scalars beyond the order of the curve, and none, are no keys")
    func scalars() {
        #expect(KeyPair(scalar: [UInt8](repeating: 0, count: 32)) == nil)
        #expect(KeyPair(scalar: [UInt8](repeating: 255, count: 32)) == nil)
        #expect(KeyPair(scalar: [1]) == nil)
    }
}
