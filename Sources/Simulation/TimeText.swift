import PushSimWire

/// Instants as RFC 3339 text, and durations as `500ms`, `2s`, `1.5m`.
package enum TimeText {
    /// UTC with `Z`; as many fraction digits as the nanoseconds need, none, three, six or nine.
    package static func rfc3339(_ instant: Int64) -> String {
        let seconds = instant.floorDivided(by: 1_000_000_000)
        let fraction = Int(instant - seconds * 1_000_000_000)
        let time = CivilTime(seconds)
        var out: [UInt8] = []
        out.appendDecimal(time.year, width: 4)
        out.append(45)
        out.appendDecimal(time.month, width: 2)
        out.append(45)
        out.appendDecimal(time.day, width: 2)
        out.append(84)
        out.appendDecimal(time.hour, width: 2)
        out.append(58)
        out.appendDecimal(time.minute, width: 2)
        out.append(58)
        out.appendDecimal(time.second, width: 2)
        if fraction != 0 {
            out.append(46)
            if fraction % 1_000_000 == 0 {
                out.appendDecimal(fraction / 1_000_000, width: 3)
            } else if fraction % 1000 == 0 {
                out.appendDecimal(fraction / 1000, width: 6)
            } else {
                out.appendDecimal(fraction, width: 9)
            }
        }
        out.append(90)
        return String(decoding: out, as: UTF8.self)
    }

    /// Reads RFC 3339 with any offset, from 1970 to 2200; nil for anything else.
    package static func instant(_ text: String) -> Int64? { instant(Array(text.utf8)) }

    package static func instant(_ bytes: [UInt8]) -> Int64? {
        guard bytes.count >= 20, bytes[4] == 45, bytes[7] == 45, bytes[10] | 32 == 116, bytes[13] == 58,
            bytes[16] == 58,
            let year = number(bytes, 0..<4), let month = number(bytes, 5..<7), let day = number(bytes, 8..<10),
            let hour = number(bytes, 11..<13), let minute = number(bytes, 14..<16),
            let second = number(bytes, 17..<19),
            (1970...2200).contains(year),
            let seconds = CivilTime.seconds(
                year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        else { return nil }
        var index = 19
        var nanoseconds: Int64 = 0
        if bytes[index] == 46 {
            let start = index + 1
            index = start
            while index < bytes.count, bytes[index] >= 48, bytes[index] <= 57 { index += 1 }
            guard (1...9).contains(index - start), let value = number(bytes, start..<index) else { return nil }
            nanoseconds = Int64(value) * power(9 - (index - start))
        }
        guard let offset = offset(bytes, index) else { return nil }
        return (seconds - offset) * 1_000_000_000 + nanoseconds
    }

    private static func offset(_ bytes: [UInt8], _ start: Int) -> Int64? {
        if bytes.count == start + 1, bytes[start] | 32 == 122 { return 0 }
        guard bytes.count == start + 6, bytes[start] == 43 || bytes[start] == 45, bytes[start + 3] == 58,
            let hours = number(bytes, start + 1..<start + 3), let minutes = number(bytes, start + 4..<start + 6),
            hours < 24, minutes < 60
        else { return nil }
        return Int64(hours * 3600 + minutes * 60) * (bytes[start] == 45 ? -1 : 1)
    }

    /// Of up to nine digits.
    private static func number(_ bytes: [UInt8], _ range: Range<Int>) -> Int? {
        var value = 0
        var index = range.lowerBound
        while index < range.upperBound {
            guard bytes[index] >= 48, bytes[index] <= 57 else { return nil }
            value = value * 10 + Int(bytes[index] - 48)
            index += 1
        }
        return value
    }

    /// The longest duration, some 47 years: from the clock's last moment it still leads to a number that fits.
    package static let longest: Int64 = 1_500_000_000_000_000_000

    private static let units: [(name: String, nanoseconds: Int64)] = [
        ("ns", 1), ("us", 1000), ("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000),
        ("h", 3_600_000_000_000), ("d", 86_400_000_000_000),
    ]

    /// Nanoseconds of a number with one of the units ns, us, ms, s, m, h, d; nil for anything else and for what is
    /// longer than `longest`.
    package static func duration(_ text: String) -> Int64? {
        let bytes = Array(text.utf8)
        let number = bytes.prefix { ($0 >= 48 && $0 <= 57) || $0 == 46 }
        let unit = String(decoding: bytes[number.count...], as: UTF8.self)
        guard let factor = units.first(where: { $0.name == unit })?.nanoseconds else { return nil }
        let parts = number.split(separator: 46, omittingEmptySubsequences: false)
        guard parts.count <= 2, let whole = decimalDigits(parts[0]).map(Int64.init), whole <= longest / factor
        else { return nil }
        var total = whole * factor
        if parts.count == 2 {
            guard parts[1].count <= 9, let fraction = decimalDigits(parts[1]) else { return nil }
            // The product of the two may be wider than what comes of it.
            let product = factor.multipliedFullWidth(by: Int64(fraction))
            total += power(parts[1].count).dividingFullWidth(product).quotient
        }
        return total
    }

    private static func power(_ exponent: Int) -> Int64 { (0..<exponent).reduce(1) { value, _ in value * 10 } }
}
