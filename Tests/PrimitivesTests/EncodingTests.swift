import BywayPrimitives
import Testing

@Suite struct EncodingTests {
  @Test("base64 matches the examples of RFC 4648 §10")
  func base64() {
    let vectors = [
      "": "", "f": "Zg==", "fo": "Zm8=", "foo": "Zm9v", "foob": "Zm9vYg==", "fooba": "Zm9vYmE=", "foobar": "Zm9vYmFy",
    ]
    for (text, encoded) in vectors { #expect(Base64.encode(text.utf8) == encoded) }
    #expect(Base64.encode([0xFB, 0xFF, 0xBF]) == "+/+/")
  }

  @Test("base64 decodes its own output, and rejects other text")
  func base64Reading() {
    for count in 0..<70 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 37) }
      #expect(Base64.decode(Base64.encode(bytes).utf8) == bytes)
    }
    for wrong in ["A", "AA", "AAA", "====", "A===", "AA=A", "AB==", "AAB=", "AA A", "AAAA=", "-_AA"] {
      #expect(Base64.decode(wrong.utf8) == nil, "\(wrong)")
    }
  }

  @Test("bytes and numbers are written in hexadecimal")
  func hex() {
    #expect(Hex.text([0x00, 0x7F, 0xA5]) == "007fa5")
    #expect(Hex.text([0xA5], isUppercase: true) == "A5")
    #expect(Hex.text(UInt16(0xBEE)) == "0bee")
    #expect(Hex.text(UInt64(1)) == "0000000000000001")
    #expect(Hex.bytes("007FaF") == [0, 0x7F, 0xAF])
    #expect(Hex.bytes("") == [])
    for wrong in ["0", "0g", "+1", "007"] { #expect(Hex.bytes(wrong) == nil, "\(wrong)") }
  }

  @Test(
    "percent-encoding covers all bytes but unreserved ones, and decodes its own output",
    arguments: ["a b", "100 %", "grün/日本", ""])
  func percent(_ text: String) {
    let encoded = PercentEncoding.encode(text, isPlain: PercentEncoding.isUnreserved)
    #expect(encoded.utf8.allSatisfy { PercentEncoding.isUnreserved($0) || $0 == UInt8(ascii: "%") })
    #expect(PercentEncoding.decode(encoded) == text)
  }

  @Test("invalid percent-encoding is rejected", arguments: ["%", "%2", "%2g", "%+1", "%ff"])
  func noPercentEncoding(_ text: String) {
    #expect(PercentEncoding.decode(text) == nil)
  }

  @Test("untrusted bytes are quoted in printable and short form")
  func quotation() {
    #expect(String(quoting: Array("a\"\\\r\n\u{1}é".utf8), limit: 20) == #""a\"\\\r\n\x01\xc3\xa9""#)
    #expect(String(quoting: [0x41, 0x42, 0x43], limit: 2) == "\"AB…\"")
  }

  @Test("spaces and tabs at both ends of a value are trimmed")
  func trimming() {
    #expect(" \ta b\t ".trimmed == "a b")
    #expect("\r\n".trimmed == "\r\n")
    #expect("   ".trimmed.isEmpty && "".trimmed.isEmpty)
    #expect("x= y"[...].dropFirst(2).trimmed == "y")
  }
}
