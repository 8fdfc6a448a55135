import PushSim
import PushSimFaults
import PushSimSimulation
import Testing

private func mistakes(_ text: String) -> [String] {
    do throws(ProfileError) {
        _ = try ProfileReader.read(Array(text.utf8), Vocabulary(Service.allBackends))
        return []
    } catch {
        return error.mistakes.map(\.description)
    }
}

@Suite("Reading profiles (faults.md)")
struct ProfileTests {
    @Test("Tells every mistake with its line, column, rule and a suggestion")
    func tellsAll() {
        let found = mistakes(
            """
            { rules: [
              { id: "a", on: { rout: "subscribe" }, then: { connection: "reste" } },
              { id: "b", when: { calls: "0" }, then: { status: 99 } },
            ] }
            """)
        #expect(found.count == 4)
        #expect(found[0].hasPrefix("2:20: rule \"a\": unknown key \"rout\" in \"on\". Did you mean \"route\"?"))
        #expect(found[1].hasPrefix("2:61: rule \"a\": unknown fault \"reste\". Did you mean \"reset\"?"))
        #expect(found[2].hasPrefix("3:29: rule \"b\": \"0\" names no calls"))
        #expect(found[3] == "3:52: rule \"b\": \"status\" must be a number from 200 to 599, not 99")
    }

    @Test(
        "What can never happen, and what says nothing, is a mistake that says what to write",
        arguments: [
            ("on: { side: 'delivery', backend: 'ntm' }, then: { record: 'K01' }", "only Web Push has records"),
            ("on: { side: 'delivery', transport: 'apns' }, then: { record: 'K01' }", "only Web Push has records"),
            ("on: { side: 'delivery', kind: 'clear' }, then: { ring: 'dead' }", "only Fluxer's rings"),
            ("on: { backend: 'ntm' }, then: { discovery: { x: 1 } }", "is Fluxer's"),
            ("on: { route: 'registerSubscriber' }, then: { lose: 'registration' }", "Known: subscriber, subscription"),
            ("on: { backend: 'push' }, then: { token: 'expire' }", "there is no token fault here"),
            ("on: { method: 'get' }, then: { status: 500 }", "write \"GET\""),
            ("then: { connection: 'refuse' }", "connection: { refuse: \"5s\" }"),
            ("then: { mutate: 'contentType' }", "mutate: { contentType:"),
            ("then: { drop: true }", "side: \"delivery\""),
            ("on: { side: 'delivery' }, then: { status: 500 }", "leave out side"),
            ("on: { side: 'delivery' }, then: { drop: false }", "takes true"),
            ("on: { side: 'delivery' }, then: { payload: {} }", "says nothing"),
            ("on: { side: 'delivery' }, then: { headers: 'H02' }", "H02.aesgcm, H02.gzip, H02.identity"),
            ("on: { side: 'delivery' }, then: { record: 'R01' }", "write duplicate: 2"),
            ("then: { delay: { uniform: ['100ms'] } }", "not ['100ms']"),
        ])
    func unreachable(_ rule: String, _ told: String) {
        let found = mistakes("{ rules: [ { \(rule) } ] }")
        #expect(found.count == 1 && found[0].contains(told), "\(found)")
    }

    @Test("A text between slashes is an expression where it has one's signs, else a path that ends with a slash")
    func expressions() throws {
        for text in ["/.*subscriber.*/", "/^\\/v1/", "/v1.+/", "/sub(s)?criber/"] {
            #expect(try PathPattern(text).regex != nil, "\(text)")
        }
        for text in ["/v1/subscriber/", "/v1.1/login/", "/v1/*/", "/a/**/"] {
            #expect(try PathPattern(text).regex == nil, "\(text)")
        }
    }

    @Test(
        "Reads all the forms of calls",
        arguments: [
            ("3", [3]), ("1-3", [1, 2, 3]), ("8-", [8, 9, 10]), ("every 3", [3, 6, 9]), ("every 3 from 2", [2, 5, 8]),
            ("1,4,9", [1, 4, 9]),
        ])
    func calls(_ text: String, _ expected: [Int]) throws {
        let pattern = try #require(CallPattern(text))
        #expect((1...10).filter(pattern.contains) == expected)
    }

    @Test("Ships profiles that are good", arguments: ShippedProfiles.names)
    func shipped(_ name: String) throws {
        let bytes = try #require(ShippedProfiles.text(name))
        let profile = try ProfileReader.read(bytes, Vocabulary(Service.allBackends))
        #expect(profile.name == name)
        #expect(profile.about?.isEmpty == false)
    }
}
