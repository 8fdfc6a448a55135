import CPushSimSystem

/// A JSON text and the flat list of what stands in it. Nothing is decoded before it is asked for.
///
/// A class, since each of its values refers to it.
package final class JSONDocument: Sendable {
    package enum Kind: UInt8, Sendable {
        case null, `false`, `true`, number, string, array, object
    }

    package enum Dialect: Sendable {
        /// RFC 8259.
        case json
        /// JSON5: comments, trailing commas, single quotes, bare keys, hexadecimal, signs, infinities.
        case json5
    }

    /// 16 bytes: what it is, where it stands, and where the next sibling is. A member of an object is two nodes, the
    /// key's and the value's.
    struct Node {
        var kind: Kind
        /// Of a string: whether its text differs from its bytes between the quotes.
        var isEscaped = false
        /// Of a container: how many elements or members; counted up to `UInt32.max`.
        var offset: UInt32
        /// Bytes of the text, quotes and brackets included.
        var length: UInt32
        /// The node after this one and all in it.
        var next: UInt32
    }

    package let bytes: [UInt8]
    package let dialect: Dialect
    /// One behind the other, from the root's on. Never changed, and freed with the document.
    nonisolated(unsafe) let nodes: UnsafePointer<Node>

    /// Reads a text.
    /// - Parameters:
    ///   - depth: how far arrays and objects may be nested.
    ///   - levels: how far they are listed; one that stands in so many others is checked, and listed as empty. Its source
    ///     is there.
    package init(
        _ bytes: [UInt8], dialect: Dialect = .json, depth: Int = 512, levels: Int = .max
    ) throws(JSONError) {
        self.bytes = bytes
        self.dialect = dialect
        nodes = try JSONScanner.scan(bytes, dialect, depth: depth, levels: levels)
    }

    deinit { nodes.deallocate() }

    package convenience init(_ text: String, dialect: Dialect = .json) throws(JSONError) {
        try self.init(Array(text.utf8), dialect: dialect)
    }

    package var root: JSONValue { JSONValue(document: self, index: 0) }

    /// The member of that name of an object that is all the text; of several, the last.
    package func member(_ name: StaticString) -> JSONValue? {
        let found = find(name, in: 0)
        return found < 0 ? nil : JSONValue(document: self, index: found)
    }

    fileprivate func stringBytes(_ index: Int) -> [UInt8]? {
        let node = nodes + index
        if node.pointee.kind != .string { return nil }
        if node.pointee.isEscaped { return JSONString.decode(JSONValue(document: self, index: index).source) }
        return bytes.withUnsafeBytes { Self.plain($0, Int(node.pointee.offset), Int(node.pointee.length)) }
    }

    /// What stands between the quotes; a bare key of JSON5 has none.
    private static func plain(_ text: UnsafeRawBufferPointer, _ offset: Int, _ length: Int) -> [UInt8] {
        guard let base = text.baseAddress else { return [] }
        let first = text[offset]
        let quotes = first == 34 || first == 39 ? 1 : 0
        // Of raw memory an array is made fastest where nothing is optimised.
        return Array(UnsafeRawBufferPointer(start: base + offset + quotes, count: length - quotes * 2))
    }

    /// Where the value of a member stands, of several members of that name the last; negative where there is none.
    func find(_ name: StaticString, in object: Int) -> Int {
        if nodes[object].kind != .object { return -1 }
        return bytes.withUnsafeBufferPointer { bytes in
            guard let text = bytes.baseAddress else { return -1 }
            return Self.find(name, in: object, nodes, text)
        }
    }

    private static func find(
        _ name: StaticString, in object: Int, _ nodes: UnsafePointer<Node>, _ text: UnsafePointer<UInt8>
    ) -> Int {
        let end = Int(nodes[object].next)
        let length = UInt32(truncatingIfNeeded: name.utf8CodeUnitCount)
        var child = object + 1
        var found = -1
        while child < end {
            let value = Int(nodes[child].next)
            // With quotes or without; one with escapes may be longer.
            let own = nodes[child].length
            if own >= length, own <= length + 2 || nodes[child].isEscaped, isName(nodes + child, text, name) {
                found = value
            }
            child = Int(nodes[value].next)
        }
        return found
    }

    private static func isName(
        _ node: UnsafePointer<Node>, _ text: UnsafePointer<UInt8>, _ name: StaticString
    ) -> Bool {
        let length = name.utf8CodeUnitCount
        let start = text + Int(node.pointee.offset)
        if node.pointee.isEscaped {
            return JSONString.decode(Array(UnsafeBufferPointer(start: start, count: Int(node.pointee.length)))[...])
                .elementsEqual(UnsafeBufferPointer(start: name.utf8Start, count: length))
        }
        let quotes = start[0] == 34 || start[0] == 39 ? 1 : 0
        return Int(node.pointee.length) == length + quotes * 2 && memcmp(start + quotes, name.utf8Start, length) == 0
    }

    /// The text of an object with those members of another that have none of some names; nil where there are none.
    fileprivate func text(of index: Int, besides known: [StaticString]) -> [UInt8]? {
        guard nodes[index].kind == .object else { return nil }
        return bytes.withUnsafeBufferPointer { bytes in
            guard let text = bytes.baseAddress else { return nil }
            var out: [UInt8] = []
            let end = Int(nodes[index].next)
            var child = index + 1
            while child < end {
                let value = Int(nodes[child].next)
                if !known.contains(where: { Self.isName(nodes + child, text, $0) }) {
                    out.append(out.isEmpty ? 123 : 44)
                    out += UnsafeBufferPointer(
                        start: text + Int(nodes[child].offset), count: Int(nodes[child].length))
                    out.append(58)
                    out += UnsafeBufferPointer(
                        start: text + Int(nodes[value].offset), count: Int(nodes[value].length))
                }
                child = Int(nodes[value].next)
            }
            return out.isEmpty ? nil : out + [125]
        }
    }

    package func position(_ offset: Int) -> JSONPosition { JSONPosition(offset: offset, in: bytes) }
}

