import Byway
import Testing

@testable import RFCOMMTransport

@Suite struct RFCOMMAddressTests {
  private let transport = RFCOMMTransport()
  private static let device = "00:1A:7D:DA:71:13"

  @Test(
    "an address has a device or any, and may have a channel and options",
    arguments: [
      "\(device):3", device, "00:1a:7d:da:71:13:30", "any", "any:1", "any:3?security=low", "any?controller=hci1",
      "\(device)?security=high&controller=00:1A:7D:DA:71:14", "any:2?controller=hci1234&security=medium",
    ])
  func addresses(_ rest: String) throws {
    try transport.check(LinkAddress("rfcomm:\(rest)"))
  }

  @Test(
    "an address with an invalid device or channel is refused with the right forms",
    arguments: [
      "", ":3", "any:", "any:0", "any:31", "any:3:4", "any:+3", "any:03x", "any: 3", "any:256", "any:٣", "Any:3",
      "hci0:3", "3",
      "00:1A:7D:DA:71", "00:1A:7D:DA:71:3", "\(device):", "\(device):0", "\(device):31", "\(device):1:2",
      "\(device):-1",
      "00-1A-7D-DA-71-13:3", "001A7DDA7113:3", "00:1A:7D:DA:71:1G:3", "00:1A:7D:DA:71:+1:3", "00:00:00:00:00:00:3",
      "//\(device):3", "//any:3", "/any:3", ":\(device)",
    ])
  func invalid(_ rest: String) {
    expectRefusal(rest, "write rfcomm:AA:BB:CC:DD:EE:FF:CHANNEL to dial, or rfcomm:any:CHANNEL to listen")
  }

  @Test(
    "an invalid option is refused with the valid words",
    arguments: [
      ("security=none", "write security=low"), ("security=", "security= is unknown"), ("security=Low", "is unknown"),
      ("controller=", "write its name"), ("controller=hci", "such as hci0"), ("controller=hci12345", "such as hci0"),
      ("controller=eth0", "such as hci0"), ("controller=hci-1", "such as hci0"), ("controller=hci0x", "such as hci0"),
      ("controller=00:00:00:00:00:00", "such as hci0"), ("controller=00:1A", "such as hci0"),
    ])
  func options(_ option: String, _ part: String) {
    expectRefusal("any:3?\(option)", part)
  }

  @Test("the parts of an address are read")
  func parts() throws {
    let place = try RFCOMMPlace(LinkAddress("rfcomm:\(Self.device):7?security=high&controller=hci1"))
    #expect(try place.dialed().description == Self.device)
    #expect(try place.dialed().bytes == [0x13, 0x71, 0xDA, 0x7D, 0x1A, 0x00])
    #expect(place.channel == 7 && place.security == .high && place.controller == .name("hci1"))
    let short = try RFCOMMPlace(LinkAddress("rfcomm:any"))
    #expect(short.channel == 3 && short.security == .medium && short.controller == nil && short.remote == .any)
    let local = try RFCOMMPlace(LinkAddress("rfcomm:any?controller=\(Self.device)")).controller
    #expect(local == .address(try place.dialed()))
  }

  @Test("a client dials a device, and a gateway listens for any")
  func roles() throws {
    let (any, device) = (try LinkAddress("rfcomm:any:5"), try LinkAddress("rfcomm:\(Self.device):5"))
    try transport.check(any, for: .listen)
    try transport.check(device, for: .dial)
    let dialed = #expect(throws: BywayError.self) { try transport.check(any, for: .dial) }
    #expect(dialed?.code == .invalidAddress && dialed?.message.contains("which only a listener can leave open") == true)
    let listened = #expect(throws: BywayError.self) { try transport.check(device, for: .listen) }
    #expect(listened?.code == .invalidAddress && listened?.message.contains("write rfcomm:any:5") == true)
  }

  @Test("only low security is not encrypted")
  func encryption() throws {
    for (option, isEncrypted) in [
      ("", true), ("?security=medium", true), ("?security=high", true), ("?security=low", false),
    ] {
      #expect(transport.isEncrypted(try LinkAddress("rfcomm:any:3\(option)")) == isEncrypted, "\(option)")
    }
  }

  @Test("a link is a line that damages nothing, also with HTTP/1.1")
  func line() throws {
    for option in ["", "?http=1.1"] {
      let line = try TransportRegistry([transport]).link("rfcomm:\(Self.device)\(option)").line
      #expect(line?.isClean == true && line?.bytesPerSecond == nil)
    }
  }

  @Test("a misspelt option is answered with the valid one")
  func misspelt() {
    let error = #expect(throws: BywayError.self) {
      try TransportRegistry([transport]).link("rfcomm:any:3?controler=hci0")
    }
    #expect(error?.code == .unknownOption && error?.message.contains("Did you mean \"controller\"?") == true)
  }

  private func expectRefusal(_ rest: String, _ part: String) {
    let error = #expect(throws: BywayError.self) { try transport.check(LinkAddress("rfcomm:\(rest)")) }
    #expect(error?.code == .invalidAddress && error?.message.contains(part) == true, "\(rest): \(error as Any)")
  }
}
