import PushSimFaults
import PushSimJSONText
import PushSimSimulation
import PushSimWire

// What a call is answered with: by a fault, a player or a backend.
extension Service {
    /// Lets the fault or the backend answer, and notes the answer in the journal.
    /// - Parameter closes: whether the connection cannot go on after it.
    func answer(_ entry: JournalEntry, _ world: inout World, closes: Bool = false) -> WireScript {
        guard let actions = entry.decision?.actions else {
            var answer = backendAnswer(entry.call, &world, isExact: true)
            if let script = answer.script { return underway(recorded(script, answer, entry), &world) }
            return WireScript(write(&answer, entry, &world, closes))
        }
        return underway(scripted(actions, entry, &world, closes), &world)
    }

    private func scripted(
        _ actions: Actions, _ entry: JournalEntry, _ world: inout World, _ closes: Bool
    ) -> WireScript {
        let call = entry.call
        let state = state(call, world)
        world.ledger.isPaused = actions.lose != nil || actions.token != nil
        defer { world.ledger.isPaused = false }
        let isLostAfter = actions.lose.map { state?.makes($0, call) ?? false } ?? false
        if let what = actions.lose, !isLostAfter { state?.lose(what, concerned(actions, call), call, &world) }
        if let fault = actions.token { state?.spoilToken(fault, concerned(actions, call), call, &world) }
        let wait = actions.delay.flatMap { delay in actions.delayChance.map { delay.draw($0) } } ?? 0
        let isBeforeBody = actions.delay?.isBeforeBody ?? false && actions.mayReachBody
        var script: WireScript
        if let connection = actions.connection, connection.isSilent {
            script = silent(connection, &world)
        } else {
            var answer = faulty(actions, state, call, &world)
            if actions.wire != nil || actions.connection != nil || isBeforeBody {
                script = shaped(answer, entry, actions, isBeforeBody ? wait : 0, closes, &world)
            } else if let own = answer.script {
                script = recorded(own, answer, entry)
            } else {
                script = WireScript(write(&answer, entry, &world, closes))
            }
        }
        if wait > 0, !isBeforeBody { script.steps.insert(.wait(wait), at: 0) }
        if let what = actions.lose, isLostAfter { state?.lose(what, concerned(actions, call), call, &world) }
        return script
    }

    /// Of the tokens that a call names, those that are lost or spoilt.
    private func concerned(_ actions: Actions, _ call: Call) -> [[UInt8]] {
        let tokens = call.facts.tokens
        return actions.concerns.map { tokens.filter($0) } ?? tokens
    }

    /// An answer that was recorded, as it was.
    private func recorded(_ script: WireScript, _ answer: Answer, _ entry: JournalEntry) -> WireScript {
        let bytes = script.bytes
        entry.answer = bytes
        if !bytes.isEmpty { entry.status = answer.response.status }
        return script
    }

    private func silent(_ connection: ConnectionFault, _ world: inout World) -> WireScript {
        switch connection {
        case .close: return WireScript(end: .fin)
        case .stall: return WireScript(end: .stall)
        case .refuse(let time):
            let service = self
            world.after { scope in service.refuse(scope, time) }
            return WireScript(end: .rst)
        default: return WireScript(end: .rst)
        }
    }

    /// The answer with all that is wrong with it but the wire.
    private func faulty(
        _ actions: Actions, _ state: (any BackendState)?, _ call: Call, _ world: inout World
    ) -> Answer {
        var answer: Answer
        if let status = actions.status {
            if actions.after { _ = backendAnswer(call, &world) }
            answer = Scripted.answer(status, actions, state, call, &world)
        } else {
            answer = backendAnswer(call, &world)
        }
        if let patch = actions.discovery, answer.response.status == 200, call.place.route == "discovery" {
            state?.changeDiscovery(&answer.response, patch)
        }
        if let mutation = actions.mutate {
            Spoiling.apply(mutation, to: &answer.response)
            answer.script = nil
        }
        return answer
    }

    private func shaped(
        _ answer: Answer, _ entry: JournalEntry, _ actions: Actions, _ bodyWait: Int64, _ cannotGoOn: Bool,
        _ world: inout World
    ) -> WireScript {
        let head = entry.call.head
        let closes = answer.closes || cannotGoOn || !head.keepAlive
        var response = answer.response
        addDate(&response, &world)
        if closes { response.fields.append(Self.close) }
        let isHead = head.equals(head.method, "HEAD")
        var shaper = WireShaper(
            startLine: response.startLine, fields: response.fields, body: response.body,
            hasBody: response.mayHaveBody, isHead: isHead, faults: actions.wire ?? WireFaults(),
            chance: actions.wireChance, end: closes ? .fin : .keep)
        let script = shaper.script(actions.connection, bodyWait: bodyWait)
        entry.answer = script.bytes
        entry.status = Self.status(said: actions.wire, response.status)
        return script
    }

    /// The status that the client reads; nil where there is none.
    private static func status(said wire: WireFaults?, _ own: Int) -> Int? {
        if wire?.garbage != nil { return nil }
        guard let line = wire?.statusLine else { return own }
        let words = line.split(separator: Byte.space, maxSplits: 2)
        guard words.count > 1, words[1].count == 3 else { return nil }
        return decimalDigits(words[1])
    }

    func state(_ call: Call, _ world: World) -> (any BackendState)? {
        call.place.backendNumber < 0 ? nil : world.states[call.place.backendNumber]
    }

    private func backendAnswer(_ call: Call, _ world: inout World, isExact: Bool = false) -> Answer {
        if let player = world.player {
            let answer = player.answer(call, now: world.clock.now, isExact: isExact)
            if let why = answer.unmatched { world.unmatched.append(why) }
            for push in player.pushes(after: call) { RecordedPushes.send(push, &world) }
            return answer
        }
        guard let match = call.match, let state = state(call, world) else {
            return Answer(Neutral.notFound(settings.backends))
        }
        let answer = state.answer(match, call, &world)
        if world.events.isWatched, answer.response.status < 300, Self.mayChange(call) {
            let (name, index) = (call.place.backend?.name ?? "", call.index)
            world.happened(.state) { ["backend": .string(name), "call": .int(index)] }
        }
        return answer
    }

    private static func mayChange(_ call: Call) -> Bool {
        !["GET", "HEAD", "OPTIONS"].contains(call.head.methodText)
    }

    /// - Parameter answer: gets what the server adds, in its place.
    func write(
        _ answer: inout Answer, _ entry: JournalEntry, _ world: inout World, _ cannotGoOn: Bool
    ) -> (bytes: [UInt8], end: WireScript.End) {
        let head = entry.call.head
        let closes = answer.closes || cannotGoOn || !head.keepAlive
        addDate(&answer.response, &world)
        if closes { answer.response.fields.append(Self.close) }
        let bytes = answer.response.bytes(isHead: head.equals(head.method, "HEAD"))
        entry.answer = bytes
        entry.status = answer.response.status
        return (bytes, closes ? .fin : .keep)
    }

    /// A recorded answer has the date that was recorded, or none.
    private func addDate(_ response: inout Response, _ world: inout World) {
        guard world.player == nil, !response.fields.has(Self.dateName) else { return }
        response.fields.append(HeaderField(Self.dateName, world.clock.httpDate()))
    }

    static let dateName = Array<UInt8>("Date")
    static let close = HeaderField("Connection", "close")
}
