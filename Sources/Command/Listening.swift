import Dispatch
import PushSimWire
import Synchronization

/// How verbs open their listeners.
enum Listening {
    /// Takes the port; nobody is answered yet.
    static func start(
        _ host: String, _ port: Int, _ loops: [EventLoop], _ handler: any RequestHandler
    ) throws(Finding) -> Listener {
        do throws(SystemError) {
            return try Listener(host: host, port: port, loops: loops, handler: handler)
        } catch {
            throw Finding(message: "\(error). Name another place with --host and --port; --port 0 takes a free one.")
        }
    }

    /// Answers from now on.
    static func open(_ listener: Listener) throws(Finding) {
        let failure = Mutex<SystemError?>(nil)
        let opened = DispatchSemaphore(value: 0)
        listener.open { error in
            failure.withLock { $0 = error }
            opened.signal()
        }
        opened.wait()
        if let failure = failure.withLock({ $0 }) { throw Finding(message: failure.description) }
    }
}
