import BywayPrimitives
import Testing

@Suite("JSON") struct JSONTests {
  private static let text = #" {"a": [1, -2.5e3, true, false, null], "b\u00e9\ud83d\ude00\n": {"": "\"\\/"}} "#
  private static let value: JSON = [
    "a": [1, .number("-2.5e3"), .bool(true), .bool(false), .null], "b\u{E9}\u{1F600}\n": ["": "\"\\/"],
  ]

  @Test("JSON text is parsed into the value that was written")
  func reading() {
    #expect(JSON(parsing: Self.text) == Self.value)
    #expect(JSON(parsing: "\(Self.value)") == Self.value)
  }

  @Test(
    "invalid JSON is rejected",
    arguments: [
      "", "{", "[1,]", "{\"a\"}", "\"a", "\"\\", "\"\\u12\"", "nul", "[] []", String(repeating: "[", count: 1000),
    ])
  func broken(_ text: String) {
    #expect(JSON(parsing: text) == nil)
  }

  @Test(
    "JSON text with an unknown escape, a malformed number or a raw control character is rejected",
    arguments: [
      #""\q""#, #""\'""#, #""\u+041""#, #""\u-041""#, #""\u 041""#, #""\u004g""#, "--1", "-", "+1", "01", "-01", "1.",
      ".5", "1.e1", "1e", "1e+", "1E-", "1e5.5", "1-2", "0x1", "[1 2]", "\"a\nb\"", "\"\u{0}\"",
    ])
  func malformed(_ text: String) {
    #expect(JSON(parsing: text) == nil)
  }

  @Test(
    "JSON numbers keep their spelling",
    arguments: ["0", "-0", "10", "0.5", "-12.25", "1e5", "1E+5", "0e-7", "123456789012345678901"])
  func numbers(_ text: String) {
    #expect(JSON(parsing: text) == .number(text))
    #expect(JSON(parsing: "[\(text) ]") == [.number(text)])
  }

  @Test("JSON keeps the order of members, and omits those without a value")
  func members() {
    let value: JSON = ["z": 1, "a": nil, "b": .number(-0.5), "empty": [:], "none": [], "infinite": .number(.infinity)]
    #expect("\(value)" == #"{"z":1,"b":-0.5,"empty":{},"none":[],"infinite":null}"#)
  }

  @Test("the last of two JSON members with one name counts")
  func twice() {
    #expect(JSON(parsing: #"{"a":1,"a":2}"#)?["a"] == 2)
  }

  @Test("JSON strings are written with visible characters only, without loss")
  func visible() {
    let text = "a\u{9B}\u{202E}\"\u{1}\\ü\u{7F}"
    #expect("\(JSON.string(text))" == #""a\u009b\u202e\"\u0001\\ü\u007f""#)
    #expect(JSON(parsing: "\(JSON.string(text))") == .string(text))
  }
}
