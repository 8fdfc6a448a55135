import PushSimJSONText
import PushSimSimulation
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
            if parts.count >= 3, let head = Base64.decode(parts[0]), let root = (try? JSONDocument(head))?.root,
                root.kind == .object
            {
                // An encrypted one has five parts (RFC 7516).
                let count = parts.count >= 5 && root["enc"] != nil ? 5 : 3
                found.append(Array(parts[..<count].joined(separator: [46])))
            }
            index += run.count
        }
        return found
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        byte == 45 || byte == 95 || (48...57).contains(byte) || (97...122).contains(byte | 32)
    }

    /// E-mail addresses. What is no text has octets now and then that look like a short one: there each part of one has
    /// two or more.
    static func addresses(_ text: [UInt8]) -> [[UInt8]] {
        var found: [[UInt8]] = []
        let least = text.isUTF8 ? 1 : 2
        var index = 0
        while let at = text[index...].firstIndex(of: 64) {
            var start = at
            while start > index, isLocalByte(text[start - 1]) { start -= 1 }
            var end = at + 1
            while end < text.count, isDomainByte(text[end]) { end += 1 }
            while end > at + 1, text[end - 1] == 46 || text[end - 1] == 45 { end -= 1 }
            let domain = text[(at + 1)..<end]
            // `scheme://user:password@host` is no address.
            let isUserInfo = start > 0 && (text[start - 1] == Byte.colon || text[start - 1] == Byte.slash)
            if !isUserInfo, at - start >= least, isDomain(domain, least) {
                found.append(Array(text[start..<end]))
            }
            index = max(at + 1, end)
        }
        return found
    }

    /// Labels between dots, the last of two letters or more (RFC 1123 section 2.1).
    private static func isDomain(_ domain: ArraySlice<UInt8>, _ least: Int) -> Bool {
        let labels = domain.split(separator: 46, omittingEmptySubsequences: false)
        guard labels.count > 1, let last = labels.last, last.count > 1 else { return false }
        return last.allSatisfy { (97...122).contains($0 | 32) }
            && labels.allSatisfy { $0.count >= least && $0.count < 64 && $0.first != 45 && $0.last != 45 }
    }

    private static func isLocalByte(_ byte: UInt8) -> Bool {
        isDomainByte(byte) || byte == 95 || byte == 43
    }

    private static func isDomainByte(_ byte: UInt8) -> Bool {
        byte == 45 || byte == 46 || (48...57).contains(byte) || (97...122).contains(byte | 32)
    }

    struct Member {
        let name: [UInt8]
        let value: [UInt8]
        /// Where the value stands in the text, as it is written there.
        let range: Range<Int>
        /// What undoes its escapes.
        var codings: [Coding] = []
        /// `name=value` behind `?` or `&`.
        var isQuery = false
        /// What it may mean too.
        var otherValue: [UInt8]?

        fileprivate init(_ name: [UInt8], _ written: ArraySlice<UInt8>, _ coding: Coding? = nil) {
            self.name = name
            range = written.startIndex..<written.endIndex
            let raw = Array(written)
            let plain = coding.flatMap { $0.decode(raw) } ?? raw
            value = plain
            if let coding, plain != raw { codings = [coding] }
        }
    }

    /// Names with a value in any text: `"name": "value"` and `"name": 5` of JSON that is cut, in lines or in a script,
    /// `?name=value&` of a URL, `<name>value</name>` of XML.
    /// - Parameter isWanted: whether a name, of a query or not, is one whose value is to be read: most are not.
    static func members(_ text: [UInt8], _ isWanted: ([UInt8], Bool) -> Bool) -> [Member] {
        var found: [Member] = []
        for index in text.indices {
            let member: Member? =
                switch text[index] {
                case Byte.colon: jsonMember(text, index, isWanted)
                case 61: queryItem(text, index, isWanted)
                case 62: element(text, index, isWanted)
                default: nil
                }
            if let member, !member.value.isEmpty { found.append(member) }
        }
        return found
    }

    private static func jsonMember(
        _ text: [UInt8], _ colon: Int, _ isWanted: ([UInt8], Bool) -> Bool
    ) -> Member? {
        var end = colon
        while end > 0, text[end - 1] == Byte.space { end -= 1 }
        guard end > 1, text[end - 1] == 34 else { return nil }
        var start = end - 1
        while start > 0, isTokenByte(text[start - 1]) { start -= 1 }
        guard start > 0, text[start - 1] == 34, start < end - 1 else { return nil }
        let name = Array(text[start..<(end - 1)])
        guard isWanted(name, false) else { return nil }
        var first = colon + 1
        while first < text.count, text[first] == Byte.space { first += 1 }
        guard first < text.count else { return nil }
        if text[first] != 34 { return Member(name, text[first...].prefix { (48...57).contains($0) }) }
        var last = first + 1
        while last < text.count, text[last] != 34, text[last] != 10 { last += text[last] == 92 ? 2 : 1 }
        return Member(name, text[(first + 1)..<min(last, text.count)], .json)
    }

    private static func queryItem(
        _ text: [UInt8], _ equals: Int, _ isWanted: ([UInt8], Bool) -> Bool
    ) -> Member? {
        var start = equals
        while start > 0, isTokenByte(text[start - 1]) || text[start - 1] == 46 { start -= 1 }
        guard start < equals else { return nil }
        let name = Array(text[start..<equals])
        let isQuery = start > 0 && "?&;#".utf8.contains(text[start - 1])
        guard isWanted(name, isQuery) else { return nil }
        if equals + 1 < text.count, text[equals + 1] == 34 || text[equals + 1] == 39 {
            // An attribute of XML or HTML.
            return Member(name, text[(equals + 2)...].prefix { $0 != text[equals + 1] && $0 != 10 })
        }
        let value = text[(equals + 1)...].prefix { byte in
            byte > 32 && byte != 127 && !"&;#\"'<>,".utf8.contains(byte)
        }
        var member = Member(name, value, .percent)
        member.isQuery = isQuery
        // A plus may be a space, or a digit of base64 that should have been escaped.
        if value.contains(43) { member.otherValue = Percent.decode(value, plusIsSpace: true) }
        return member
    }

    private static func element(_ text: [UInt8], _ close: Int, _ isWanted: ([UInt8], Bool) -> Bool) -> Member? {
        var start = close
        while start > 0, isTokenByte(text[start - 1]) { start -= 1 }
        guard start > 0, start < close, text[start - 1] == 60 || text[start - 1] == Byte.colon else { return nil }
        let name = Array(text[start..<close])
        guard isWanted(name, false) else { return nil }
        let mark = Array("<![CDATA[".utf8)
        var first = close + 1
        let isMarked = text[first...].starts(with: mark)
        if isMarked { first += mark.count }
        // To the end of what was said, also where it is cut.
        let value = text[first...].prefix { isMarked ? $0 != 93 : $0 != 60 }
        let isSpace: (UInt8) -> Bool = { $0 <= Byte.space }
        let inner = value.drop(while: isSpace)
        return Member(name, inner.prefix(inner.count - inner.reversed().prefix(while: isSpace).count))
    }

    /// Where a text stands without the quotes around it.
    static func unquoted(_ text: [UInt8]) -> Range<Int> {
        text.count > 1 && text.first == 34 && text.last == 34 ? 1..<(text.count - 1) : text.indices
    }

    /// What follows the authority of URLs of well-known push services, and of Fluxer's relay.
    static func endpoints(_ text: [UInt8]) -> [[UInt8]] {
        let hosts = [
            "fcm.googleapis.com/", "updates.push.services.mozilla.com/", "web.push.apple.com/", "notify.windows.com/",
            "push.fluxer.com/relay/", "push.pushsim.example/push/",
        ].map { Array($0.utf8) }
        var found: [[UInt8]] = []
        for host in hosts {
            var index = 0
            while let start = find(host, text, index) {
                let slash = start + (host.firstIndex(of: Byte.slash) ?? 0)
                let path = text[(slash + 1)...].prefix { $0 > 32 && $0 != 127 && !"\"'<>\\#,".utf8.contains($0) }
                if path.count >= 16 { found.append(Array(path)) }
                index = slash + 1 + path.count
            }
        }
        return found
    }

    /// Tokens of FCM, which hold `:APA91`.
    static func deviceTokens(_ text: [UInt8]) -> [[UInt8]] {
        let mark = Array(":APA91".utf8)
        var found: [[UInt8]] = []
        var index = 0
        while let middle = find(mark, text, index) {
            var start = middle
            while start > index, isTokenByte(text[start - 1]) { start -= 1 }
            let end = middle + 1 + text[(middle + 1)...].prefix(while: isTokenByte).count
            if start < middle { found.append(Array(text[start..<end])) }
            index = end
        }
        return found
    }

    /// `Bearer x` in any text: x.
    static func bearers(_ text: [UInt8]) -> [[UInt8]] {
        let word = Array("Bearer ".utf8)
        var found: [[UInt8]] = []
        var index = 0
        while let start = find(word, text, index) {
            let token = text[(start + word.count)...].prefix { byte in
                isTokenByte(byte) || [43, 46, 47, 61, 126].contains(byte)
            }
            index = start + word.count + token.count
            if token.count >= 8 { found.append(Array(token)) }
        }
        return found
    }

    /// Passwords of URLs with user info.
    static func passwords(_ text: [UInt8]) -> [[UInt8]] {
        let mark = Array("://".utf8)
        var found: [[UInt8]] = []
        var index = 0
        while let start = find(mark, text, index) {
            let authority = text[(start + 3)...].prefix { $0 > 32 && !"/?#\"'<>".utf8.contains($0) }
            index = start + 3
            guard let at = authority.lastIndex(of: 64), let colon = authority[..<at].firstIndex(of: Byte.colon) else {
                continue
            }
            found.append(Percent.decode(authority[(colon + 1)..<at]) ?? Array(authority[(colon + 1)..<at]))
        }
        return found.filter { !$0.isEmpty }
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
    static func parts(_ body: [UInt8]) -> [(name: [UInt8], range: Range<Int>)] {
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
            // With quotes, or as a token (RFC 7578, RFC 2183); `filename=` is another.
            guard
                let mark = head.ranges(of: "name=").first(where: { mark in
                    mark.lowerBound == head.startIndex || !(head[head.index(before: mark.lowerBound)].isLetter)
                })
            else { return nil }
            let rest = head[mark.upperBound...]
            let name =
                rest.first == "\""
                ? rest.dropFirst().prefix { $0 != "\"" } : rest.prefix { $0 != ";" && !$0.isWhitespace }
            let first = start + line.count + gap + 4
            return (Array(name.utf8), first..<max(first, end - 2))
        }
    }
}
