import PushSimSimulation
import PushSimWebPush
import PushSimWire

/// The options of the contract, read.
struct FluxerOptions: Sendable {
    var strictTokens = false
    var strictAccounts = false
    var checksKeys = false
    var allowsPrivate = false
    var strictPorts = false
    var errorCodeOnTop = false
    var limits = true
    var globalBucket = false
    var honoursRetryAfter = false
    var recordSize = Record.Size.octets(4096)
    var padding = Record.Padding.to(2816)
    var allowsNetwork = false

    init() {}

    init(_ values: OptionValues) {
        strictTokens = values["fluxer.tokens"] == "strict"
        strictAccounts = values["fluxer.accounts"] == "strict"
        checksKeys = values["fluxer.keys"] == "checked"
        allowsPrivate = values["fluxer.privateEndpoints"] == "allow"
        strictPorts = values["fluxer.endpointPorts"] == "strict"
        errorCodeOnTop = values["fluxer.routableErrorCode"] == "top"
        limits = values["fluxer.rateLimits"] == "on"
        globalBucket = values["fluxer.globalBucket"] == "on"
        honoursRetryAfter = values["fluxer.retryAfter"] == "honoured"
        allowsNetwork = values["delivery.network"] == "allow"
        switch values["fluxer.recordSize"] {
        case "exact": recordSize = .exact
        case "tight": recordSize = .tight
        case let number: recordSize = .octets(UInt32(clamping: decimalDigits(number.utf8) ?? 4096))
        }
        let padding = values["fluxer.padding"]
        self.padding = decimalDigits(padding.utf8).map { .to(min($0, 1 << 16)) } ?? .none
    }

    static let table = [
        OptionDescription(
            "fluxer.tokens", .choice(["any", "strict"]), default: "any",
            "Whether a bare bearer that is no flx_ token counts as a session token."),
        OptionDescription(
            "fluxer.accounts", .choice(["automatic", "strict"]), default: "automatic",
            "Whether a session token not seen before makes an account."),
        OptionDescription(
            "fluxer.keys", .choice(["unchecked", "checked"]), default: "unchecked",
            "Whether keys are read, strictly, at registration; unchecked ones are read leniently at delivery."),
        OptionDescription(
            "fluxer.privateEndpoints", .choice(["refuse", "allow"]), default: "refuse",
            "Whether endpoints may be local: private addresses, localhost and plain http."),
        OptionDescription(
            "fluxer.endpointPorts", .choice(["any", "strict"]), default: "any",
            "Whether endpoints on other ports than 443 and 80 are never delivered to."),
        OptionDescription(
            "fluxer.routableErrorCode", .choice(["element", "top"]), default: "element",
            "Where URL_NOT_PUBLICLY_ROUTABLE stands in the error."),
        OptionDescription("fluxer.rateLimits", .choice(["on", "off"]), default: "on", "Whether calls are limited."),
        OptionDescription(
            "fluxer.globalBucket", .choice(["off", "on"]), default: "off",
            "Whether all calls of an account share 50 a second."),
        OptionDescription(
            "fluxer.retryAfter", .choice(["ignored", "honoured"]), default: "ignored",
            "Whether retries of deliveries wait as long as a push service asks."),
        OptionDescription(
            "fluxer.recordSize", .choiceOrNumber(["4096", "exact", "tight"], 18, 4_294_967_295), default: "4096",
            "The record size in a record's header: a number, the ciphertext's length, or one more."),
        OptionDescription(
            "fluxer.padding", .choiceOrNumber(["2816", "none"], 103, 65_536), default: "2816",
            "To how many octets bodies are padded."),
    ]
}
