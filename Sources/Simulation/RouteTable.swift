/// One route of a backend.
package struct RouteDescription: Hashable, Sendable {
    package let name: String
    package let method: String
    /// Segments between slashes; `{x}` is one segment, `{x...}` the rest of the path.
    package let pattern: String
    package let about: String
    fileprivate let methodBytes: [UInt8]
    fileprivate let segments: [Segment]

    fileprivate enum Segment: Hashable, Sendable {
        case literal([UInt8])
        case one
        case rest
    }

    package init(_ name: String, _ method: String, _ pattern: String, _ about: String) {
        self.name = name
        self.method = method
        self.pattern = pattern
        self.about = about
        methodBytes = Array(method.utf8)
        segments = pattern.utf8.dropFirst().split(separator: 47, omittingEmptySubsequences: false).map { part in
            if part.first == 123 { return part.dropLast().last == 46 ? .rest : .one }
            return .literal(Array(part))
        }
    }
}

/// What a path and method come to.
package enum RouteMatch: Sendable {
    /// A route, with the raw segments that its placeholders took.
    case route(Int, [ArraySlice<UInt8>])
    /// A known path under another method; the methods it has.
    case wrongMethod([String])
    /// A path of this backend's that leads nowhere.
    case unknown
}

/// The routes of a backend. Paths compare segment by segment on their raw bytes: `%2F` is never a slash.
package struct RouteTable: Sendable {
    package let routes: [RouteDescription]

    package init(_ routes: [RouteDescription]) { self.routes = routes }

    /// The route, or nil where the path leads nowhere.
    package func match(method: ArraySlice<UInt8>, path: ArraySlice<UInt8>) -> RouteMatch? {
        var allowed: [String] = []
        var index = 0
        while index < routes.count {
            if let taken = Self.take(routes[index].segments, path) {
                if routes[index].methodBytes.elementsEqual(method) { return .route(index, taken) }
                if !allowed.contains(routes[index].method) { allowed.append(routes[index].method) }
            }
            index += 1
        }
        return allowed.isEmpty ? nil : .wrongMethod(allowed)
    }

    private static func take(_ segments: [RouteDescription.Segment], _ path: ArraySlice<UInt8>) -> [ArraySlice<UInt8>]?
    {
        var taken: [ArraySlice<UInt8>] = []
        var position = path.startIndex
        let end = path.endIndex
        for segment in segments {
            guard position < end, path[position] == 47 else { return nil }
            position += 1
            if case .rest = segment {
                taken.append(path[position..<end])
                return taken
            }
            var stop = position
            if case .literal(let text) = segment {
                guard end - position >= text.count else { return nil }
                var offset = 0
                while offset < text.count {
                    if path[position + offset] != text[offset] { return nil }
                    offset += 1
                }
                stop = position + text.count
                guard stop == end || path[stop] == 47 else { return nil }
            } else {
                while stop < end, path[stop] != 47 { stop += 1 }
                taken.append(path[position..<stop])
            }
            position = stop
        }
        return position == end ? taken : nil
    }
}
