/// A JSON value that code makes: small, ordered, with numbers as they are to be written.
public indirect enum JSON: Hashable, Sendable {
    case null
    case bool(Bool)
    /// The number's spelling.
    case number(String)
    case string(String)
    case array([JSON])
    case object([Member])

    /// One member of an object.
    public struct Member: Hashable, Sendable {
        /// The member's name.
        public var name: String
        /// The member's value.
        public var value: JSON

        /// Makes a member.
        public init(_ name: String, _ value: JSON) {
            self.name = name
            self.value = value
        }
    }

    package init(_ value: JSONValue) {
        switch value.kind {
        case .null: self = .null
        case .true: self = .bool(true)
        case .false: self = .bool(false)
        case .number: self = .number(value.sourceText)
        case .string: self = .string(value.string ?? "")
        case .array: self = .array(value.elements.map { JSON($0) })
        case .object: self = .object(value.members.map { Member($0.name, JSON($0.value)) })
        }
    }

    package static func int(_ value: some BinaryInteger) -> JSON { .number(String(value)) }

    package static func text(_ bytes: [UInt8]) -> JSON { .string(String(decoding: bytes, as: UTF8.self)) }

    /// The member of that name, compared as bytes; of several, the last.
    public subscript(_ name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }

    /// The element at `index`, or nil where there is none.
    public subscript(_ index: Int) -> JSON? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    /// The text of a string.
    public var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The value of a whole number that fits.
    public var int: Int? {
        guard case .number(let text) = self else { return nil }
        return JSONNumber(Array(text.utf8)[...])?.int
    }

    /// The value of a boolean.
    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The elements of an array.
    public var elements: [JSON]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// The members of an object, in order.
    public var members: [Member]? {
        if case .object(let members) = self { members } else { nil }
    }

    /// Sets a member: in its place where there is one of that name, else at the end.
    package mutating func set(_ name: String, _ value: JSON) {
        guard case .object(var members) = self else { return }
        if let index = members.lastIndex(where: { $0.name.utf8.elementsEqual(name.utf8) }) {
            members[index].value = value
        } else {
            members.append(Member(name, value))
        }
        self = .object(members)
    }

    /// Sets what stands at a path, making objects on the way; of what is no object or array nothing is changed.
    package mutating func set(_ path: ArraySlice<JSONPath.Step>, _ value: JSON) {
        guard let step = path.first else {
            self = value
            return
        }
        switch (step, self) {
        case (.member(let name), .object):
            var inner = self[name] ?? .object([])
            inner.set(path.dropFirst(), value)
            set(name, inner)
        case (.element(let index), .array(var elements)) where elements.indices.contains(index):
            elements[index].set(path.dropFirst(), value)
            self = .array(elements)
        default: return
        }
    }

    /// Takes away what stands at a path.
    package mutating func remove(_ path: ArraySlice<JSONPath.Step>) {
        guard let step = path.first else { return }
        switch (step, self) {
        case (.member(let name), .object(var members)):
            guard let index = members.lastIndex(where: { $0.name.utf8.elementsEqual(name.utf8) }) else { return }
            if path.count == 1 {
                members.remove(at: index)
            } else {
                members[index].value.remove(path.dropFirst())
            }
            self = .object(members)
        case (.element(let index), .array(var elements)) where elements.indices.contains(index):
            if path.count == 1 { elements.remove(at: index) } else { elements[index].remove(path.dropFirst()) }
            self = .array(elements)
        default: return
        }
    }

    /// The compact text.
    package var bytes: [UInt8] {
        var writer = JSONWriter()
        writer.write(self)
        return writer.bytes
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// A whole number.
    public init(integerLiteral value: Int) { self = .number(String(value)) }
    /// A boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Null.
    public init(nilLiteral: ()) { self = .null }
    /// An array.
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    /// An object, its members in the order written.
    public init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(elements.map { Member($0.0, $0.1) })
    }
}

extension JSON: CustomStringConvertible {
    /// The compact text.
    public var description: String { String(decoding: bytes, as: UTF8.self) }
}
