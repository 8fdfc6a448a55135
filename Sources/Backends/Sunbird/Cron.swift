import PushSimSimulation
import PushSimWire

/// When a broadcast is sent again.
enum Repetition: Sendable {
    /// At once, then every so many nanoseconds.
    case every(Int64)
    /// At the minutes that five fields name, by the clocks of a time zone.
    case cron(Cron, ZoneInfo)

    /// The next run of one that was due at some time and runs now, maybe late: the grid of minutes stays.
    func next(due: Int64, now: Int64) -> Int64? {
        guard case .every(let span) = self, now > due else { return next(after: max(due, now)) }
        return next(after: due + (now - due) / span * span)
    }

    /// The first time after `time`; both in nanoseconds since 1970.
    func next(after time: Int64) -> Int64? {
        switch self {
        case .every(let span):
            let (next, isTooLarge) = time.addingReportingOverflow(span)
            return isTooLarge ? nil : next
        case .cron(let cron, let zone):
            return Self.next(cron, zone, after: time.floorDivided(by: 1_000_000_000)).map { $0 * 1_000_000_000 }
        }
    }

    /// What the clocks leap over happens when they leap, and what they show twice the first time; fields that name every
    /// hour just go by what the clocks show. In seconds since 1970.
    private static func next(_ cron: Cron, _ zone: ZoneInfo, after time: Int64) -> Int64? {
        if cron.isOfEveryHour { return nextShown(cron, zone, after: time) }
        var local = cron.next(after: time + zone.offset(at: time))
        while let found = local {
            let instant = zone.instant(ofLocal: found)
            if instant > time { return instant }
            local = cron.next(after: found)
        }
        return nil
    }

    private static func nextShown(_ cron: Cron, _ zone: ZoneInfo, after time: Int64) -> Int64? {
        var (from, offset) = (time, zone.offset(at: time))
        var shown = from + offset
        while let local = cron.next(after: shown) {
            guard let change = zone.change(after: from), change <= local - offset else { return local - offset }
            // From there on the clocks show something else, and that may be named itself.
            (from, offset) = (change, zone.offset(at: change))
            shown = change + offset - 1
        }
        return nil
    }
}

/// Five fields: minute, hour, day of the month, month and day of the week, each `*`, a number, a range `1-5`, a step
/// `*/15` or `8-18/2`, or several of those with commas. Where both days are restricted, either will do, as in cron.
struct Cron: Sendable {
    /// Ascending.
    private let minutes: [Int]
    private let hours: [Int]
    private let days: Set<Int>
    private let months: Set<Int>
    private let weekdays: Set<Int>
    private let isEitherDay: Bool

    var isOfEveryHour: Bool { hours.count == 24 }

    init?(_ text: String) {
        let fields = text.utf8.split(separator: 32).map(Array.init)
        guard fields.count == 5, let minutes = Self.numbers(fields[0], 0...59),
            let hours = Self.numbers(fields[1], 0...23), let days = Self.numbers(fields[2], 1...31),
            let months = Self.numbers(fields[3], 1...12), let weekdays = Self.numbers(fields[4], 0...7)
        else { return nil }
        (self.minutes, self.hours, self.days, self.months) = (minutes.sorted(), hours.sorted(), days, months)
        // Both 0 and 7 are Sunday.
        self.weekdays = Set(weekdays.map { $0 % 7 })
        isEitherDay = fields[2].first != 42 && fields[4].first != 42
    }

    private static func numbers(_ field: [UInt8], _ range: ClosedRange<Int>) -> Set<Int>? {
        var found: Set<Int> = []
        for part in field.split(separator: Byte.comma, omittingEmptySubsequences: false) {
            let halves = part.split(separator: Byte.slash, omittingEmptySubsequences: false)
            guard halves.count <= 2, let own = span(halves[0], range, isStepped: halves.count == 2) else { return nil }
            var step = 1
            if halves.count == 2 {
                guard let given = decimalDigits(halves[1]), given > 0, given <= range.upperBound else { return nil }
                step = given
            }
            found.formUnion(stride(from: own.lowerBound, through: own.upperBound, by: step))
        }
        return found
    }

    private static func span(
        _ part: ArraySlice<UInt8>, _ range: ClosedRange<Int>, isStepped: Bool
    ) -> ClosedRange<Int>? {
        if part.elementsEqual([42]) { return range }
        let ends = part.split(separator: 45, omittingEmptySubsequences: false).map { decimalDigits($0) }
        guard (1...2).contains(ends.count), let first = ends[0], range.contains(first) else { return nil }
        if ends.count == 1 { return first...(isStepped ? range.upperBound : first) }
        guard let last = ends[1], range.contains(last), last >= first else { return nil }
        return first...last
    }

    /// The first minute after `time` that is named; nil where none comes in nine years, after which a 29 February has
    /// been. Seconds since 1970.
    func next(after time: Int64) -> Int64? {
        let start = (time.floorDivided(by: 60) + 1) * 60
        let first = start.floorDivided(by: 86_400)
        // In minutes of the first day.
        var least = Int(start - first * 86_400) / 60
        for day in first...(first + 9 * 366) {
            defer { least = 0 }
            guard holds(CivilTime(day * 86_400)) else { continue }
            for hour in hours where hour * 60 + 59 >= least {
                if let minute = minutes.first(where: { hour * 60 + $0 >= least }) {
                    return day * 86_400 + Int64(hour * 3600 + minute * 60)
                }
            }
        }
        return nil
    }

    private func holds(_ date: CivilTime) -> Bool {
        guard months.contains(date.month) else { return false }
        let (isDay, isWeekday) = (days.contains(date.day), weekdays.contains(date.weekday))
        return isEitherDay ? isDay || isWeekday : isDay && isWeekday
    }
}
