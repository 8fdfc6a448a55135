/// The `Date` form of RFC 9110 section 5.6.7, in any year from 0 to 9999.
package enum HTTPDate {
    private static let days: [[UInt8]] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"].map { Array($0.utf8) }
    private static let months: [[UInt8]] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ].map { Array($0.utf8) }

    /// - Parameter seconds: since 1970.
    package static func bytes(_ seconds: Int64) -> [UInt8] {
        let date = CivilTime(seconds)
        var out: [UInt8] = []
        out.reserveCapacity(29)
        out += days[date.weekday]
        out += [Byte.comma, Byte.space]
        out.appendDecimal(date.day, width: 2)
        out.append(Byte.space)
        out += months[date.month - 1]
        out.append(Byte.space)
        out.appendDecimal(date.year, width: 4)
        out.append(Byte.space)
        out.appendDecimal(date.hour, width: 2)
        out.append(Byte.colon)
        out.appendDecimal(date.minute, width: 2)
        out.append(Byte.colon)
        out.appendDecimal(date.second, width: 2)
        out += Array(" GMT")
        return out
    }

    /// Reads that form, and the one with dashes that cookies have had; nil for anything else. Seconds since 1970.
    package static func parse(_ text: [UInt8]) -> Int64? {
        let words = text.split { $0 == Byte.space || $0 == 45 || $0 == Byte.comma || $0 == Byte.colon }
        guard words.count == 8, Array(words[7]).equalsIgnoringCase(Array("GMT".utf8)),
            let month = months.firstIndex(where: { $0.equalsIgnoringCase(Array(words[2])) }),
            let day = decimalDigits(words[1]), let year = decimalDigits(words[3]), let hour = decimalDigits(words[4]),
            let minute = decimalDigits(words[5]), let second = decimalDigits(words[6])
        else { return nil }
        return CivilTime.seconds(year: year, month: month + 1, day: day, hour: hour, minute: minute, second: second)
    }
}

/// A moment taken apart in the Gregorian calendar, UTC.
package struct CivilTime: Hashable, Sendable {
    package let year: Int
    package let month: Int
    package let day: Int
    package let hour: Int
    package let minute: Int
    package let second: Int
    /// 0 is Sunday.
    package let weekday: Int

    package init(_ secondsSince1970: Int64) {
        let days = Int(secondsSince1970.floorDivided(by: 86_400))
        let rest = Int(secondsSince1970 - Int64(days) * 86_400)
        hour = rest / 3600
        minute = rest / 60 % 60
        second = rest % 60
        weekday = ((days + 4) % 7 + 7) % 7
        // Days are counted from 0000-03-01, so that leap days end a year; eras of 400 years repeat exactly.
        let shifted = days + 719_468
        let era = Int(Int64(shifted).floorDivided(by: 146_097))
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// Seconds since 1970 of a date, or nil where there is no such day or time.
    package static func seconds(
        year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0
    ) -> Int64? {
        guard (0...9999).contains(year), (1...12).contains(month), (1...31).contains(day), (0...23).contains(hour),
            (0...59).contains(minute), (0...59).contains(second)
        else { return nil }
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = Int(Int64(shiftedYear).floorDivided(by: 400))
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + dayOfEra - 719_468
        let result = Int64(days) * 86_400 + Int64(hour * 3600 + minute * 60 + second)
        let back = CivilTime(result)
        return back.day == day && back.month == month ? result : nil
    }
}

extension Int64 {
    package func floorDivided(by divisor: Int64) -> Int64 {
        let quotient = self / divisor
        return self % divisor < 0 ? quotient - 1 : quotient
    }
}

extension [UInt8] {
    /// Appends a number, zero-padded to `width`.
    package mutating func appendDecimal(_ number: Int, width: Int = 1) {
        if number < 0 { append(45) }
        var rest = number.magnitude
        var scale: UInt = 1
        var count = 1
        while rest / scale >= 10 {
            scale *= 10
            count += 1
        }
        while count < width {
            append(48)
            count += 1
        }
        while scale > 0 {
            append(48 + UInt8(rest / scale))
            rest %= scale
            scale /= 10
        }
    }
}
