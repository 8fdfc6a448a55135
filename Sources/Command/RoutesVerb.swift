import PushSim
import PushSimJSONText
import PushSimSimulation

/// `pushsim routes`.
enum RoutesVerb {
    static func run(_ arguments: Arguments) throws(UsageError) {
        if let stray = arguments.rest.first {
            throw UsageError(message: "routes takes no \"\(stray)\".", verb: "routes")
        }
        var rows: [JSON] = []
        for backend in Service.allBackends {
            for route in backend.table.routes {
                rows.append([
                    "backend": .string(backend.name), "route": .string(route.name), "method": .string(route.method),
                    "path": .string(route.pattern), "about": .string(route.about),
                ])
                if arguments.has("json") { continue }
                Files.out(
                    Help.pad(backend.name, 8) + Help.pad(route.name, 22) + Help.pad(route.method, 8) + route.pattern
                        + "\n")
            }
        }
        if arguments.has("json") { Files.out(JSON.array(rows).description + "\n") }
    }
}
