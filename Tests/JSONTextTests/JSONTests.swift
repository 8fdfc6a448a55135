import PushSimJSONText
import Testing

@Suite("JSON text")
struct JSONTests {
    @Test("Keeps numbers as written and duplicate keys")
    func keeps() throws {
        let document = try JSONDocument(#"{"a":0.00,"a":1e2,"b":[1,{"c":null}]}"#)
        #expect(document.root.members.map(\.value.sourceText) == ["0.00", "1e2", #"[1,{"c":null}]"#])
        #expect(document.root.firstDuplicate?.value.int == 100)
        #expect(JSONPath("$.b[1].c")?.find(in: document.root)?.isNull == true)
    }

    @Test(
        "Refuses what RFC 8259 does not allow",
        arguments: [
            "", "{", "[1,]", "{\"a\":1,}", "{a:1}", "'a'", "01", "1.", ".5", "+1", "NaN", "\"\u{1}\"", "\"\\x41\"",
            "[1 2]",
            "1 2", "// a\n1", "tru", "\"\\ud8\"", "{\"a\" 1}", "]",
        ])
    func refuses(_ text: String) {
        #expect(throws: JSONError.self) { try JSONDocument(text) }
    }

    @Test(
        "Refuses bytes that are not UTF-8",
        arguments: [[0xC0, 0x80], [0xED, 0xA0, 0x80], [0xFF], [0xF4, 0x90, 0x80, 0x80]])
    func refusesBytes(_ bytes: [UInt8]) {
        #expect(throws: JSONError.self) { try JSONDocument([34] + bytes + [34]) }
    }

    @Test("Reads JSON5")
    func json5() throws {
        let text = "// c\n{a: 'x\\'y', $b: 0x1F, c: [+1, .5, 2.,], /* d */ d: Infinity,}"
        let root = try JSONDocument(text, dialect: .json5).root
        #expect(root.member("a")?.string == "x'y")
        #expect(root.member("$b")?.int == 31)
        #expect(root.member("c")?.elements.map(\.double) == [1, 0.5, 2])
        #expect(root.member("d")?.double == .infinity)
    }

    @Test("Says where a mistake is")
    func positions() {
        #expect(throws: (any Error).self) { try JSONDocument("{\n  \"é\": tru\n}") }
        do { _ = try JSONDocument("{\n  \"é\": tru\n}") } catch {
            #expect(error.position == JSONPosition(line: 2, column: 8))
        }
    }

    @Test("Stops at 512 levels and not before")
    func depth() throws {
        let deep = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
        #expect(try JSONDocument(deep).root.kind == .array)
        #expect(throws: JSONError.self) { try JSONDocument("[" + deep + "]") }
    }

    @Test(
        "Compares by value",
        arguments: [
            (#"{"a":1,"b":2}"#, #"{ "b":2.0, "a":1e0 }"#, true), ("1000", "1e3", true), ("0", "-0.0", true),
            (#""é""#, #""e\u0301""#, false), (#""\u00e9""#, #""é""#, true), ("[1,2]", "[2,1]", false),
            (#"{"a":1,"a":1}"#, #"{"a":1}"#, false), ("10000000000000000000001", "10000000000000000000002", false),
        ])
    func compares(_ left: String, _ right: String, _ same: Bool) throws {
        #expect(JSONComparison.areEqual(try JSONDocument(left).root, try JSONDocument(right).root) == same)
    }

    @Test("Names the first difference")
    func difference() throws {
        let left = try JSONDocument(#"{"items":[{"id":1},{"id":10}]}"#)
        let right = try JSONDocument(#"{"items":[{"id":1},{"id":12}]}"#)
        #expect(JSONComparison.difference(left.root, right.root)?.description == "$.items[1].id: 10 against 12")
    }

    @Test("Writes in the order it is told, escaping only what must be")
    func writes() {
        let value: JSON = ["b": "a\"\\\n\u{1}é/", "a": [1, true, nil]]
        #expect(value.description == #"{"b":"a\"\\\n\u0001é/","a":[1,true,null]}"#)
    }
}
