import PushSimWire

/// The nearest of some names to one that is wrong.
package enum Suggestion {
    /// ` Did you mean "…"?`, or nothing where no name is near.
    package static func text(_ wrong: String, _ names: [String]) -> String {
        nearest(wrong, names).map { " Did you mean \"\($0)\"?" } ?? ""
    }

    package static func nearest(_ wrong: String, _ names: [String]) -> String? {
        let own = Array(wrong.utf8)
        let limit = max(1, own.count / 3)
        var best: (distance: Int, name: String)?
        for name in names {
            let distance = distance(own, Array(name.utf8))
            if distance <= limit, distance < best?.distance ?? .max { best = (distance, name) }
        }
        return best?.name
    }

    /// How many letters must be put in, left out, changed or swapped with a neighbour; letters of either case are alike.
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        let a = left.prefix(64).map(Byte.lowercased)
        let b = right.prefix(64).map(Byte.lowercased)
        var before: [Int] = []
        var last = Array(0...b.count)
        for i in a.indices {
            var row = [i + 1]
            for j in b.indices {
                var cost = min(last[j + 1] + 1, row[j] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { cost = min(cost, before[j - 1] + 1) }
                row.append(cost)
            }
            before = last
            last = row
        }
        return last[b.count]
    }
}
