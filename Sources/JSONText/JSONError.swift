/// Why a text is not JSON (or JSON5): what, and where.
package struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
    package let message: String
    /// Counted from the first byte of the text.
    package let offset: Int
    package let position: JSONPosition

    package var description: String { "\(position): \(message)" }
}

/// A place in a text: lines and columns from 1, a column being one Unicode scalar.
package struct JSONPosition: Hashable, Sendable, CustomStringConvertible {
    package let line: Int
    package let column: Int

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    package init(offset: Int, in bytes: [UInt8]) {
        var line = 1
        var lineStart = 0
        let end = min(offset, bytes.count)
        var index = 0
        while index < end {
            if bytes[index] == 10 {
                line += 1
                lineStart = index + 1
            } else if bytes[index] == 13, index + 1 >= bytes.count || bytes[index + 1] != 10 {
                line += 1
                lineStart = index + 1
            }
            index += 1
        }
        self.line = line
        // Continuation bytes of UTF-8 are no columns of their own.
        column = bytes[lineStart..<max(lineStart, end)].reduce(1) { $1 & 0xC0 == 0x80 ? $0 : $0 + 1 }
    }

    package var description: String { "line \(line), column \(column)" }
}