/// One value of a document.
package struct JSONValue: Sendable {
    package let document: JSONDocument
    let index: Int

    package struct Member: Sendable {
        package let key: JSONValue
        package let value: JSONValue
        /// The key as text; what is no Unicode in it becomes U+FFFD.
        package var name: String { key.string ?? "" }
    }

    var node: JSONDocument.Node { document.nodes[index] }

    package var kind: JSONDocument.Kind { document.nodes[index].kind }
    package var offset: Int { Int(document.nodes[index].offset) }
    package var position: JSONPosition { document.position(offset) }

    /// The bytes of this value as they stand in the text.
    package var source: ArraySlice<UInt8> {
        document.bytes[Int(node.offset)..<(Int(node.offset) + Int(node.length))]
    }

    /// Where it stands in the text.
    package var place: Range<Int> { Int(node.offset)..<(Int(node.offset) + Int(node.length)) }

    package var sourceText: String { String(decoding: source, as: UTF8.self) }

    /// The same value as all there is of a document, with everything that stands in it.
    package var alone: JSONValue? { (try? JSONDocument(Array(source), dialect: document.dialect))?.root }

    package var isNull: Bool { kind == .null }

    package var bool: Bool? {
        switch kind {
        case .true: true
        case .false: false
        default: nil
        }
    }

    /// The decoded bytes of a string. A lone surrogate escape becomes the three bytes that CESU-8 would have for it,
    /// so that two different texts never compare as equal.
    package var stringBytes: [UInt8]? { document.stringBytes(index) }

    package var string: String? { stringBytes.map(Self.text) }

    /// A lone surrogate becomes one U+FFFD, as it is one UTF-16 unit.
    private static func text(_ bytes: [UInt8]) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var out: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == 0xED, index + 2 < bytes.count, bytes[index + 1] >= 0xA0 {
                out += [0xEF, 0xBF, 0xBD]
                index += 3
            } else {
                out.append(bytes[index])
                index += 1
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// Whether this is a string of exactly these bytes.
    package func equals(_ text: StaticString) -> Bool {
        guard let own = stringBytes, own.count == text.utf8CodeUnitCount else { return false }
        return own.elementsEqual(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// A whole number that fits, however it is spelt: `3`, `3.0` and `3e0` are the same.
    package var int: Int? { kind == .number ? JSONNumber(source)?.int : nil }

    package var double: Double? {
        guard kind == .number, let number = JSONNumber(source) else { return nil }
        return number.double
    }

    package var elements: [JSONValue] {
        guard kind == .array else { return [] }
        var elements: [JSONValue] = []
        let end = Int(node.next)
        var child = index + 1
        while child < end {
            elements.append(JSONValue(document: document, index: child))
            child = Int(document.nodes[child].next)
        }
        return elements
    }

    package var members: [Member] {
        guard kind == .object else { return [] }
        var members: [Member] = []
        let end = Int(node.next)
        var child = index + 1
        while child < end {
            let value = Int(document.nodes[child].next)
            members.append(
                Member(
                    key: JSONValue(document: document, index: child),
                    value: JSONValue(document: document, index: value)))
            child = Int(document.nodes[value].next)
        }
        return members
    }

    /// The member of that name; of several, the last, as most readers have it.
    package subscript(_ name: StaticString) -> JSONValue? {
        let found = document.find(name, in: index)
        return found < 0 ? nil : JSONValue(document: document, index: found)
    }

    /// The member whose name has these bytes; of several, the last.
    package func member(_ name: [UInt8]) -> JSONValue? {
        members.last { $0.key.stringBytes == name }?.value
    }

    package func member(_ name: String) -> JSONValue? { member(Array(name.utf8)) }

    /// The text of an object with the members that have none of these names; nil where there are none, and for what is no
    /// object.
    package func text(besides known: [StaticString]) -> [UInt8]? { document.text(of: index, besides: known) }

    /// The first member whose name stood before in the same object.
    package var firstDuplicate: Member? {
        var seen: Set<[UInt8]> = []
        return members.first { !seen.insert($0.key.stringBytes ?? []).inserted }
    }

    /// A word for what it is, for messages.
    package var kindName: String {
        switch kind {
        case .null: "null"
        case .true, .false: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}
