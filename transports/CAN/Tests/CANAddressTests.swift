import Byway
import Testing

@testable import CANTransport

@Suite struct CANAddressTests {
  private let transport = CANTransport()

  @Test(
    "a CAN address has an interface and two identifiers",
    arguments: [
      "can0?tx=7E0&rx=7E8", "vcan0?tx=0x7e0&rx=0X7e8", "can0?tx=18DA10F1&rx=18DAF110", "can0?tx=1&rx=12345678&fd=yes",
      "a-name-of-15-ab?tx=0&rx=7FF&fd=no&rate=100", "can0?tx=1&rx=2&rate=1000000",
    ])
  func addresses(_ rest: String) throws {
    try transport.check(LinkAddress("can:\(rest)"))
  }

  @Test(
    "a CAN address without a valid interface is refused",
    arguments: ["", "//can0", "a/b", "..", ".", "a b", "can:0", "a-name-of-16-abc", "can\u{7F}"])
  func interfaces(_ name: String) {
    expectRefusal("\(name)?tx=1&rx=2", "has no CAN interface")
  }

  @Test(
    "a CAN address with an invalid identifier is refused",
    arguments: ["", "800", "1234", "7E0 ", "-1", "+1", "G", "0x", "20000000", "FFFFFFFF", "123456789", "0x0x1", "٣"])
  func identifiers(_ text: String) {
    expectRefusal("can0?tx=\(text)&rx=2", "is not a CAN identifier")
    expectRefusal("can0?tx=2&rx=\(text)", "rx=\(text) is not")
  }

  @Test("a CAN address needs two different identifiers")
  func bothIdentifiers() {
    expectRefusal("can0", "has no tx=")
    expectRefusal("can0?tx=1", "has no rx=")
    expectRefusal("can0?rx=1", "has no tx=")
    expectRefusal("can0?tx=1&rx=001", "the same identifier")
  }

  @Test(
    "a CAN address with an invalid option is refused",
    arguments: ["fd=maybe", "fd=", "rate=99", "rate=1000001", "rate=+500", "rate=1e3", "rate="])
  func options(_ option: String) {
    expectRefusal("can0?tx=1&rx=2&\(option)", option)
  }

  @Test("identifiers of 11 and 29 bits are told apart")
  func numbers() throws {
    let address = try CANAddress(LinkAddress("can:can0?tx=7E0&rx=000007E0"))
    #expect(address.transmitted.number == 0x7E0 && address.received.number == 0x8000_07E0)
    #expect(address.interface == "can0" && !address.isFD)
    let prefixed = try CANAddress(LinkAddress("can:can0?tx=0x7E0&rx=0X000007e1"))
    #expect(prefixed.transmitted.number == 0x7E0 && prefixed.received.number == 0x8000_07E1)
  }

  @Test("a line over CAN has the rate of its address, or a third of a usual bus")
  func rates() throws {
    func rate(_ options: String) throws -> Int? {
      try transport.line(for: LinkAddress("can:can0?tx=1&rx=2\(options)"))?.bytesPerSecond
    }
    #expect(
      try rate("") == 10_000 && rate("&fd=no") == 10_000 && rate("&fd=yes") == 50_000 && rate("&rate=1234") == 1234)
  }

  @Test("a misspelt option of a CAN address is answered with the valid ones")
  func misspelt() {
    let error = #expect(throws: BywayError.self) { try TransportRegistry([transport]).link("can:can0?tx=1&xr=2") }
    #expect(error?.code == .unknownOption && error?.message.contains("Did you mean \"rx\"?") == true, "\(error as Any)")
  }

  private func expectRefusal(_ rest: String, _ part: String) {
    let error = #expect(throws: BywayError.self) { try transport.check(LinkAddress("can:\(rest)")) }
    #expect(error?.code == .invalidAddress && error?.message.contains(part) == true, "\(rest): \(error as Any)")
  }
}
