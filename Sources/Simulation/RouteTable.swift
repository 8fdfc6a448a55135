package import PushSimWire

/// One route of a backend.
package struct RouteDescription: Hashable, Sendable {
    package let name: String
    package let method: String
    /// Segments between slashes; `{x}` is one segment, `{x...}` the rest of the path.
    package let pattern: String
    package let about: String

    package init(_ name: String, _ method: String, _ pattern: String, _ about: String) {
        self.name = name
        self.method = method
        self.pattern = pattern
        self.about = about
    }
}

/// What requests are compared with. A class, since a table is gone through at every call.
private final class RouteForm: Sendable {
    let method: [UInt8]
    /// The path up to its first placeholder.
    let prefix: [UInt8]
    /// What follows the prefix, segment by segment.
    let rest: [Segment]

    enum Segment: Hashable, Sendable {
        case literal([UInt8])
        case one
        case rest
    }

    init(_ route: RouteDescription) {
        method = Array(route.method.utf8)
        let bytes = Array(route.pattern.utf8)
        let start = bytes.firstIndex(of: 123) ?? bytes.count
        prefix = Array(bytes[..<start])
        rest =
            start == bytes.count
            ? []
            : bytes[start...].split(separator: 47, omittingEmptySubsequences: false).map { part in
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
    private let forms: [RouteForm]

    package init(_ routes: [RouteDescription]) {
        self.routes = routes
        forms = routes.map(RouteForm.init)
    }

    /// The route, or nil where the path leads nowhere.
    package func match(_ head: RequestHead, _ path: RequestHead.Span) -> RouteMatch? {
        Self.readsAsGet(match(head.bytes, head.method, head.bytes, path), head.slice(head.method)) { method in
            match(method, .init(0, method.count), head.bytes, path)
        }
    }

    /// The same for a path that is not as it came.
    package func match(method: [UInt8], path: [UInt8]) -> RouteMatch? {
        let own = match(method, .init(0, method.count), path, .init(0, path.count))
        return Self.readsAsGet(own, method) { match($0, .init(0, $0.count), path, .init(0, path.count)) }
    }

    /// A HEAD takes the route of GET (RFC 9110 section 9.3.2); the server leaves the body out.
    private static func readsAsGet(
        _ own: RouteMatch?, _ method: @autoclosure () -> [UInt8], _ again: ([UInt8]) -> RouteMatch?
    ) -> RouteMatch? {
        guard case .wrongMethod(let allowed) = own, allowed.contains("GET"), method() == head else { return own }
        return again(get)
    }

    private static let head = Array("HEAD".utf8)
    private static let get = Array("GET".utf8)

    private func match(
        _ methodBytes: [UInt8], _ method: RequestHead.Span, _ bytes: [UInt8], _ path: RequestHead.Span
    ) -> RouteMatch? {
        var allowed: [String] = []
        var index = 0
        while index < forms.count {
            let form = forms[index]
            if let taken = Self.take(form, bytes, path) {
                if Self.holds(form.method, methodBytes, method) { return .route(index, taken) }
                if !allowed.contains(routes[index].method) { allowed.append(routes[index].method) }
            }
            index += 1
        }
        if allowed.contains("GET") { allowed.append("HEAD") }
        return allowed.isEmpty ? nil : .wrongMethod(allowed)
    }

    /// Whether these very bytes stand there.
    private static func holds(
        _ text: borrowing [UInt8], _ bytes: borrowing [UInt8], _ span: RequestHead.Span
    ) -> Bool {
        if span.count != text.count { return false }
        return begins(text, bytes, span)
    }

    private static func begins(
        _ text: borrowing [UInt8], _ bytes: borrowing [UInt8], _ span: RequestHead.Span
    ) -> Bool {
        if span.count < text.count { return false }
        return bytes.holds(text, at: Int(span.start))
    }

    private static func take(
        _ route: RouteForm, _ bytes: [UInt8], _ path: RequestHead.Span
    ) -> [ArraySlice<UInt8>]? {
        guard begins(route.prefix, bytes, path) else { return nil }
        if route.rest.count == 0 { return path.count == route.prefix.count ? [] : nil }
        let end = Int(path.end)
        var taken: [ArraySlice<UInt8>] = []
        var position = Int(path.start) + route.prefix.count
        for (number, segment) in route.rest.enumerated() {
            if number > 0 {
                guard position < end, bytes[position] == Byte.slash else { return nil }
                position += 1
            }
            if case .rest = segment {
                taken.append(bytes[position..<end])
                return taken
            }
            var stop = position
            while stop < end, bytes[stop] != Byte.slash { stop += 1 }
            // What is empty is no id: the path is another.
            if stop == position { return nil }
            if case .literal(let text) = segment {
                guard bytes[position..<stop].elementsEqual(text) else { return nil }
            } else {
                taken.append(bytes[position..<stop])
            }
            position = stop
        }
        return position == end ? taken : nil
    }
}
