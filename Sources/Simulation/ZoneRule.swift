import PushSimWire

/// How the clocks of a time zone are changed year by year, as the last line of a zoneinfo file says it: the form of POSIX's
/// `TZ`, such as `CET-1CEST,M3.5.0,M10.5.0/3`. All times are in seconds.
struct ZoneRule: Sendable {
    /// A day of a year, and a time of it.
    private struct Moment {
        enum Day {
            /// From 1, in which 29 February does not count.
            case ofCommonYear(Int)
            /// From 0.
            case ofYear(Int)
            /// The last of that weekday, 0 is Sunday, where the week is 5.
            case ofMonth(Int, week: Int, weekday: Int)
        }

        let day: Day
        /// From midnight: another day's where it is negative or beyond 24 hours.
        let time: Int64

        /// As if clocks showed UTC.
        func seconds(_ year: Int) -> Int64 { first(year) * 86_400 + time }

        /// Days since 1970.
        private func first(_ year: Int) -> Int64 {
            switch day {
            case .ofCommonYear(let number):
                let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
                return Self.day(year, 1) + Int64(number - 1) + (isLeap && number >= 60 ? 1 : 0)
            case .ofYear(let number): return Self.day(year, 1) + Int64(number)
            case .ofMonth(let month, let week, let weekday):
                let start = Self.day(year, month)
                let own = Int64(weekday - CivilTime(start * 86_400).weekday)
                let day = start + (own < 0 ? own + 7 : own) + Int64(week - 1) * 7
                let end = month == 12 ? Self.day(year + 1, 1) : Self.day(year, month + 1)
                return day < end ? day : day - 7
            }
        }

        private static func day(_ year: Int, _ month: Int) -> Int64 {
            (CivilTime.seconds(year: year, month: month, day: 1, hour: 0, minute: 0, second: 0) ?? 0) / 86_400
        }
    }

    private let standard: Int64
    /// The other offset, and when it begins and ends.
    private let summer: (offset: Int64, start: Moment, end: Moment)?

    /// - Returns: nil for what has not that form.
    init?(_ text: [UInt8]) {
        var reader = Reader(text)
        guard reader.name(), let west = reader.time(24) else { return nil }
        standard = -west
        if reader.isAtEnd {
            summer = nil
            return
        }
        guard reader.name() else { return nil }
        var offset = -west + 3600
        if !reader.isNext(Byte.comma) {
            guard let own = reader.time(24) else { return nil }
            offset = -own
        }
        guard let start = reader.moment(), let end = reader.moment(), reader.isAtEnd else { return nil }
        summer = (offset, start, end)
    }

    func offset(at time: Int64) -> Int64 {
        guard summer != nil else { return standard }
        var offset = standard
        for change in changes(around: time) where change.time <= time { offset = change.offset }
        return offset
    }

    func change(after time: Int64) -> Int64? { changes(around: time).first { $0.time > time }?.time }

    /// Those of the year of a time and of its neighbours, ascending.
    private func changes(around time: Int64) -> [(time: Int64, offset: Int64)] {
        guard let summer else { return [] }
        let year = CivilTime(time).year
        var all: [(time: Int64, offset: Int64)] = []
        for year in (year - 1)...(year + 1) {
            all.append((summer.start.seconds(year) - standard, summer.offset))
            all.append((summer.end.seconds(year) - summer.offset, standard))
        }
        // Where one ends as the next begins, the order of the years decides.
        return all.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }.map(\.element)
    }

    private struct Reader {
        private let text: [UInt8]
        private var index = 0

        init(_ text: [UInt8]) { self.text = text }

        var isAtEnd: Bool { index == text.count }

        func isNext(_ byte: UInt8) -> Bool { index < text.count && text[index] == byte }

        /// Steps over a byte that stands there.
        mutating func take(_ byte: UInt8) -> Bool {
            guard isNext(byte) else { return false }
            index += 1
            return true
        }

        /// Letters, or anything in angle brackets.
        mutating func name() -> Bool {
            let start = index
            if take(60) {
                while index < text.count, text[index] != 62 { index += 1 }
                return take(62)
            }
            while index < text.count, text[index] | 32 >= 97, text[index] | 32 <= 122 { index += 1 }
            return index - start >= 3
        }

        mutating func number(_ range: ClosedRange<Int>) -> Int? {
            let start = index
            while index < text.count, text[index] >= 48, text[index] <= 57 { index += 1 }
            guard let number = decimalDigits(text[start..<index]), range.contains(number) else { return nil }
            return number
        }

        /// `-1:30`, in seconds.
        mutating func time(_ mostHours: Int) -> Int64? {
            let isNegative = take(45)
            if !isNegative { _ = take(43) }
            guard let hours = number(0...mostHours) else { return nil }
            var seconds = hours * 3600
            for unit in [60, 1] where take(Byte.colon) {
                guard let part = number(0...59) else { return nil }
                seconds += part * unit
            }
            return Int64(isNegative ? -seconds : seconds)
        }

        mutating func moment() -> Moment? {
            guard take(Byte.comma), let day = day() else { return nil }
            guard take(Byte.slash) else { return Moment(day: day, time: 7200) }
            return time(167).map { Moment(day: day, time: $0) }
        }

        private mutating func day() -> Moment.Day? {
            if take(77) {
                guard let month = number(1...12), take(46), let week = number(1...5), take(46),
                    let weekday = number(0...6)
                else { return nil }
                return .ofMonth(month, week: week, weekday: weekday)
            }
            if take(74) { return number(1...365).map { .ofCommonYear($0) } }
            return number(0...365).map { .ofYear($0) }
        }
    }
}
