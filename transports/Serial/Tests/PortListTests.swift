import BywayPrimitives
import Foundation
import TestTools
import Testing
import TransportTestSupport

@testable import SerialTransport

/// Uses a tree like that of sysfs. libserialport reads USB information from the real sysfs, so it is missing here.
@Suite struct PortListTests {
  @Test("ports are listed by name, without consoles, missing UARTs and vanished devices")
  func names() async throws {
    try await withTemporaryFolder { folder in
      let tree = FakePorts(folder)
      try tree.add("ttyUSB10", on: "../../devices/pci0000:00/usb1/1-1/ttyUSB10/tty/ttyUSB10")
      try tree.add("ttyUSB2", on: "../../devices/pci0000:00/usb1/1-2/ttyUSB2/tty/ttyUSB2")
      try tree.add("ttyS0", on: "../../devices/pnp0/00:00/tty/ttyS0", type: "4\n")
      try tree.add("ttyS1", on: "../../devices/platform/serial8250/tty/ttyS1", type: "0\n")
      try tree.add("tty0", on: "../../devices/virtual/tty/tty0")
      try tree.add("ttyGS0", on: "../../devices/virtual/tty/ttyGS0")
      try tree.add("ttyACM0", on: "../../devices/pci0000:00/usb1/1-3/tty/ttyACM0", hasDevice: false)
      #expect(tree.list.names() == ["ttyGS0", "ttyS0", "ttyUSB2", "ttyUSB10"])
    }
  }

  @Test("without a folder of ports, the list is empty")
  func nothing() {
    #expect(PortList(classes: "/nonexistent", devices: "/nonexistent").all().isEmpty)
  }

  @Test("a port is listed with the stable name that udev gave it")
  func alias() async throws {
    try await withTemporaryFolder { folder in
      let tree = FakePorts(folder)
      try tree.add("ttyUSB0", on: "../../devices/pci0000:00/usb1/1-1/ttyUSB0/tty/ttyUSB0")
      for (kind, name) in [("by-id", "usb-1a86_USB_Serial-if00-port0"), ("by-path", "pci-0000:00:14.0-usb-0:1:1.0")] {
        try FileManager.default.createDirectory(
          atPath: "\(tree.list.devices)/serial/\(kind)", withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
          atPath: "\(tree.list.devices)/serial/\(kind)/\(name)", withDestinationPath: "../../ttyUSB0")
      }
      // The adapter has no serial number, so another one of its kind would have the same name by-id.
      let ports = tree.list.all()
      let alias = "\(tree.list.devices)/serial/by-path/pci-0000:00:14.0-usb-0:1:1.0"
      #expect(ports == [PortDescription(path: "\(tree.list.devices)/ttyUSB0", usb: nil, alias: alias)])
      #expect(ports.first?.address(among: ports) == "serial:\(alias)")
    }
  }

  @Test("a port's address is its adapter's identity if it is unique, else its stable name, else its path")
  func addresses() {
    func port(_ path: String, _ serial: String?, product: UInt16 = 0x6001, alias: String? = nil) -> PortDescription {
      PortDescription(
        path: path, usb: USBAdapter(identity: USBIdentity(vendor: 0x0403, product: product, serial: serial)),
        alias: alias)
    }
    let ports = [
      port("/dev/ttyUSB0", "A1"), port("/dev/ttyUSB1", "A2"),
      // Two ports of one adapter.
      port("/dev/ttyUSB2", "B", product: 0x6010, alias: "/dev/serial/by-id/if00"),
      port("/dev/ttyUSB3", "B", product: 0x6010),
      port("/dev/ttyUSB4", nil, product: 0x6015), port("/dev/ttyUSB5", "what? & why", product: 0x6014),
      PortDescription(path: "/dev/ttyS0"),
    ]
    #expect(
      ports.map { $0.address(among: ports) } == [
        "serial:usb:0403:6001:A1", "serial:usb:0403:6001:A2", "serial:/dev/serial/by-id/if00", "serial:/dev/ttyUSB3",
        "serial:usb:0403:6015", "serial:/dev/ttyUSB5", "serial:/dev/ttyS0",
      ])
  }

  @Test("an adapter is named by its maker and product, without repeating the maker")
  func productNames() {
    func name(_ manufacturer: String?, _ product: String?) -> String? {
      USBAdapter(identity: USBIdentity(vendor: 1, product: 2), manufacturer: manufacturer, productName: product).name
    }
    #expect(name("FTDI", "FT232R USB UART") == "FTDI FT232R USB UART")
    #expect(name("Arduino", "Arduino Uno") == "Arduino Uno")
    #expect(name("QinHeng", nil) == "QinHeng")
    #expect(name(nil, nil) == nil)
  }
}

struct FakePorts {
  let list: PortList

  init(_ folder: String) {
    list = PortList(classes: "\(folder)/class/tty", devices: "\(folder)/dev")
  }

  func add(_ name: String, on target: String, type: String? = nil, hasDevice: Bool = true) throws {
    let files = FileManager.default
    for folder in [list.classes, list.devices] {
      try files.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }
    let device = "\(list.classes)/\(target)"
    try files.createDirectory(atPath: device, withIntermediateDirectories: true)
    try files.createSymbolicLink(atPath: "\(list.classes)/\(name)", withDestinationPath: target)
    try type?.write(toFile: "\(device)/type", atomically: true, encoding: .utf8)
    if hasDevice { try "".write(toFile: "\(list.devices)/\(name)", atomically: true, encoding: .utf8) }
  }
}
