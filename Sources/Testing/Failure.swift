import Testing

#if canImport(XCTest)
    import XCTest
#endif

/// Fails the running test, whichever library runs it.
enum Failure {
    static func report(_ text: String, _ location: SourceLocation?) {
        if let location {
            Issue.record(Comment(rawValue: text), sourceLocation: location)
        } else {
            Issue.record(Comment(rawValue: text))
        }
        #if canImport(XCTest)
            // Without a test of Swift Testing the issue is nobody's.
            if Test.current == nil {
                XCTFail(location.map { "\($0.fileID):\($0.line): \(text)" } ?? text)
            }
        #endif
    }
}
