package import PushSimWire

/// A recorded text in which `{{name.1}}` stands for a value that was redacted.
package struct Template {
    enum Part: Hashable {
        case text([UInt8])
        case placeholder([UInt8])
    }

    let parts: [Part]

    package init(_ recorded: [UInt8]) {
        var parts: [Part] = []
        var text: [UInt8] = []
        var index = 0
        while index < recorded.count {
            if let end = Self.placeholder(recorded, index) {
                if !text.isEmpty { parts.append(.text(text)) }
                text = []
                parts.append(.placeholder(Array(recorded[(index + 2)..<(end - 2)])))
                index = end
            } else {
                text.append(recorded[index])
                index += 1
            }
        }
        if !text.isEmpty || parts.isEmpty { parts.append(.text(text)) }
        self.parts = parts
    }

    /// Where a placeholder that begins at `start` ends: letters, digits, `-`, `_`, a dot and a number.
    private static func placeholder(_ bytes: [UInt8], _ start: Int) -> Int? {
        guard start + 4 < bytes.count, bytes[start] == 123, bytes[start + 1] == 123 else { return nil }
        var index = start + 2
        var dot: Int?
        while index < bytes.count, bytes[index] != 125 {
            let byte = bytes[index]
            if byte == 46 { dot = index }
            guard byte == 45 || byte == 46 || byte == 95 || (48...57).contains(byte) || (97...122).contains(byte | 32)
            else { return nil }
            index += 1
        }
        guard let dot, dot > start + 2, dot + 1 < index, index + 1 < bytes.count, bytes[index + 1] == 125 else {
            return nil
        }
        return index + 2
    }

    package var hasPlaceholders: Bool {
        parts.contains { if case .placeholder = $0 { true } else { false } }
    }

    /// Whether a value is of this form; what placeholders stand for is bound, and must be the same later.
    package func matches(_ value: [UInt8], _ bound: inout [ByteKey: [UInt8]]) -> Bool {
        guard hasPlaceholders else {
            guard case .text(let text) = parts.first else { return value.isEmpty }
            return text.isSame(as: value)
        }
        var trial = bound
        guard Self.match(parts[...], value[...], &trial) else { return false }
        bound = trial
        return true
    }

    private static func match(
        _ parts: ArraySlice<Part>, _ value: ArraySlice<UInt8>, _ bound: inout [ByteKey: [UInt8]]
    ) -> Bool {
        guard let first = parts.first else { return value.isEmpty }
        switch first {
        case .text(let text):
            guard value.starts(with: text) else { return false }
            return match(parts.dropFirst(), value.dropFirst(text.count), &bound)
        case .placeholder(let name):
            if let known = bound[ByteKey(name)] {
                guard value.starts(with: known) else { return false }
                return match(parts.dropFirst(), value.dropFirst(known.count), &bound)
            }
            // The shortest value with which the rest still matches.
            var count = 1
            while count <= value.count {
                var trial = bound
                trial[ByteKey(name)] = Array(value.prefix(count))
                if match(parts.dropFirst(), value.dropFirst(count), &trial) {
                    bound = trial
                    return true
                }
                count += 1
            }
            return false
        }
    }

    /// The text with what is bound in place of the placeholders, and a stand-in where nothing is.
    package func filled(_ bound: [ByteKey: [UInt8]]) -> [UInt8] {
        parts.flatMap { part -> [UInt8] in
            switch part {
            case .text(let text): text
            case .placeholder(let name): bound[ByteKey(name)] ?? Array("pushsim-\(name.text)".utf8)
            }
        }
    }
}
