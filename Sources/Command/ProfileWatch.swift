import CPushSimSystem
import Dispatch
import PushSim
import PushSimFaults
import PushSimWire

/// Loads the profile's file again when it is saved. A broken save keeps the running profile and says why.
///
/// `@unchecked Sendable`: what changes is touched only on its queue.
final class ProfileWatch: @unchecked Sendable {
    private let path: String
    private let service: Service
    private let queue = DispatchQueue(label: "pushsim.profile")
    private let timer: any DispatchSourceTimer
    private var seen: [UInt8]

    /// Nil for a shipped profile, which is no file.
    init?(_ path: String, _ service: Service) {
        guard ShippedProfiles.text(path) == nil, let bytes = try? Files.read(path) else { return nil }
        self.path = path
        self.service = service
        seen = bytes
        timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now() + .milliseconds(200), repeating: .milliseconds(200))
        timer.setEventHandler { [weak self] in self?.look() }
        timer.resume()
    }

    func stop() { timer.cancel() }

    private func look() {
        // A file that is being replaced may be away for a moment.
        guard let bytes = try? Files.read(path), bytes != seen else { return }
        seen = bytes
        do throws(Finding) {
            let profile = try ProfileVerb.load(path)
            service.setProfile(profile)
            Files.error("profile \(profile.name): loaded again, \(profile.rules.count) rules\n")
        } catch {
            Files.error("profile: the running one stays: \(error.message)\n")
        }
    }
}
