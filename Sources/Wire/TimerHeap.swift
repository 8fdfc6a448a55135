/// Deadlines in order: by time, then by when they were set.
package struct TimerHeap<Value> {
    private struct Entry {
        let deadline: Int64
        let id: UInt64

        func isBefore(_ other: Entry) -> Bool {
            deadline != other.deadline ? deadline < other.deadline : id < other.id
        }
    }

    private var heap: [Entry] = []
    private var values: [UInt64: Value] = [:]
    private var nextID: UInt64 = 1

    package init() {}

    package var isEmpty: Bool { values.isEmpty }
    package var count: Int { values.count }

    package mutating func insert(_ deadline: Int64, _ value: Value) -> UInt64 {
        let id = nextID
        nextID += 1
        values[id] = value
        heap.append(Entry(deadline: deadline, id: id))
        siftUp(heap.count - 1)
        return id
    }

    @discardableResult
    package mutating func remove(_ id: UInt64) -> Value? {
        let value = values.removeValue(forKey: id)
        // Removed entries leave the heap when they reach its top, or all at once when they outnumber the rest.
        if heap.count > 64, heap.count > values.count * 2 {
            let live = heap.filter { values[$0.id] != nil }
            heap.removeAll(keepingCapacity: true)
            for entry in live {
                heap.append(entry)
                siftUp(heap.count - 1)
            }
        }
        return value
    }

    package mutating func removeAll() {
        heap.removeAll()
        values.removeAll()
    }

    package var earliest: Int64? {
        mutating get {
            // Indices rather than `first`, whose generic way is long where nothing is optimised: this is asked all the time.
            while heap.count > values.count, values[heap[0].id] == nil { popTop() }
            return heap.count > 0 ? heap[0].deadline : nil
        }
    }

    package mutating func popDue(_ now: Int64) -> Value? {
        guard let earliest, earliest <= now, let first = heap.first else { return nil }
        popTop()
        return values.removeValue(forKey: first.id)
    }

    private mutating func popTop() {
        guard let last = heap.popLast(), !heap.isEmpty else { return }
        heap[0] = last
        var index = 0
        while true {
            var least = index
            for child in [index * 2 + 1, index * 2 + 2] where child < heap.count && heap[child].isBefore(heap[least]) {
                least = child
            }
            if least == index { return }
            heap.swapAt(index, least)
            index = least
        }
    }

    private mutating func siftUp(_ start: Int) {
        var index = start
        while index > 0, heap[index].isBefore(heap[(index - 1) / 2]) {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }
}
