package import PushSimWire

/// Where a call goes: to a route of a backend, to a backend's paths that lead nowhere, or to nobody.
package final class Place: Sendable {
    /// Counted over all backends; 0 is nobody's.
    package let number: Int
    package let backendNumber: Int
    package let backend: (any Backend)?
    package let route: String?

    fileprivate init(_ number: Int, _ backendNumber: Int, _ backend: (any Backend)?, _ route: String?) {
        self.number = number
        self.backendNumber = backendNumber
        self.backend = backend
        self.route = route
    }

    package static let none = Place(0, -1, nil, nil)
}

/// The places of all backends of a server.
package struct PlaceTable: Sendable {
    package let backends: [any Backend]
    /// Of each backend: its routes, then the place for what is none of them.
    private let places: [[Place]]
    package let count: Int

    package init(_ backends: [any Backend]) {
        self.backends = backends
        var number = 0
        var places: [[Place]] = []
        for (index, backend) in backends.enumerated() {
            let names = backend.table.routes.map { Optional($0.name) } + [nil]
            places.append(
                names.map { name in
                    number += 1
                    return Place(number, index, backend, name)
                })
        }
        self.places = places
        count = number + 1
    }

    /// The first backend that owns the path.
    package func find(_ head: RequestHead, _ path: RequestHead.Span) -> (place: Place, match: RouteMatch?) {
        var index = 0
        while index < backends.count {
            if let match = backends[index].match(head, path) {
                let own = places[index]
                if case .route(let route, _) = match { return (own[route], match) }
                return (own[own.count - 1], match)
            }
            index += 1
        }
        return (.none, nil)
    }
}
