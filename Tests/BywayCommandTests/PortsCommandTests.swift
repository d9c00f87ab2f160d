import Byway
import Foundation
import NIOCore
import Testing

@testable import BywayCommand

@Suite("byway ports") struct PortsCommandTests {
  static let adapter = LinkPort(
    address: "serial:usb:0403:6001:A50285BI", device: "/dev/ttyUSB0", name: "FTDI FT232R \"USB\" UART")
  static let busy = LinkPort(
    address: "serial:/dev/ttyS0", device: "/dev/ttyS0", unavailableReason: "in use by process 1 (getty)")

  @Test("the table of ports is aligned and begins with the address")
  func text() {
    let text = PortTable([Self.adapter, Self.busy]).text
    #expect(
      text == """
        serial:usb:0403:6001:A50285BI  /dev/ttyUSB0  FTDI FT232R "USB" UART
        serial:/dev/ttyS0              /dev/ttyS0                            (in use by process 1 (getty))

        """)
    #expect(PortTable([Self.busy]).text == "serial:/dev/ttyS0  /dev/ttyS0  (in use by process 1 (getty))\n")
    #expect(PortTable([]).text.isEmpty)
  }

  @Test("--json prints an array of ports without unknown values")
  func json() throws {
    let data = Data(PortTable([Self.adapter, Self.busy]).json.utf8)
    let ports = try #require(try JSONSerialization.jsonObject(with: data) as? [[String: String]])
    #expect(
      ports == [
        ["address": Self.adapter.address, "device": "/dev/ttyUSB0", "name": "FTDI FT232R \"USB\" UART"],
        ["address": "serial:/dev/ttyS0", "device": "/dev/ttyS0", "reason": "in use by process 1 (getty)"],
      ])
    #expect(PortTable([]).json == "[]\n")
  }

  @Test("byway ports lists the ports of every transport that can enumerate them")
  func registry() throws {
    let registry = TransportRegistry([Listing(ports: [Self.busy])])
    #expect(try registry.ports() == [Self.busy])
    #expect(try TransportRegistry([]).ports().isEmpty)
  }

  private struct Listing: PortListing {
    let scheme = "listing"
    let options: [LinkOption] = []
    let list: [LinkPort]

    init(ports: [LinkPort]) { list = ports }

    func ports() -> [LinkPort] { list }
    func check(_ address: LinkAddress) throws {}
    func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
      throw POSIXError(.ENODEV)
    }
    func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
      throw POSIXError(.ENODEV)
    }
  }
}
