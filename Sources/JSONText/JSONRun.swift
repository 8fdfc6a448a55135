import CPushSimSystem

/// Runs of octets in strings that stand for themselves, found eight at a time.
enum JSONRun {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let tops: UInt64 = 0x8080_8080_8080_8080

    /// By octet: which kinds of string it stands for itself in. Read-only after its creation, so safe to share.
    nonisolated(unsafe) private static let plain: UnsafePointer<UInt8> = {
        let table = UnsafeMutablePointer<UInt8>.allocate(capacity: 256)
        for index in 0..<256 {
            let stands = index >= 32 && index < 128 && index != 92
            table[index] = (stands && index != 34 ? inDoubleQuotes : 0) | (stands && index != 39 ? inSingleQuotes : 0)
        }
        return UnsafePointer(table)
    }()

    private static let inDoubleQuotes: UInt8 = 1
    private static let inSingleQuotes: UInt8 = 2

    /// Where the run that begins at `start` ends: before a quote of that kind, a backslash, a control character, or an
    /// octet that is no ASCII.
    static func end(_ base: UnsafePointer<UInt8>, _ start: Int, _ count: Int, quote: UInt8) -> Int {
        // Short runs are the most: one octet after the other finds their end sooner.
        let near = count - start < shortRun ? count : start + shortRun
        let index = pushsim_run_end(base, start, near, plain, quote == 34 ? inDoubleQuotes : inSingleQuotes)
        return index < near || near == count ? index : farEnd(base, index, count, quote: quote)
    }

    private static let shortRun = 12

    private static func farEnd(_ base: UnsafePointer<UInt8>, _ start: Int, _ count: Int, quote: UInt8) -> Int {
        var index = start
        let quotes = ones &* UInt64(quote)
        let backslashes = ones &* 92
        let spaces = ones &* 32
        while index + 8 <= count {
            let word = UInt64(littleEndian: UnsafeRawPointer(base + index).loadUnaligned(as: UInt64.self))
            let (quoted, escaped) = (word ^ quotes, word ^ backslashes)
            // The top bit of each octet that is one of those; above the first of them, some that are not.
            let found =
                (word | (word &- spaces) & ~word | (quoted &- ones) & ~quoted | (escaped &- ones) & ~escaped) & tops
            if found != 0 { return index + found.trailingZeroBitCount >> 3 }
            index += 8
        }
        while index < count {
            let byte = base[index]
            if byte < 32 || byte == quote || byte == 92 || byte >= 128 { return index }
            index += 1
        }
        return index
    }
}
