package import PushSimWire

/// Where a call goes: to a route of a backend, to a backend's paths that lead nowhere, or to nobody.
package final class Place: Sendable {
    /// Counted over all backends; 0 is nobody's.
    package let number: Int
    package let backendNumber: Int
    package let backend: (any Backend)?
    package let route: String?
    /// Of a route.
    package let method: [UInt8]?

    fileprivate init(
        _ number: Int, _ backendNumber: Int, _ backend: (any Backend)?, _ route: String?, _ method: [UInt8]?
    ) {
        self.number = number
        self.backendNumber = backendNumber
        self.backend = backend
        self.route = route
        self.method = method
    }

    package static let none = Place(0, -1, nil, nil, nil)
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
            let routes = backend.table.routes.map { Optional($0) } + [nil]
            places.append(
                routes.map { route in
                    number += 1
                    return Place(number, index, backend, route?.name, route.map { Array($0.method.utf8) })
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
