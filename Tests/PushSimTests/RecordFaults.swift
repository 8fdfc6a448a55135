import PushSimWebPush

/// The catalogue, as the tests look things up in it.
enum RecordFaults {
    static let stages = Dictionary(
        uniqueKeysWithValues: RecordFault.all.map { ($0.id, $0.stage?.rawValue ?? "none") })
}
