import Byway
import BywayPrimitives
import Testing

@testable import USBTransport

@Suite struct USBAddressTests {
  @Test(
    "a usb address has the identity of a device",
    arguments: [
      "1d6b:0104", "1D6B:0104", "04e8:ffff:A:B c", "0000:0000:1", "1d6b:0104?interface=0", "1d6b:0104?interface=255",
      "03f0:0042?class=ipp&http=1.1",
    ])
  func addresses(_ rest: String) throws {
    _ = try TransportRegistry([USBTransport()]).link("usb:\(rest)")
  }

  @Test(
    "a usb address without a valid identity is refused",
    arguments: ["", "1d6b", "1d6b:104", "1d6b:0104:", "+d6b:0104", "//1d6b:0104", "1d6b:01g4", "1d6b:00104"])
  func badAddresses(_ rest: String) {
    let error = #expect(throws: BywayError.self) { try USBTransport().check(LinkAddress("usb:\(rest)")) }
    #expect(error?.code == .invalidAddress && error?.message.contains("write usb:VENDOR:PRODUCT") == true)
  }

  @Test(
    "an option of a usb address that cannot be used is refused with the right form",
    arguments: [
      ("interface=256", "from 0 to 255"), ("interface=+1", "from 0 to 255"), ("interface=", "from 0 to 255"),
      ("class=hid", "write class=ipp"), ("class=ipp", "needs http=1.1"), ("class=ipp&http=2", "needs http=1.1"),
    ])
  func badOptions(_ options: String, _ part: String) {
    let error = #expect(throws: BywayError.self) { try USBTransport().check(LinkAddress("usb:1d6b:0104?\(options)")) }
    #expect(error?.code == .invalidAddress && error?.message.contains(part) == true, "\(error as Any)")
  }

  @Test("a usb address matches any serial number unless it has one")
  func matching() throws {
    let device = USBIdentity(vendor: 0x1D6B, product: 0x0104, serial: "A:1")
    for text in ["1d6b:0104", "1D6B:0104:A:1"] { #expect(USBIdentity(text)?.matches(device) == true) }
    for text in ["1d6b:0104:A", "1d6b:0105", "1d6c:0104", "1d6b:0104:a:1"] {
      #expect(USBIdentity(text)?.matches(device) == false)
    }
    #expect("\(device)" == "1d6b:0104:A:1")
  }

  @Test("a link over USB is a clean line without a rate, and IPP over USB is no line")
  func line() throws {
    for line in [
      try USBTransport().line(for: LinkAddress("usb:1d6b:0104")),
      try USBGadgetTransport().line(for: LinkAddress("usb-gadget:")),
    ] {
      #expect(line?.isClean == true && line?.bytesPerSecond == nil)
    }
    #expect(try USBTransport().line(for: LinkAddress("usb:1d6b:0104?class=ipp&http=1.1")) == nil)
  }

  @Test("the address of a new gadget has settings with defaults")
  func gadgets() throws {
    let plain = try GadgetSettings(LinkAddress("usb-gadget:"))
    #expect(plain.name == "byway" && plain.identity == USBIdentity("1d6b:0104") && plain.product == "Byway link")
    #expect(plain.controller == nil)
    let all = try GadgetPlace(
      LinkAddress("usb-gadget:?name=a.b-c_1&id=1209:0001&serial=S%201&product=Kasse&udc=fe980000.usb"))
    guard case .created(let settings) = all else { return #expect(Bool(false), "\(all)") }
    #expect(settings.name == "a.b-c_1" && settings.product == "Kasse" && settings.controller == "fe980000.usb")
    #expect(
      settings.identity == USBIdentity(vendor: 0x1209, product: 1, serial: "S 1") && "\(all)" == "USB gadget a.b-c_1")
    #expect(try GadgetPlace(LinkAddress("usb-gadget:/dev/ffs/a")) == .mounted("/dev/ffs/a"))
  }

  @Test(
    "the address of a gadget that cannot be created is refused with the right form",
    arguments: [
      ("?name=", "name="), ("?name=../x", "name="), ("?name=.", "name="), ("?name=a/b", "name="),
      ("?name=a%20b", "name="),
      ("?id=1d6b", "write VENDOR:PRODUCT"), ("?id=1d6b:0104:1", "write VENDOR:PRODUCT"), ("?serial=", "1 to 126"),
      ("?product=a%0Ab", "1 to 126"), ("?udc=a/b", "/sys/class/udc"), ("relative", "absolute path"),
      ("//host/a", "absolute path"), ("/dev/ffs/a?name=b", "leave one of them out"), ("/dev/ffs/a?serial=b", "serial="),
    ])
  func badGadgets(_ rest: String, _ part: String) {
    let error = #expect(throws: BywayError.self) { try USBGadgetTransport().check(LinkAddress("usb-gadget:\(rest)")) }
    #expect(error?.code == .invalidAddress && error?.message.contains(part) == true, "\(error as Any)")
  }

  @Test("the limits of a gadget's name and strings are exact")
  func limits() throws {
    func check(_ options: String) throws { try USBGadgetTransport().check(LinkAddress("usb-gadget:?\(options)")) }
    let (name, text) = (String(repeating: "a", count: 40), String(repeating: "a", count: 126))
    for options in ["name=\(name)", "udc=\(name)", "serial=\(text)", "product=\(text)", "product=a"] {
      try check(options)
    }
    for options in [
      "name=\(name)a", "udc=\(name)a", "udc=.a", "serial=\(text)a", "product=\(text)a", "product=", "serial=a%7F",
      "product=%1F",
    ] {
      #expect(throws: BywayError.self, "\(options)") { try check(options) }
    }
  }

  @Test("a serial number is part of an address only if the address can have it unchanged")
  func writableSerials() {
    func isWritable(_ serial: String?) -> Bool { USBIdentity(vendor: 1, product: 2, serial: serial).isWritable }
    for serial in [nil, "A", "a:b", "!~"] as [String?] { #expect(isWritable(serial), "\(serial ?? "")") }
    for serial in ["a/b", "a?b", "50%", "a b", "a\u{7F}", "\u{1F}", "ä"] { #expect(!isWritable(serial), "\(serial)") }
  }

  @Test("a gadget cannot dial")
  func dialing() throws {
    let address = try LinkAddress("usb-gadget:")
    let error = #expect(throws: BywayError.self) { try USBGadgetTransport().check(address, for: .dial) }
    #expect(error?.message.contains("leave out open=dial") == true)
    try USBGadgetTransport().check(address, for: .listen)
  }
}
