import PushSimSimulation
import PushSimWire

/// The options of the server itself (contract options.md).
enum ServerOptions {
    static let table = [
        OptionDescription(
            "delivery.network", .choice(["deny", "allow"]), default: "deny",
            "Whether deliveries may leave this machine."),
        OptionDescription("journal.bytes", .size, default: "8MiB", "How much the journal keeps; 0 switches it off."),
        OptionDescription("server.bodyLimit", .size, default: "16MiB", "The largest request body; more is 413."),
        OptionDescription("server.headLimit", .size, default: "64KiB", "The largest request head; more is 431."),
        OptionDescription(
            "server.idle", .duration, default: "75s", "How long a connection may be silent between requests."),
        OptionDescription(
            "server.requestTime", .duration, default: "30s", "How long a request may take to arrive; longer is 408."),
    ]

    /// - Parameter carrier: what would take deliveries out.
    /// - Returns: why these options cannot be had, or nil.
    static func problem(_ values: OptionValues, _ carrier: (any DeliveryCarrier)?) -> String? {
        guard values["delivery.network"] == "allow", carrier == nil else { return nil }
        return "delivery.network=allow: nothing here takes deliveries out. `pushsim serve` does, and in a test "
            + "allowNetworkDeliveries() of PushSimRecorder."
    }

    static func limits(_ values: OptionValues) -> ServerLimits {
        var limits = ServerLimits()
        limits.body = OptionValues.size(values["server.bodyLimit"]) ?? limits.body
        limits.head = OptionValues.size(values["server.headLimit"]) ?? limits.head
        limits.idle = TimeText.duration(values["server.idle"]) ?? limits.idle
        limits.requestTime = TimeText.duration(values["server.requestTime"]) ?? limits.requestTime
        return limits
    }
}
