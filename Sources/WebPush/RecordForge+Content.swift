import CPushSimZlib
import PushSimJSONText

// Rows C and T: what is encrypted, and what is sent in a record's place.
extension RecordForge {
    func content(_ id: String, _ plaintext: [UInt8]) -> [UInt8]? { record(text(id, plaintext)) }

    private func text(_ id: String, _ plaintext: [UInt8]) -> [UInt8] {
        switch id {
        case "C01": return [0xFF, 0xFE, 0x7B, 0x7D]
        case "C02": return Array("{\"title\":\"".utf8) + [0xF0, 0x9F, 0x98]
        case "C03": return Array("{\"title\":\"".utf8) + [0xC0, 0xAF] + Array("\"}".utf8)
        case "C04": return Array("{\"title\":\"".utf8) + [0xED, 0xA0, 0xBD] + Array("\"}".utf8)
        case "C06": return Array("{\"title\":\"PushSim\"}".utf16).flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }
        case "C08": return Array("hello".utf8)
        case "C12": return Array("{\"badge\":NaN}".utf8)
        case "C13": return Array("[1]".utf8)
        case "C14": return Array("\"hi\"".utf8)
        case "C15": return Array("5".utf8)
        case "C16": return Array("null".utf8)
        case "C19": return [UInt8](repeating: 91, count: 1300) + [UInt8](repeating: 93, count: 1300)
        case "C26": return Array("{}".utf8)
        case "C22": return Self.gzip(plaintext)
        default: return derived(id, object(plaintext))
        }
    }

    private func derived(_ id: String, _ payload: JSON) -> [UInt8] {
        var json = payload
        let bytes = payload.bytes
        switch id {
        case "C05":
            json.remove([.member("title")])
            return with("\"title\":\"\\ud83c\"", json.bytes)
        case "C07": return [0xEF, 0xBB, 0xBF] + bytes
        case "C09": return Array(bytes.dropLast(2)) + (bytes.count == 2 ? [123] : [])
        case "C10": return fits(bytes + bytes) ? bytes + bytes : bytes + Array("{}".utf8)
        case "C11": return bytes.dropLast() + [44, 125]
        case "C17":
            let text = JSON.text(bytes).bytes
            return fits(text) ? text : JSON.text(small.bytes).bytes
        case "C18":
            json.remove([.member("type")])
            return with("\"type\":\"call_ring\",\"type\":\"notification_clear\"", json.bytes)
        case "C20":
            json.set([.member("data"), .member("expires_at_ms")], .number("9223372036854775807"))
            json.set("large", .number("9007199254740993"))
        case "C21": return bytes.count >= 2714 ? bytes : filled(payload, 2714)
        case "C23": json.remove([.member("data")])
        case "C24":
            json.set("title", 5)
            json.set("data", "text")
        default: json.set("type", "something_new")
        }
        return json.bytes
    }

    /// Whether it goes into one record of 4096 octets: it must fail by its content, not by its frame.
    private func fits(_ text: [UInt8]) -> Bool { text.count <= 4096 - 17 }

    /// An object's text with one more member in front.
    private func with(_ member: String, _ object: [UInt8]) -> [UInt8] {
        [123] + Array(member.utf8) + (object.count > 2 ? [44] : []) + object.dropFirst()
    }

    /// RFC 1952 with a stored block: the same octets from every version of zlib.
    static func gzip(_ text: [UInt8]) -> [UInt8] {
        var out: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]
        var rest = text[...]
        repeat {
            let block = rest.prefix(65_535)
            rest = rest.dropFirst(block.count)
            let count = UInt16(block.count)
            out.append(rest.isEmpty ? 1 : 0)
            for number in [count, ~count] { out += [UInt8(number & 255), UInt8(number >> 8)] }
            out += block
        } while !rest.isEmpty
        let sum = text.withUnsafeBufferPointer { crc32(0, $0.baseAddress, UInt32($0.count)) }
        for number in [UInt32(truncatingIfNeeded: sum), UInt32(truncatingIfNeeded: text.count)] {
            for shift in [0, 8, 16, 24] as [UInt32] { out.append(UInt8(truncatingIfNeeded: number >> shift)) }
        }
        return out
    }

    // MARK: T

    func transport(_ id: String, _ plaintext: [UInt8]) -> [UInt8]? {
        switch id {
        case "T07": return Array("<html><body>502 Bad Gateway</body></html>".utf8)
        case "T10": return record(plaintext, padding: .to(4097))
        case "T11":
            // White space in front keeps the same JSON, and octet 20 from looking like a key's length.
            var text = plaintext
            while text.count > 20, text[20] == 65 { text.insert(32, at: 0) }
            return text
        default: break
        }
        // Octet 20 must not be 65 by chance, or the body would fail at another stage.
        for attempt in 0..<64 {
            guard let body = sent(id, plaintext, attempt) else { return nil }
            if body.count <= 20 || body[20] != 65 { return body }
        }
        return nil
    }

    private func sent(_ id: String, _ plaintext: [UInt8], _ attempt: Int) -> [UInt8]? {
        if id == "T09" { return draft(plaintext, attempt) }
        guard let body = record(plaintext, attempt: attempt) else { return nil }
        switch id {
        case "T01": return Array(Base64.encode(body).utf8)
        case "T02": return Array(Base64.encode(body, .standard).utf8)
        case "T03": return Hex.bytes(body)
        case "T04": return Self.gzip(body)
        case "T05":
            return Array((String(body.count, radix: 16) + "\r\n").utf8) + body + Array("\r\n0\r\n\r\n".utf8)
        case "T06": return [10] + body
        default: return Array("{\"data\":\"\(Base64.encode(body, .standard))\"}".utf8)
        }
    }

    /// draft-ietf-webpush-encryption-04: the salt and the key stood in header fields, the length of the padding in front.
    private func draft(_ plaintext: [UInt8], _ attempt: Int) -> [UInt8]? {
        guard let sender, let secret = sender.agree(with: receiver.publicKey) else { return nil }
        let salt = salt(attempt)
        let context =
            Array("P-256\0".utf8) + [0, 65] + receiver.publicKey + [0, 65] + sender.publicKey
        guard
            let input = HKDF.derive(
                salt: receiver.authSecret, input: secret, info: Array("Content-Encoding: auth\0".utf8), count: 32),
            let key = HKDF.derive(
                salt: salt, input: input, info: Array("Content-Encoding: aesgcm\0".utf8) + context, count: 16),
            let nonce = HKDF.derive(
                salt: salt, input: input, info: Array("Content-Encoding: nonce\0".utf8) + context, count: 12)
        else { return nil }
        return AESGCM.seal(key: key, nonce: nonce, [0, 0] + plaintext)
    }
}
