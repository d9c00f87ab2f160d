import Byway
import Testing

@testable import SerialTransport

@Suite struct SerialAddressTests {
  @Test("a serial: address has a path and options")
  func everything() throws {
    let address = try SerialAddress(
      LinkAddress("serial:/dev/ttyUSB0?baud=921600&parity=even&stopbits=2&flow=rtscts&databits=8"))
    #expect(address.device == .path("/dev/ttyUSB0"))
    #expect(address.format == LineFormat(baud: 921_600, parity: .even, stopBits: 2, flow: .rtscts))
    #expect(address.format.description == "921600 8E2 RTS/CTS")
  }

  @Test("the path of a serial: address may be relative to the working directory", arguments: ["./ttyA", "lab/ttyA"])
  func relative(_ path: String) throws {
    #expect(try SerialAddress(LinkAddress("serial:\(path)?baud=9600")).device == .path(path))
  }

  @Test("the default format is 115200 8N1")
  func defaults() throws {
    let address = try SerialAddress(LinkAddress("serial:/dev/ttyUSB0"))
    #expect(address.format.description == "115200 8N1")
    #expect(address.format.bytesPerSecond == 11_520)
  }

  @Test("a serial: address may be a USB identity, whose serial number may contain colons")
  func usb() throws {
    let any = try SerialAddress(LinkAddress("serial:usb:0403:6001"))
    #expect(any.device.description == "USB adapter 0403:6001")
    let one = try SerialAddress(LinkAddress("serial:usb:303A:1001:F4:12:FA:00?baud=9600"))
    #expect(one.device.description == "USB adapter 303a:1001:F4:12:FA:00")
    #expect(one.format.baud == 9600)
  }

  @Test(
    "an address without a device is refused with how to write one",
    arguments: [
      ("serial:", "write serial:/dev/ttyUSB0"), ("serial:ttyS1", "write serial:/dev/ttyS1, or serial:./ttyS1"),
      ("serial://dev/ttyUSB0", "has a host in it"), ("serial:?baud=9600", "has no device"),
      ("serial:usb:", "VID and PID in four hexadecimal digits"), ("serial:usb:0403", "is not a USB adapter"),
      ("serial:usb:403:6001", "is not a USB adapter"), ("serial:usb:0403:600x", "is not a USB adapter"),
      ("serial:usb:+403:6001", "is not a USB adapter"), ("serial:usb:0403:6001:", "is not a USB adapter"),
    ])
  func noDevice(_ text: String, _ part: String) {
    expectRefusal(of: text, part)
  }

  @Test(
    "an invalid option is refused with the valid values",
    arguments: [
      ("baud=fast", "bits per second from 50 to 12000000"), ("baud=0", "bits per second"), ("baud=", "bits per second"),
      ("baud=+9600", "bits per second"), ("baud=99999999999999999999", "bits per second"),
      ("baud=9600.5", "is not a rate"),
      ("parity=mark", "Known: none, even, odd"), ("parity=eve", "Did you mean \"even\"?"),
      ("stopbits=1.5", "write 1 or 2"), ("flow=hardware", "Known: none, rtscts"),
      ("flow=xonxoff", "takes the bytes 0x11 and 0x13 for itself"), ("flow=xonxoff", "Use flow=rtscts"),
      ("databits=7", "Set both ends to 8 data bits"), ("databits=9", "needs all eight bits"),
    ])
  func badOption(_ option: String, _ part: String) {
    expectRefusal(of: "serial:/dev/ttyUSB0?\(option)", part)
  }

  @Test("an unknown option is refused with a known one")
  func unknownOption() throws {
    let registry = TransportRegistry([SerialTransport()])
    #expect {
      try registry.link("serial:/dev/ttyUSB0?buad=9600")
    } throws: { error in
      (error as? BywayError)?.code == .unknownOption && "\(error)".contains("Did you mean \"baud\"?")
    }
    #expect(try registry.link("serial:/dev/ttyUSB0?baud=9600&http=1.1").framing == .http1)
  }

  private func expectRefusal(of text: String, _ part: String) {
    #expect {
      try SerialTransport().check(LinkAddress(text))
    } throws: { error in
      guard let error = error as? BywayError else { return false }
      return error.code == .invalidAddress && error.message.contains(part)
    }
  }
}
