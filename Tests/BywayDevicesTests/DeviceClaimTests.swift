import Byway
import BywayDevices
import Testing

@Suite struct DeviceClaimTests {
  private func read(_ text: String) -> DeviceClaim? { DeviceClaim(reading: Array(text.utf8)) }

  @Test("a device's name and title are read from its JSON")
  func roundTrip() throws {
    let claim = DeviceClaim(name: DeviceName("printer"), title: DeviceText("Printer in the \"hall\" – Büro"))
    #expect(read("\(claim.json)") == claim)
    #expect(
      "\(DeviceClaim(name: DeviceName("a"), title: nil, version: DeviceText("1.0")).json)"
        == #"{"name":"a","version":"1.0","serves":"http"}"#)
  }

  @Test(
    "an invalid device name is ignored, and the rest is used",
    arguments: [
      #""a.b""#, #""-v""#, #""../x""#, #""""#, "7", "null", #"["printer"]"#, #"{"name":"printer"}"#, #""xn--pple-43d""#,
      #""a\u0000b""#, #""\ud800""#, #""printer\u202e""#,
    ])
  func hostileNames(_ name: String) throws {
    let claim = try #require(read(#"{"name":\#(name),"title":"T"}"#))
    #expect(claim.name == nil && claim.title?.text == "T")
  }

  @Test(
    "a device's title is cut to one short line without control characters",
    arguments: [
      (#"a\u001b[31mb"#, "a[31mb"), (#"\u202egnp.exe"#, "gnp.exe"), (#" a\r\n\tb "#, "a b"),
      (#"\u0085\u2028x\u2029"#, "x"),
      (#"<b>&amp;"#, "<b>&amp;"), (#"\u2066\u2069\u061c\u200f1"#, "1"),
      (String(repeating: "x", count: 1_000), String(repeating: "x", count: 128)),
      ("e" + String(repeating: "\u{301}", count: 1_000), "e\u{301}\u{301}"),
      (#"\u200b\ufeffA\u00ad\u2060B"#, "AB"),
    ])
  func hostileTitles(_ written: String, _ shown: String) throws {
    let title = try #require(read("{\"title\":\"\(written)\"}")?.title)
    #expect(title.text.unicodeScalars.elementsEqual(shown.unicodeScalars))
    #expect(DeviceText(title.text) == title)
  }

  @Test(
    "a configured title is refused if it has control characters or is too long",
    arguments: ["", " ", "a\nb", "\u{202E}a", "a\u{7}"])
  func refusedTitles(_ text: String) {
    #expect(DeviceText(text) == nil)
    #expect(
      DeviceText(String(repeating: "ä", count: 128)) != nil && DeviceText(String(repeating: "ä", count: 129)) == nil)
  }

  @Test(
    "a device description must be a JSON object",
    arguments: ["", "printer", "[]", "\"printer\"", "{", "<!doctype html>", "{}x"])
  func noClaim(_ text: String) {
    #expect(read(text) == nil)
  }

  @Test("a description of more than 16 KiB, with invalid UTF-8 or deep nesting is ignored")
  func bounds() {
    let padding = String(repeating: " ", count: DeviceClaim.maximumBytes - 2)
    #expect(read("{}" + padding) != nil && read("{}" + padding + " ") == nil)
    #expect(DeviceClaim(reading: Array("{\"name\":\"a\"}".utf8.dropLast(2)) + [0xFF, 0x22, 0x7D]) == nil)
    #expect(read(#"{"a":"# + String(repeating: "[", count: 16_000)) == nil)
  }

  @Test("names and titles read from arbitrary bytes are printable")
  func anyBytes() throws {
    var generator = SystemRandomNumberGenerator()
    let whole = Array(#"{"name":"printer-2","title":"A\u0041 é\n","version":"1","serves":["http"]}"#.utf8)
    for _ in 0..<3_000 {
      var bytes = whole
      for _ in 0...Int.random(in: 0...4, using: &generator) {
        let place = Int.random(in: 0..<bytes.count, using: &generator)
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
        case 1: bytes.insert(whole.randomElement(using: &generator) ?? 0, at: place)
        default: bytes.remove(at: place)
        }
      }
      guard let claim = DeviceClaim(reading: bytes) else { continue }
      #expect(DeviceClaim(reading: Array("\(claim.json)".utf8)) == claim, "\(bytes)")
      for text in [claim.title, claim.version, claim.serves] {
        #expect(text.map { DeviceText($0.text) == $0 } ?? true, "\(bytes)")
      }
    }
  }
}
