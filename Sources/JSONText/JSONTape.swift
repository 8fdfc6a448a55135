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

    mutating func append(_ node: JSONDocument.Node) {
        if count == room { grow() }
        (nodes + count).initialize(to: node)
        count += 1
    }

    private mutating func grow() {
        let larger = UnsafeMutablePointer<JSONDocument.Node>.allocate(capacity: room * 2)
        larger.moveInitialize(from: nodes, count: count)
        nodes.deallocate()
        nodes = larger
        room *= 2
    }
}
