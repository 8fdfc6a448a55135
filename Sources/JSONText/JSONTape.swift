/// The nodes of a text, one behind the other in a block of memory: an array without its checks, which a scan would pay for
/// at every value where nothing is optimised. Whoever takes the block frees it.
struct JSONTape {
    private(set) var nodes: UnsafeMutablePointer<JSONDocument.Node>
    private(set) var count = 0
    private var room: Int

    init(room: Int) {
        nodes = .allocate(capacity: room)
        self.room = room
    }

    /// - Parameters:
    ///   - start: the offset of its first octet. The text is smaller than 4 GiB.
    ///   - end: the offset behind its last.
    mutating func append(_ kind: JSONDocument.Kind, _ start: Int, _ end: Int, _ isEscaped: Bool) {
        if count == room { grow() }
        let node = nodes + count
        count += 1
        node.initialize(
            to: JSONDocument.Node(
                kind: kind, isEscaped: isEscaped, offset: UInt32(truncatingIfNeeded: start),
                length: UInt32(truncatingIfNeeded: end &- start), next: UInt32(truncatingIfNeeded: count)))
    }

    private mutating func grow() {
        let larger = UnsafeMutablePointer<JSONDocument.Node>.allocate(capacity: room * 2)
        larger.moveInitialize(from: nodes, count: count)
        nodes.deallocate()
        nodes = larger
        room *= 2
    }
}
