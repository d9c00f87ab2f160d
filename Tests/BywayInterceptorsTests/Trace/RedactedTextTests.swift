import Testing

@testable import BywayInterceptors

/// Secrets in XML, and in JSON nested in strings of JSON.
@Suite("Redaction of XML and JSON") struct RedactedTextTests {
  private static func isSecret(_ name: String) -> Bool {
    ["password", "token", "secret", "key"].contains { name.lowercased().contains($0) }
  }

  private static func xml(_ text: String) -> String? {
    XMLText.replacing(in: Array(text.utf8), where: isSecret).map { String(decoding: $0, as: UTF8.self) }
  }

  private static func json(_ text: String) -> String? {
    JSONText.replacing(in: Array(text.utf8), where: isSecret).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test(
    "the whole content of a secret XML element or attribute is redacted",
    arguments: [
      ("<a><token>x</token><b>shown</b></a>", "<a><token>[redacted]</token><b>shown</b></a>"),
      ("<w:Password T=\"t\">x<i>y</i>z</w:Password>s", "<w:Password T=\"t\">[redacted]</w:Password>s"),
      ("<token><token>x</token>y</token>s", "<token>[redacted]</token>s"),
      ("<token>x<i/>y<!-- </token> --><![CDATA[</token>]]>z</token>s", "<token>[redacted]</token>s"),
      ("<token a=\"</token>\">x</token>s", "<token a=\"</token>\">[redacted]</token>s"),
      (
        "<a token='x' b=\"shown\" my:secret = \"y\"/>s",
        "<a token='[redacted]' b=\"shown\" my:secret = \"[redacted]\"/>s"
      ),
      ("<p value='x' b='shown' name='password'/>", "<p value='[redacted]' b='shown' name='password'/>"),
      (
        "<p value='x' token='y' name='secret'>z</p>",
        "<p value='[redacted]' token='[redacted]' name='secret'>[redacted]</p>"
      ),
      (
        "<entry key=\"password\">x</entry><entry key=\"b\">s</entry>",
        "<entry key=\"password\">[redacted]</entry><entry key=\"b\">s</entry>"
      ),
      (
        "<name>password</name><value><string>x</string></value><value>s</value>",
        "<name>password</name><value>[redacted]</value><value>s</value>"
      ),
      (
        "<key>password</key>\n<string>x</string><key>b</key><string>s</string>",
        "<key>password</key>\n<string>[redacted]</string><key>b</key><string>s</string>"
      ),
      ("<a><token>x", "<a><token>[redacted]"), ("<a token=\"x", "<a token=\"[redacted]"),
      ("<token>x</tok", "<token>[redacted]</tok"),
      ("<a token='x' <b token='y'>", "<a token='[redacted]' <b token='[redacted]'>"),
    ])
  func xmlSecrets(_ text: String, _ shown: String) {
    #expect(Self.xml(text) == shown)
  }

  @Test(
    "a text without secrets stays unchanged",
    arguments: [
      "", "<", "</", "<>", "a < b > c", "<a/>", "<token/>", "<token></token>", "<!-- <token>x</token> -->",
      "<![CDATA[<token>x</token>]]>", "<?token x?>", "<a xmlns:token=\"urn:x\"/>", "</token>x", "<key>photos/1</key>",
      "<user><name>token</name></user><b>s</b>", "<!-- ", "<a b", "<a b=", "<a b='", "<?", "<p value='x' name='b'/>",
    ])
  func plain(_ text: String) {
    #expect(Self.xml(text) == nil)
  }

  @Test("JSON inside JSON strings is redacted, and deeper nesting is hidden completely")
  func nesting() {
    var text = #"{"password":"hidden"}"#
    for depth in 1...10 {
      text = #"{"a":"\#(String(decoding: JSONEscapes.encoded(Array(text.utf8)), as: UTF8.self))"}"#
      let shown = Self.json(text)
      #expect(shown?.contains("hidden") == false, "\(depth)")
      #expect(shown?.contains("password") == (depth <= 6), "\(depth)")
    }
  }

  @Test(
    "JSON escapes are decoded, and invalid ones kept as text",
    arguments: [
      (#"a\"b\\c\/d"#, #"a"b\c/d"#), (#"\n\t\r\b\f"#, "\n\t\r\u{8}\u{C}"), (#"\u00e9\ud83d\ude00x"#, "é😀x"),
      (#"\ud83dx"#, "\u{FFFD}x"), (#"\u12"#, #"\u12"#), (#"\uzzzz"#, #"\uzzzz"#), (#"\x\"#, #"\x\"#),
    ])
  func escapes(_ text: String, _ plain: String) {
    #expect(String(decoding: JSONEscapes.decoded(Array(text.utf8)[...]), as: UTF8.self) == plain)
  }

  @Test("redaction of hostile text takes linear time")
  func linear() {
    let count = 300_000
    func repeated(_ text: String) -> [UInt8] { Array(String(repeating: text, count: count).utf8) }
    for text in [
      repeated("<token>"), repeated("<a>"), repeated("<a token='"), repeated("<!--"), repeated("<name>token</name>"),
      repeated("<token>x</token>"), repeated("<"), repeated("<a "), Array("<a b='".utf8) + repeated("x"),
    ] {
      _ = XMLText.replacing(in: text, where: Self.isSecret)
    }
    for text in [
      repeated("\""), repeated("\"a\":{"), repeated("\\\""), repeated("\"token\":1,"), repeated("[\"\\u0022"),
      Array("{\"a\":\"".utf8) + repeated("\\\""), repeated("\\\\\\\""),
    ] {
      _ = JSONText.replacing(in: text, where: Self.isSecret)
    }
  }
}
