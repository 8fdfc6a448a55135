import PushSim

/// The help screens.
enum Help {
    struct Verb {
        let name: String
        let usage: String
        let about: String
        let flags: [Arguments.Flag]
        let example: String
    }

    static let verbs = [
        Verb(
            name: "serve", usage: "serve [flags]", about: "Start the fake backends on one port.",
            flags: [
                .init(name: "host", value: "ADDRESS", about: "where to listen (127.0.0.1)"),
                .init(name: "port", value: "N", about: "the port; 0 takes a free one (8025)"),
                .init(name: "profile", value: "FILE", about: "a fault profile, or the name of a shipped one"),
                .init(name: "config", value: "FILE", about: "a configuration file (JSON5)"),
                .init(name: "option", value: "NAME=VALUE", about: "a named option; may be given several times"),
                .init(name: "seed", value: "N", about: "what all chance is drawn from (1)"),
                .init(name: "clock", value: "real|frozen|TIME", about: "the clock of the fake world (real)"),
                .init(name: "backend", value: "NAME", about: "only this backend; may be given several times"),
                .init(name: "state", value: "FILE", about: "state to begin with, as GET /__pushsim/state gave it"),
                .init(name: "loops", value: "N", about: "event loops (1)"),
                .init(name: "report", value: "FILE", about: "write what happened there when it stops"),
                .init(name: "ready-file", value: "PATH", about: "holds the URL once requests are answered"),
                .init(name: "control-token", value: "TOKEN", about: "what the control API asks for beyond loopback"),
                .init(name: "quiet", value: nil, about: "no line per call"),
            ], example: "pushsim serve --port 0 --profile flaky-registration"),
        Verb(
            name: "push", usage: "push ntm --topic TOPIC | fluxer --channel ID | sunbird --payload JSON [flags]",
            about: "Send a push through a running server.",
            flags: [
                .init(name: "url", value: "URL", about: "the server (http://127.0.0.1:8025)"),
                .init(
                    name: "type", value: "TYPE", about: "ntm: notify, cancel, chat; fluxer: notification, clear, ring"),
                .init(name: "topic", value: "TOPIC", about: "ntm, sunbird: whose subscribers get it"),
                .init(name: "userdata", value: "JSON", about: "ntm: instead of the usual userdata"),
                .init(name: "channel", value: "ID", about: "fluxer: the channel"),
                .init(name: "account", value: "ID", about: "fluxer: an account or session; all without it"),
                .init(name: "message", value: "ID", about: "fluxer: the message; a ring needs it"),
                .init(name: "guild", value: "ID", about: "fluxer: the guild; without it a direct message"),
                .init(name: "title", value: "TEXT", about: "fluxer: a notification's title"),
                .init(name: "body", value: "TEXT", about: "fluxer: a notification's text"),
                .init(name: "icon", value: "URL", about: "fluxer: a notification's icon"),
                .init(name: "image", value: "URL", about: "fluxer: a notification's image"),
                .init(name: "thread", value: nil, about: "fluxer: a thread's new post, for those who know threads"),
                .init(name: "badge-count", value: "N", about: "fluxer: a clear's count"),
                .init(name: "caller", value: "ID", about: "fluxer: a ring's caller"),
                .init(name: "caller-name", value: "TEXT", about: "fluxer: a ring's caller, by name"),
                .init(name: "caller-avatar", value: "URL", about: "fluxer: a ring's caller, as a picture"),
                .init(name: "started-at", value: "MS", about: "fluxer: when the ring began, since 1970"),
                .init(name: "payload", value: "JSON", about: "sunbird: the notification"),
                .init(name: "repeat", value: "WHEN", about: "sunbird: 15m, or cron's five fields"),
                .init(
                    name: "time-zone", value: "ZONE",
                    about: "sunbird: of the five fields, such as Asia/Kolkata or +05:30 (UTC)"),
                .init(name: "apns-out", value: "FILE", about: "write the .apns file for simctl there"),
                .init(name: "bundle", value: "ID", about: "the bundle in it (com.example.app)"),
                .init(name: "pushkit-out", value: "FILE", about: "write the bare dictionary there"),
                .init(name: "control-token", value: "TOKEN", about: "what the server's control API asks for"),
                .init(name: "json", value: nil, about: "print the server's answer"),
            ], example: "pushsim push fluxer --channel 42 --title Hi --body there"),
        Verb(
            name: "verify", usage: "verify MATCHER [flags]",
            about: "Ask a running server whether the calls so far are as wanted.",
            flags: [
                .init(name: "url", value: "URL", about: "the server (http://127.0.0.1:8025)"),
                .init(name: "exactly", value: "N", about: "so many calls"),
                .init(name: "at-least", value: "N", about: "so many or more (1)"),
                .init(name: "at-most", value: "N", about: "so many or fewer"),
                .init(name: "within", value: "TIME", about: "wait so long, in real time, such as 2s"),
                .init(name: "control-token", value: "TOKEN", about: "what the server's control API asks for"),
                .init(name: "json", value: nil, about: "print the server's answer"),
            ], example: "pushsim verify '{ method: \"POST\", path: \"/v1/subscriber\" }' --exactly 1"),
        Verb(
            name: "replay", usage: "replay FILE… [flags]",
            about: "Serve recordings, or shipped ones by name; what was not recorded is 501.",
            flags: [
                .init(name: "host", value: "ADDRESS", about: "where to listen (127.0.0.1)"),
                .init(name: "port", value: "N", about: "the port; 0 takes a free one (8025)"),
                .init(name: "order", value: "identity|strict", about: "identical requests in turn, or all (identity)"),
                .init(
                    name: "timing", value: "none|recorded|xN", about: "as slow as recorded, or N times as fast (none)"),
                .init(name: "shift-dates", value: nil, about: "move dates by the age of the recording"),
                .init(name: "repeat-last", value: nil, about: "the last recording serves for more requests"),
                .init(name: "complete", value: nil, about: "exit 1 where a recording was not asked for"),
                .init(name: "secret", value: "NAME=VALUE", about: "what a placeholder stands for in answers"),
                .init(name: "profile", value: "FILE", about: "a fault profile on top of the replay"),
                .init(name: "clock", value: "real|frozen|TIME", about: "the clock of the fake world (real)"),
                .init(name: "ready-file", value: "PATH", about: "holds the URL once requests are answered"),
                .init(name: "control-token", value: "TOKEN", about: "what the control API asks for beyond loopback"),
                .init(name: "quiet", value: nil, about: "no line per call"),
            ], example: "pushsim replay recordings/login.har --port 0"),
        Verb(
            name: "record", usage: "record --upstream URL --out FILE [flags]",
            about: "Stand between a client and its real server, and write what they say to a cassette.",
            flags: [
                .init(name: "upstream", value: "URL", about: "the real server, such as https://ntm.example.com"),
                .init(name: "out", value: "FILE", about: "the cassette; replaced as a whole when the recorder stops"),
                .init(name: "host", value: "ADDRESS", about: "where to listen (127.0.0.1)"),
                .init(name: "port", value: "N", about: "where clients are answered; 0 takes a free one (8025)"),
                .init(
                    name: "redact", value: "RULE",
                    about: "header:NAME, query:NAME, form:NAME, json:PATH or regex:PATTERN is a secret too"),
                .init(name: "redact-routing-ids", value: nil, about: "routing ids are secrets too"),
                .init(name: "push-upstream", value: "URL", about: "where /push/ goes on to, recorded as deliveries"),
                .init(name: "push-origin", value: "URL", about: "what the cassette calls the push upstream"),
                .init(name: "private-key", value: "KEY", about: "the device's key, to keep what deliveries say"),
                .init(name: "auth-secret", value: "SECRET", about: "the device's auth secret, with --private-key"),
                .init(name: "origin", value: "URL", about: "what the cassette calls the upstream (as it is)"),
                .init(name: "keep-order", value: nil, about: "entries as their requests began, for a strict replay"),
                .init(name: "timings", value: nil, about: "keep when things were, and dates as they came"),
                .init(name: "ca", value: "FILE", about: "certificates to trust instead of the system's"),
                .init(name: "timeout", value: "TIME", about: "how long an answer may take (60s)"),
                .init(name: "verify-live", value: "FILE", about: "ask what a cassette asks, and say what has drifted"),
                .init(name: "secret", value: "NAME=VALUE", about: "verify-live: what a placeholder stands for"),
                .init(name: "ready-file", value: "PATH", about: "holds the URL once requests are answered"),
            ], example: "pushsim record --upstream https://ntm.example.com --out recordings/login.har"),
        Verb(
            name: "cassette",
            usage: "cassette show FILE… | check FILE… | diff A B | redact FILE | import FILE | export FILE",
            about: "Show, check and convert recordings.",
            flags: [
                .init(name: "out", value: "FILE", about: "redact, import, export: where to write"),
                .init(name: "fix", value: nil, about: "check: mend what can be mended without you"),
                .init(name: "timings", value: nil, about: "import: keep when things were"),
                .init(name: "redact", value: "RULE", about: "what is a secret too, as for record"),
                .init(name: "redact-routing-ids", value: nil, about: "routing ids are secrets too"),
            ], example: "pushsim cassette import proxyman.har --out recordings/login.har"),
        Verb(
            name: "routes", usage: "routes [--json]", about: "List every route with the name profiles use.",
            flags: [.init(name: "json", value: nil, about: "as JSON")], example: "pushsim routes"),
        Verb(
            name: "faults", usage: "faults [--json]",
            about: "List every broken record, and what a correct client does with it.",
            flags: [.init(name: "json", value: nil, about: "as JSON")], example: "pushsim faults"),
        Verb(
            name: "profile", usage: "profile check FILE… | explain FILE | list",
            about: "Check fault profiles, or say what they will do.",
            flags: [
                .init(name: "calls", value: "N", about: "explain: how many calls (20)"),
                .init(name: "key", value: "KEY", about: "explain: the token, account … that calls are counted by"),
                .init(name: "journal", value: "FILE", about: "explain: account for each decision of a saved journal"),
                .init(name: "scope", value: "NAME", about: "explain: the scope's seed name (default)"),
                .init(name: "seed", value: "N", about: "explain: instead of the profile's own seed"),
                .init(name: "json", value: nil, about: "as JSON"),
            ], example: "pushsim profile explain flaky-registration --calls 5"),
        Verb(name: "version", usage: "version", about: "Print the version.", flags: [], example: "pushsim version"),
        Verb(
            name: "help", usage: "help [VERB]", about: "Print this, or the help of one verb.", flags: [],
            example: "pushsim help serve"),
    ]

    static var overview: String {
        var lines = ["pushsim \(Version.text): a fake notification backend.", "", "Usage: pushsim VERB [flags]", ""]
        for verb in verbs { lines.append("  " + pad(verb.name, 10) + verb.about) }
        lines += ["", "See 'pushsim VERB --help' for the flags of one.", ""]
        return lines.joined(separator: "\n")
    }

    static func screen(_ verb: Verb) -> String {
        var lines = [verb.about, "", "Usage: pushsim \(verb.usage)"]
        if !verb.flags.isEmpty { lines.append("") }
        for flag in verb.flags {
            lines.append("  " + pad("--\(flag.name)" + (flag.value.map { " \($0)" } ?? ""), 26) + flag.about)
        }
        lines += ["", "Example: \(verb.example)", ""]
        return lines.joined(separator: "\n")
    }

    static func pad(_ text: String, _ width: Int) -> String {
        text.count < width ? text + String(repeating: " ", count: width - text.count) : text + " "
    }
}
