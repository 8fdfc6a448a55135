import PushSimWire

/// What becomes of a request that goes wrong on the wire where there is no wire: a delivery that is captured. It is read
/// as a strict push service would read it.
enum CapturedSending {
    enum Outcome: Hashable {
        case arrived
        /// The push service answers this.
        case refused(Int)
        case failed(HTTPClient.Failure)
    }

    static func outcome(_ script: WireScript, of call: HTTPClient.Call) -> Outcome {
        var parser = RequestParser()
        let bytes = script.bytes
        var consumed = 0
        var isWhole = false
        let failure: RequestFailure? = bytes.withUnsafeBytes { input in
            while true {
                switch parser.advance(input, consumed: &consumed) {
                case .head: continue
                case .complete:
                    isWhole = true
                    return nil
                case .needMore: return nil
                case .failed(let failure): return failure
                }
            }
        }
        if let failure { return .refused(failure.status) }
        // A part of the body is never taken for all of it.
        if isWhole { return parser.body == call.body ? .arrived : .refused(400) }
        switch script.end {
        case .keep, .stall, .open, .relayed, .half: return .failed(.timeout)
        case .fin, .rst: return .failed(.reset)
        }
    }
}
