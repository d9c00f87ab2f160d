import Byway
import Testing

@Suite struct DeviceNameTests {
  @Test(
    "a device name is one DNS label in lower case",
    arguments: [
      ("printer", "printer"), ("Board-7", "board-7"), ("7", "7"), ("xn--mller-kva", "xn--mller-kva"),
      (String(repeating: "a", count: 63), String(repeating: "a", count: 63)),
    ])
  func takes(_ text: String, _ name: String) {
    #expect(DeviceName(text)?.text == name)
  }

  @Test(
    "a device name cannot be an option, a path, an address or another host",
    arguments: [
      "", "-", "-v", "printer-", "a.b", "a/b", "..", "a:1", "a b", "a\n", "a\0", "[::1]", "{name}", "a_b", "müller",
      "\u{212A}",
      "%41", "a@b", String(repeating: "a", count: 64),
    ])
  func refuses(_ text: String) {
    #expect(DeviceName(text) == nil)
  }

  @Test(
    "a device name is derived from the name that a device reports",
    arguments: [
      ("FTDI FT232R USB UART", "ftdi-ft232r-usb-uart"), ("  Silicon Labs: CP2102N  ", "silicon-labs-cp2102n"),
      ("--help", "help"), ("../../etc/passwd", "etc-passwd"), ("xn--pple-43d", "xn-pple-43d"),
      ("a\u{202E}b\u{1B}[2Jc", "a-b-2jc"),
      ("<script>", "script"), ("Büro", "b-ro"),
      (String(repeating: "ab-", count: 30), String(repeating: "ab-", count: 20) + "ab"),
      (String(repeating: "a", count: 62) + " b", String(repeating: "a", count: 62)),
    ])
  func claimed(_ text: String, _ name: String) {
    #expect(DeviceName(claimed: text)?.text == name)
  }

  @Test(
    "no device name is derived from text without valid characters",
    arguments: ["", "---", "设备", "\u{1B}[\u{202E}", "/"])
  func none(_ text: String) {
    #expect(DeviceName(claimed: text) == nil)
  }

  @Test("a repeated device name gets a number, within the length limit")
  func numbers() throws {
    #expect(try #require(DeviceName("printer")).numbered(2).text == "printer-2")
    let long = try #require(DeviceName(String(repeating: "a", count: 63))).numbered(100)
    #expect(long.text == String(repeating: "a", count: 59) + "-100")
    let hyphenated = try #require(DeviceName(String(repeating: "a", count: 60) + "-bc")).numbered(2)
    #expect(hyphenated.text == String(repeating: "a", count: 60) + "-2")
  }

  @Test("names that browsers display differently are recognized")
  func encoded() throws {
    #expect(try #require(DeviceName("xn--pple-43d")).isEncoded)
    #expect(try !#require(DeviceName("board--7")).isEncoded)
  }

  @Test("arbitrary bytes give a valid device name or none")
  func anyBytes() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<2_000 {
      let bytes = (0..<Int.random(in: 0...100, using: &generator)).map { _ in
        UInt8.random(in: 0...255, using: &generator)
      }
      guard let name = DeviceName(claimed: String(decoding: bytes, as: UTF8.self)) else { continue }
      #expect(DeviceName(name.text) == name && !name.isEncoded, "\(bytes)")
    }
  }
}
