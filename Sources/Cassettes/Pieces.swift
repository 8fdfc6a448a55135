import Dispatch
import Synchronization

/// Arrays made in pieces side by side. What stands where, and what is told beside it, is the same on every machine.
enum Pieces {
    /// - Parameter piece: makes at most one element for each number of a range, in order; what it makes for one may not
    ///   depend on what it made for another.
    /// - Returns: the elements, and what each piece told beside them, in order.
    static func make<Element: Sendable, Rest: Sendable>(
        _ count: Int, _ piece: @Sendable (_ range: Range<Int>, _ add: (consuming Element) -> Void) -> Rest
    ) -> (elements: [Element], rests: [Rest]) {
        let size = max(64, (count + 7) / 8)
        let number = (count + size - 1) / size
        let made = Mutex<[Int: (count: Int, rest: Rest)]>([:])
        let elements = [Element](unsafeUninitializedCapacity: count) { buffer, filled in
            guard let base = buffer.baseAddress else { return }
            // Each piece writes to its own part only.
            nonisolated(unsafe) let target = base
            DispatchQueue.concurrentPerform(iterations: number) { number in
                let start = number * size
                let range = start..<min(count, start + size)
                var next = start
                let rest = piece(range) { element in
                    guard next < range.upperBound else { return }
                    (target + next).initialize(to: element)
                    next += 1
                }
                let own = next - start
                made.withLock { $0[number] = (own, rest) }
            }
            for number in 0..<number {
                let own = made.withLock { $0[number]?.count ?? 0 }
                // Where elements were left out no gap stays.
                if filled < number * size { (base + filled).moveInitialize(from: base + number * size, count: own) }
                filled += own
            }
        }
        return (elements, (0..<number).compactMap { number in made.withLock { $0[number]?.rest } })
    }
}
