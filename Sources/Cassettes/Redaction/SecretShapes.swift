import PushSimJSONText
import PushSimWebPush
import PushSimWire

/// Secrets that are known by what they look like.
enum SecretShapes {
    /// JSON web tokens: three parts of base64url, of which the first is an object.
    static func webTokens(_ text: [UInt8]) -> [[UInt8]] {
        var found: [[UInt8]] = []
        var index = 0
        while index + 20 < text.count {
            guard text[index] == 101, text[index + 1] == 121, text[index + 2] == 74,
                index == 0 || !isTokenByte(text[index - 1])
            else {
                index += 1
                continue
            }
            let run = Array(text[index...].prefix { isTokenByte($0) || $0 == 46 })
            let parts = run.split(separator: 46, omittingEmptySubsequences: false)
            if parts.count >= 3, let head = Base64.decode(parts[0]), (try? JSONDocument(head))?.root.kind == .object {
                found.append(Array(parts[0...2].joined(separator: [46])))
            }
            index += run.count
        }
        return found
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        byte == 45 || byte == 95 || (48...57).contains(byte) || (97...122).contains(byte | 32)
    }

    /// E-mail addresses.
    static func addresses(_ text: [UInt8]) -> [[UInt8]] {
        var found: [[UInt8]] = []
        var index = 0
        while let at = text[index...].firstIndex(of: 64) {
            var start = at
            while start > index, isLocalByte(text[start - 1]) { start -= 1 }
            var end = at + 1
            while end < text.count, isDomainByte(text[end]) { end += 1 }
            while end > at + 1, text[end - 1] == 46 || text[end - 1] == 45 { end -= 1 }
            let domain = text[(at + 1)..<end]
            if start < at, let dot = domain.lastIndex(of: 46), dot > at + 1,
                domain[(dot + 1)...].allSatisfy({ (97...122).contains($0 | 32) }), end - dot > 2
            {
                found.append(Array(text[start..<end]))
            }
            index = max(at + 1, end)
        }
        return found
    }

    private static func isLocalByte(_ byte: UInt8) -> Bool {
        isDomainByte(byte) || byte == 95 || byte == 43
    }

    private static func isDomainByte(_ byte: UInt8) -> Bool {
        byte == 45 || byte == 46 || (48...57).contains(byte) || (97...122).contains(byte | 32)
    }

    /// Blocks of PEM whose label ends in PRIVATE KEY.
    static func privateKeys(_ text: [UInt8]) -> [[UInt8]] {
        let (begin, end) = (Array("-----BEGIN ".utf8), Array("-----END ".utf8))
        var found: [[UInt8]] = []
        var index = 0
        while let start = find(begin, text, index), let stop = find(end, text, start) {
            let block = Array(text[start..<stop])
            if find(Array("PRIVATE KEY".utf8), block, 0) != nil {
                let tail = text[(stop + end.count)...].prefix { $0 != 45 }
                let close = min(text.count, stop + end.count + tail.count + 5)
                found.append(Array(text[start..<close]))
            }
            index = stop + end.count
        }
        return found
    }

    static func find(_ pattern: [UInt8], _ text: [UInt8], _ start: Int) -> Int? {
        var index = start
        while index + pattern.count <= text.count {
            if text[index] == pattern[0], text[index..<(index + pattern.count)].elementsEqual(pattern) { return index }
            index += 1
        }
        return nil
    }
}

/// The parts of a multipart body, as far as their names are looked at.
enum MultipartBody {
    static func parts(_ body: [UInt8]) -> [(name: [UInt8], content: [UInt8])] {
        guard body.starts(with: [45, 45]) else { return [] }
        let line = Array(body.prefix { $0 != 13 && $0 != 10 })
        var starts: [Int] = []
        var index = 0
        while let next = SecretShapes.find(line, body, index) {
            starts.append(next)
            index = next + line.count
        }
        return zip(starts, starts.dropFirst()).compactMap { start, end in
            let part = Array(body[(start + line.count)..<end])
            guard let gap = SecretShapes.find([13, 10, 13, 10], part, 0) else { return nil }
            let head = part[..<gap].map { $0 }.text
            guard let mark = head.range(of: "name=\"") else { return nil }
            let name = head[mark.upperBound...].prefix { $0 != "\"" }
            return (Array(name.utf8), Array(part[(gap + 4)...].dropLast(2)))
        }
    }
}

extension String {
    /// Where a text stands first.
    fileprivate func range(of text: String) -> Range<String.Index>? { ranges(of: text).first }
}
