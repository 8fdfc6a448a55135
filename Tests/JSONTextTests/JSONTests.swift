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

    @Test("What ends a run in a string is found wherever it stands, in JSON and in JSON5")
    func runs() throws {
        for length in 0..<40 {
            for (mark, text) in [("\\\"", "\""), ("\\n", "\n"), ("\\u00e9", "é"), ("é", "é"), ("\\/", "/"), ("~", "~")]
            {
                let (before, after) = (
                    String(repeating: "a", count: length), String(repeating: "b", count: 40 - length)
                )
                let root = try JSONDocument("[\"\(before)\(mark)\(after)\(mark)\"]").root
                #expect(root.elements.first?.string == before + text + after + text)
            }
            let plain = String(repeating: "\u{7F}", count: length)
            for control in 0..<32 {
                let mark = String(UnicodeScalar(UInt8(control)))
                #expect(throws: JSONError.self) { try JSONDocument("\"\(plain)\(mark)\"") }
                if control == 9 {
                    let tab = try JSONDocument("'\(plain)\t\"'", dialect: .json5).root.string
                    #expect(tab == plain + "\t\"")
                }
            }
            #expect(throws: JSONError.self) { try JSONDocument("\"\(plain)") }
            #expect(throws: JSONError.self) { try JSONDocument(Array("\"\(plain)".utf8) + [0xFF, 34]) }
        }
    }

    @Test("Listed as far as some level, a text has deeper values as their source only, and each is whole alone")
    func levels() throws {
        let text = #"{"a":[{"b":[1,{"c":2}]},[],{}],"d":{"e":{"f":[3]}},"g":4}"#
        let (whole, part) = (try JSONDocument(text).root, try JSONDocument(Array(text.utf8), levels: 2).root)
        #expect(part.members.map(\.name) == ["a", "d", "g"] && part["g"]?.int == 4)
        let elements = try #require(part["a"]?.elements)
        #expect(elements.count == 3 && elements[0].members.isEmpty && part["d"]?["e"]?.members.isEmpty == true)
        #expect(elements[0].sourceText == #"{"b":[1,{"c":2}]}"#)
        #expect(elements[0].alone?["b"]?.elements.last?["c"]?.int == 2)
        #expect(part["d"]?["e"]?.alone?["f"]?.elements.first?.int == 3)
        #expect(part.alone?["a"]?.elements.count == whole["a"]?.elements.count)
        #expect(throws: JSONError.self) { try JSONDocument(Array(#"{"a":[{"b":[1,}]}"#.utf8), levels: 1) }
    }

    @Test("Writes in the order it is told, escaping only what must be")
    func writes() {
        let value: JSON = ["b": "a\"\\\n\u{1}é/", "a": [1, true, nil]]
        #expect(value.description == #"{"b":"a\"\\\n\u0001é/","a":[1,true,null]}"#)
    }
}
