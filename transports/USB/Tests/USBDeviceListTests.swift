import Byway
import BywayPrimitives
import Foundation
import TestTools
import Testing
import TransportTestSupport

@testable import USBTransport

@Suite struct USBDeviceListTests {
  @Test("USB devices are listed in the order of their places, with interfaces that have bulk endpoints")
  func order() throws {
    let system = try FakeUSB()
    defer { withExtendedLifetime(system) {} }
    try system.add("1-10", "04e8:0001")
    try system.add(
      "1-2", "1d6b:0104", serial: "A1", product: "Byway\tlink", interfaces: ["0 ff4801", "1 ff4801", "2 030000"])
    try system.add("usb1", "1d6b:0002")
    let devices = system.list.all()
    #expect(
      devices.map(\.identity) == [USBIdentity("1d6b:0002"), USBIdentity("1d6b:0104:A1"), USBIdentity("04e8:0001")])
    #expect(devices[1].interfaces.map(\.number) == [0, 1])
    #expect(
      devices[1].interfaces.first == USBInterface(number: 0, kind: .link, input: 0x81, output: 0x02, driver: nil))
    #expect(devices[1].path == "\(system.list.devices)/001/012" && devices[1].name?.contains("\t") == false)
  }

  @Test("the list of ports has an address for each link of a USB device, and for its printer")
  func ports() throws {
    let system = try FakeUSB()
    defer { withExtendedLifetime(system) {} }
    try system.add("1-1", "1d6b:0104", serial: "A1", product: "Byway link", interfaces: ["0 ff4801"])
    try system.add("1-2", "1d6b:0104", serial: "B 2", interfaces: ["0 ff4801", "1 ff4801 usbfs"])
    try system.add("1-3", "03f0:0042", product: "Printer", interfaces: ["0 070102 usblp", "0.1 070104"])
    try system.add("1-4", "0403:6001", interfaces: ["0 ffffff"])
    let ports = try USBTransport(list: system.list).ports()
    #expect(
      ports.map(\.address) == [
        "usb:1d6b:0104:A1", "usb:1d6b:0104?interface=0", "usb:1d6b:0104?interface=1",
        "usb:03f0:0042?class=ipp&http=1.1",
      ])
    #expect(ports[0].name == "Byway link")
    // No device file exists.
    #expect(ports.allSatisfy { $0.unavailableReason == "no permission" })
    for port in ports { _ = try TransportRegistry([USBTransport()]).link(port.address) }
  }

  @Test("descriptors of a USB device that end early, or have no length, are read as far as they go")
  func descriptors() {
    let whole: [UInt8] =
      [9, 2, 0, 0, 0, 1, 0, 0, 0, 9, 4, 3, 1, 2, 7, 1, 4, 0, 7, 5, 0x83, 2, 0, 2, 0, 7, 5, 4, 2, 0, 2, 0]
    let printer = USBInterface(number: 3, alternate: 1, kind: .ipp, input: 0x83, output: 4, driver: nil)
    #expect(USBDescriptors.interfaces(in: whole, configuration: 1) == [printer])
    #expect(USBDescriptors.interfaces(in: whole + [0, 4, 9], configuration: 1) == [printer])
    #expect(USBDescriptors.interfaces(in: whole + [1] + whole, configuration: 1) == [printer])
    #expect(USBDescriptors.interfaces(in: whole + whole, configuration: 1) == [printer, printer])
    #expect(USBDescriptors.interfaces(in: whole, configuration: 2) == [])
    let many = Array(repeating: whole, count: 2000).flatMap(\.self)
    #expect(USBDescriptors.interfaces(in: many, configuration: 1).count == 64)
    for count in 0..<whole.count {
      #expect(USBDescriptors.interfaces(in: Array(whole[..<count]), configuration: 1) == [])
    }
  }

  @Test("an interface has its first bulk endpoint of each direction, and no other endpoints")
  func endpoints() {
    func endpoint(_ address: UInt8, _ kind: UInt8) -> [UInt8] { [7, 5, address, kind, 0, 2, 0] }
    let configuration: [UInt8] = [9, 2, 0, 0, 0, 1, 0, 0, 0]
    func interface(_ number: UInt8) -> [UInt8] { [9, 4, number, 0, 5, 0xFF, 0x48, 1, 0] }
    let first =
      interface(0) + endpoint(0x85, 3) + endpoint(0x81, 2) + endpoint(0x01, 1) + endpoint(0x02, 2) + endpoint(0x83, 2)
      + endpoint(0x04, 2)
    let link = USBInterface(number: 0, kind: .link, input: 0x81, output: 0x02, driver: nil)
    #expect(USBDescriptors.interfaces(in: configuration + first, configuration: 1) == [link])
    // Half a pair is none, and the next interface does not take it over.
    let half = interface(1) + endpoint(0x86, 2)
    let second = interface(2) + endpoint(0x07, 2)
    #expect(USBDescriptors.interfaces(in: configuration + half + second, configuration: 1) == [])
    let other: [UInt8] = [9, 2, 0, 0, 0, 2, 0, 0, 0]
    let active = USBDescriptors.interfaces(in: configuration + first + other + first, configuration: 2)
    #expect(active == [link])
    // A descriptor of two bytes is the shortest.
    #expect(USBDescriptors.interfaces(in: configuration + [2, 9] + first, configuration: 1) == [link])
  }

  @Test("a USB device is named by its maker and product, and its file has at least three digits")
  func names() throws {
    let system = try FakeUSB()
    defer { withExtendedLifetime(system) {} }
    try system.add("1-1", "1d6b:0104", product: "Link", interfaces: ["0 ff4801"])
    try system.set("manufacturer", "Acme", of: "1-1")
    try system.set("busnum", "12", of: "1-1")
    try system.set("devnum", "1003", of: "1-1")
    let device = try #require(system.list.all().first)
    #expect(device.name == "Acme Link" && device.path.hasSuffix("/012/1003"))
    try system.add("1-2", "1d6b:0105", interfaces: ["0 ff4801"])
    #expect(system.list.all().map(\.name) == ["Acme Link", nil])
    try system.set("devnum", "x", of: "1-1")
    #expect(system.list.all().map(\.identity) == [USBIdentity("1d6b:0105")])
  }

  @Test("the driver of an interface is that of the active configuration")
  func drivers() throws {
    let system = try FakeUSB()
    defer { withExtendedLifetime(system) {} }
    try system.add("1-1", "1d6b:0104", interfaces: ["0 ff4801 usbfs", "1 ff4801"])
    #expect(system.list.all().first?.interfaces.map(\.driver) == ["usbfs", nil])
    try system.set("bConfigurationValue", "2", of: "1-1")
    #expect(system.list.all().first?.interfaces.map(\.number) == [7])
    #expect(system.list.all().first?.interfaces.first?.driver == nil)
  }

  @Test("the list of ports says that an interface is in use, or that a device file cannot be opened")
  func unavailable() throws {
    let system = try FakeUSB()
    defer { withExtendedLifetime(system) {} }
    try system.add("1-1", "1d6b:0104", interfaces: ["0 ff4801", "1 ff4801 usbfs"])
    try system.add("1-2", "03f0:0042", interfaces: ["0 070104 usblp"])
    try system.addDeviceFile("001/011")
    try system.addDeviceFile("001/012")
    #expect(
      try USBTransport(list: system.list).ports().map(\.unavailableReason) == [nil, "in use", nil])
  }

  @Test("a message lists at most eight USB devices, without hubs")
  func many() throws {
    let system = try FakeUSB()
    defer { withExtendedLifetime(system) {} }
    try system.add("usb1", "1d6b:0002", withoutInterfaces: true)
    for number in 1...9 {
      let message = try #require(
        #expect(throws: USBFailure.self) { try system.list.device(USBIdentity(vendor: 1, product: 2)) }?.message)
      #expect(!message.contains("1d6b:0002") && !message.contains("…"), "\(message)")
      try system.add("1-\(number)", "04e8:000\(number)", interfaces: ["0 ff4801"])
    }
    let message = #expect(throws: USBFailure.self) { try system.list.device(USBIdentity(vendor: 1, product: 2)) }?
      .message
    #expect(message?.hasSuffix("04e8:0008, ….") == true, "\(message ?? "")")
  }

  @Test("a missing USB device is an absence, and its message lists those that are there")
  func missing() throws {
    let system = try FakeUSB()
    defer { withExtendedLifetime(system) {} }
    let failure = #expect(throws: USBFailure.self) { try system.list.device(USBIdentity(vendor: 1, product: 2)) }
    #expect(failure?.message.contains("There is no USB device 0001:0002") == true && failure?.isAbsence == true)
    #expect(failure?.message.hasSuffix("There are no such devices here.") == true)
    try system.add("1-1", "1d6b:0104", serial: "A1", product: "Link", interfaces: ["0 ff4801"])
    let other = #expect(throws: USBFailure.self) { try system.list.device(USBIdentity(vendor: 1, product: 2)) }
    #expect(other?.message.hasSuffix("There are: 1d6b:0104:A1 (Link).") == true && other?.diagnosis.fault == .noFile)
  }

  @Test("an identity that two USB devices have is refused, with their serial numbers")
  func ambiguous() throws {
    let system = try FakeUSB()
    defer { withExtendedLifetime(system) {} }
    try system.add("1-1", "1d6b:0104", serial: "A", interfaces: ["0 ff4801"])
    try system.add("1-2", "1d6b:0104", serial: "B", interfaces: ["0 ff4801"])
    let failure = #expect(throws: USBFailure.self) {
      try system.list.device(USBIdentity(vendor: 0x1D6B, product: 0x0104))
    }
    #expect(failure?.message.contains("1d6b:0104:A, 1d6b:0104:B") == true && failure?.diagnosis.fault == .ambiguous)
    #expect(
      try system.list.device(USBIdentity(vendor: 0x1D6B, product: 0x0104, serial: "B")).path.hasSuffix("/001/012"))
  }

  @Test("a USB device without an interface for links, or without its file, is an error for a dialer")
  func unusable() async throws {
    let system = try FakeUSB()
    defer { withExtendedLifetime(system) {} }
    try system.add("1-1", "1d6b:0104", interfaces: ["0 030000", "1 ffffff", "2 070104"])
    let transport = USBTransport(list: system.list)
    let error = await bywayError { try await transport.connect(to: LinkAddress("usb:1d6b:0104"), context: .test()) }
    #expect(error?.message.contains("has no interface of class ff/48/01") == true && error?.code == .linkUnavailable)
    try system.add("1-2", "1d6b:0105", interfaces: ["0 ff4801"])
    let gone = await bywayError { try await transport.connect(to: LinkAddress("usb:1d6b:0105"), context: .test()) }
    #expect(gone?.message.contains("is gone") == true && gone?.diagnosis?.fault == .noFile)
    let wrong = await bywayError {
      try await transport.connect(to: LinkAddress("usb:1d6b:0105?interface=4"), context: .test())
    }
    #expect(wrong?.message.contains("has no interface 4 of class") == true)
  }

  @Test("a listener waits for a missing USB device, and gives the reason")
  func waiting() async throws {
    let system = try FakeUSB()
    defer { withExtendedLifetime(system) {} }
    let listener = try await USBTransport(list: system.list).listen(on: LinkAddress("usb:1d6b:0104"), context: .test())
    #expect(listener.unavailableReason?.hasPrefix("There is no USB device 1d6b:0104") == true)
    await listener.close()
  }

  @Test("system errors of a USB device say what to do")
  func failures() {
    let link = USBInterface(number: 3, kind: .link, input: 0x81, output: 0x02, driver: nil)
    let device = USBDevice(identity: USBIdentity(vendor: 1, product: 2), name: nil, path: "/d", interfaces: [link])
    let expected: [(CInt, LinkFault, String)] = [
      (ENOENT, .noFile, "is gone: plug it in again"), (ENODEV, .noFile, "is gone"),
      (EACCES, .noPermission, "70-byway-usb.rules"),
      (EBUSY, .inUse, "Interface 3 of the USB device 0001:0002 is in use by another program"),
      (EIO, .notADevice, "cannot be used"),
    ]
    for (code, fault, part) in expected {
      let failure = USBFailure(opening: device, link, SystemError(code: code))
      #expect(failure.diagnosis.fault == fault && failure.message.contains(part), "\(failure)")
      #expect(failure.isAbsence == (fault == .noFile))
    }
    var taken = link
    taken.driver = "usblp"
    #expect(USBFailure.inUse(device, taken).message.contains("in use by the driver usblp"))
    taken.driver = "usbfs"
    #expect(USBFailure.inUse(device, taken).message.contains("in use by another program"))
  }
}

/// A folder like that of the kernel, with devices whose number is 11, 12 and so on.
struct FakeUSB {
  private let folder: TemporaryFolder
  var list: USBDeviceList { USBDeviceList(folder: folder["devices"], devices: folder["dev"]) }

  init() throws {
    folder = try TemporaryFolder()
  }

  /// - Parameter interfaces: the number, the class and perhaps the driver of each. Interfaces of HID have no bulk endpoints.
  func add(
    _ name: String, _ identity: String, serial: String? = nil, product: String? = nil, interfaces: [String] = [],
    withoutInterfaces: Bool = false
  ) throws {
    let ids = identity.split(separator: ":")
    let number = 10 + (Int(name.split(separator: "-").last ?? "") ?? 0)
    let files: [(String, String?)] = [
      ("idVendor", "\(ids[0])"), ("idProduct", "\(ids[1])"), ("busnum", "1"), ("devnum", "\(number)"),
      ("serial", serial),
      ("product", product),
    ]
    for (file, text) in files { if let text { try write(text, "\(name)/\(file)") } }
    var descriptors: [UInt8] = [18, 1] + Array(repeating: 0, count: 16) + [9, 2, 0, 0, 0, 1, 0, 0, 0]
    for interface in interfaces {
      let parts = interface.split(separator: " ")
      let number = UInt8(parts[0].prefix(1)) ?? 0
      // "1.2" is the second setting of interface 1.
      let alternate = parts[0].count == 3 ? UInt8(parts[0].suffix(1)) ?? 0 : 0
      let kind = Hex.bytes(parts[1]) ?? []
      descriptors += [9, 4, number, alternate, 2] + kind + [0]
      let type: UInt8 = kind.first == 3 ? 3 : 2
      descriptors += [7, 5, 0x81, type, 0, 2, 0, 6, 0x30, 0, 0, 0, 0, 7, 5, 0x02, type, 0, 2, 0]
      if parts.count > 2 {
        try write("", "\(name):1.\(number)/uevent")
        try FileManager.default.createSymbolicLink(
          atPath: folder["devices/\(name):1.\(number)/driver"], withDestinationPath: "../../drivers/\(parts[2])")
      }
    }
    // Another configuration, which is not active.
    if !withoutInterfaces {
      descriptors += [
        9, 2, 0, 0, 0, 2, 0, 0, 0, 9, 4, 7, 0, 2, 0xFF, 0x48, 1, 0, 7, 5, 0x81, 2, 0, 2, 0, 7, 5, 2, 2, 0, 2, 0,
      ]
    }
    try write("1", "\(name)/bConfigurationValue")
    try Data(descriptors).write(to: URL(filePath: folder["devices/\(name)/descriptors"]))
  }

  /// Changes a fact of a device.
  func set(_ fact: String, _ text: String, of name: String) throws { try write(text, "\(name)/\(fact)") }

  /// Makes the file of a device: `001/011`.
  func addDeviceFile(_ name: String) throws {
    let path = folder["dev/\(name)"]
    try FileManager.default.createDirectory(
      atPath: String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)]), withIntermediateDirectories: true)
    try folder.write("", to: "dev/\(name)")
  }

  private func write(_ text: String, _ file: String) throws {
    let path = folder["devices/\(file)"]
    try FileManager.default.createDirectory(
      atPath: String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)]), withIntermediateDirectories: true)
    try folder.write("\(text)\n", to: "devices/\(file)")
  }
}
