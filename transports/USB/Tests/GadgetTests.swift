import Byway
import BywayPrimitives
import Foundation
import TestTools
import Testing
import TransportTestSupport

@testable import USBTransport

@Suite struct GadgetTests {
  @Test("the descriptors of a function have the layout of FunctionFS")
  func descriptors() {
    let head: [UInt8] = [3, 0, 0, 0, 144, 0, 0, 0, 15, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0]
    let interface: [UInt8] = [9, 4, 0, 0, 2, 0xFF, 0x48, 0x01, 1]
    func endpoints(_ low: UInt8, _ high: UInt8, _ companion: [UInt8] = []) -> [UInt8] {
      [7, 5, 0x01, 2, low, high, 0] + companion + [7, 5, 0x82, 2, low, high, 0] + companion
    }
    let winUSB: [UInt8] =
      [0, 35, 0, 0, 0, 1, 0, 4, 0, 1, 0, 0, 1] + Array("WINUSB".utf8) + Array(repeating: 0, count: 16)
    let speeds =
      interface + endpoints(64, 0) + interface + endpoints(0, 2) + interface + endpoints(0, 4, [6, 0x30, 4, 0, 0, 0])
    #expect(FunctionDescriptors.descriptors == head + speeds + winUSB)
    #expect(FunctionDescriptors.descriptors.count == 144)
  }

  @Test("the strings of a function have the layout of FunctionFS")
  func strings() {
    #expect(
      FunctionDescriptors.strings
        == [2, 0, 0, 0, 29, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 9, 4] + Array("Byway link".utf8) + [0])
  }

  @Test("events of a function are read from the kernel's records")
  func events() {
    func record(_ kind: UInt8, _ request: UInt8 = 0) -> [UInt8] {
      [request] + Array(repeating: 9, count: 7) + [kind, 0, 0, 0]
    }
    let kinds = (0...7).flatMap { record($0) }
    #expect(
      FunctionEvent.parse(kinds) == [
        .bound, .unbound, .enabled, .disabled, .request(isToHost: false), .suspended, .resumed,
      ])
    #expect(FunctionEvent.parse(record(4, 0xC0) + record(2).dropLast()) == [.request(isToHost: true)])
    #expect(FunctionEvent.parse([]) == [])
  }

  @Test("the number of the activation grows each time that the computer enables a function")
  func rounds() throws {
    var ends: [CInt] = [-1, -1]
    guard pipe(&ends) == 0, ends.allSatisfy({ fcntl($0, F_SETFL, O_NONBLOCK) == 0 }) else {
      throw FixtureError("no pipe: \(errno)")
    }
    let writing = ends[1]
    defer { close(writing) }
    let control = FunctionControl(events: ends[0])
    func update(_ kinds: UInt8...) -> Int? {
      for kind in kinds {
        var record: [UInt8] = Array(repeating: 0, count: 8) + [kind, 0, 0, 0]
        _ = write(writing, &record, record.count)
      }
      return control.update()
    }
    #expect(update() == nil && update(0) == nil)
    #expect(update(2) == 1 && update() == 1)
    // Suspended, it keeps its session.
    #expect(update(5) == 1 && update(6) == 1)
    // A reset, which disables it for a moment.
    #expect(update(3, 2) == 2 && update(3) == nil && update(2) == 3 && update(1) == nil)
    #expect(update(2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2) == 9)
  }

  @Test("a gadget is made of folders and files in the order that the kernel requires")
  func layout() throws {
    let settings = try GadgetSettings(LinkAddress("usb-gadget:?name=a&serial=S&product=P&id=1209:0001"))
    let steps = GadgetLayout(gadgets: "/g", functions: "/f").steps(settings)
    #expect(
      steps == [
        .folder("/g/a"), .write("0x1209", to: "/g/a/idVendor"), .write("0x1", to: "/g/a/idProduct"),
        .folder("/g/a/strings/0x409"), .write("Byway", to: "/g/a/strings/0x409/manufacturer"),
        .write("P", to: "/g/a/strings/0x409/product"), .write("S", to: "/g/a/strings/0x409/serialnumber"),
        .folder("/g/a/configs/c.1"), .folder("/g/a/functions/ffs.a"),
        .link("/g/a/functions/ffs.a", to: "/g/a/configs/c.1/ffs.a"), .write("1", to: "/g/a/os_desc/use"),
        .write("0xcd", to: "/g/a/os_desc/b_vendor_code"), .write("MSFT100", to: "/g/a/os_desc/qw_sign"),
        .link("/g/a/configs/c.1", to: "/g/a/os_desc/c.1"), .folder("/f/a"),
      ])
    let plain = try GadgetSettings(LinkAddress("usb-gadget:"))
    #expect(!GadgetLayout().steps(plain).contains { "\($0)".contains("serialnumber") })
  }

  @Test("a gadget that cannot be created is an error that says why, and leaves nothing behind")
  func creation() throws {
    let system = try FakeControllers()
    defer { withExtendedLifetime(system) {} }
    func failure(_ options: String = "") throws -> GadgetFailure? {
      let settings = try GadgetSettings(LinkAddress("usb-gadget:?name=a\(options)"))
      return #expect(throws: GadgetFailure.self) { try GadgetFiles(settings: settings, layout: system.layout).create() }
    }
    #expect(try failure()?.message.contains("load the module libcomposite") == true)
    try system.makeFolder("g")
    #expect(try failure()?.message.contains("has no USB device controller") == true)
    #expect(try failure()?.isAbsence == true)
    try system.write("", to: "udc/one/function")
    #expect(
      try failure("&udc=two")?.message.contains("no USB device controller two: check udc=. There are: one.") == true)
    try system.write("one\n", to: "g/other/UDC")
    #expect(try failure()?.message.contains("The USB device controller one has another gadget, other:") == true)
    try system.write("g_serial\n", to: "udc/two/function")
    #expect(try failure("&udc=two")?.message.contains("two has another gadget:") == true)
    try system.write("", to: "udc/three/function")
    try system.write("nine\n", to: "g/a/UDC")
    #expect(try failure()?.message.contains("The USB gadget a is in use") == true)
    #expect(try failure()?.diagnosis.fault == .inUse)
  }

  @Test("a listener waits for a USB device controller, and gives the reason")
  func waiting() async throws {
    let system = try FakeControllers()
    defer { withExtendedLifetime(system) {} }
    try system.makeFolder("g")
    let transport = USBGadgetTransport(layout: system.layout)
    let listener = try await transport.listen(on: LinkAddress("usb-gadget:"), context: .test())
    #expect(listener.unavailableReason?.contains("has no USB device controller") == true)
    await listener.close()
    let mounted = try await transport.listen(on: LinkAddress("usb-gadget:/no/such/function"), context: .test())
    #expect(mounted.unavailableReason?.hasPrefix("No FunctionFS is mounted at /no/such/function") == true)
    await mounted.close()
  }

  @Test("a kernel without gadgets is an error for a listener")
  func noConfigFS() async throws {
    let system = try FakeControllers()
    defer { withExtendedLifetime(system) {} }
    let transport = USBGadgetTransport(layout: system.layout)
    let error = await bywayError { try await transport.listen(on: LinkAddress("usb-gadget:"), context: .test()) }
    #expect(error?.code == .linkUnavailable && error?.diagnosis?.fault == .noRoute)
    let dialed = await bywayError { try await transport.connect(to: LinkAddress("usb-gadget:"), context: .test()) }
    #expect(dialed?.message.contains("can only listen") == true)
  }

  @Test("system errors of a gadget say what to do")
  func failures() {
    let expected: [(GadgetFailure, LinkFault, String)] = [
      (GadgetFailure(creating: "a", SystemError(code: EACCES)), .noPermission, "run this as root"),
      (GadgetFailure(creating: "a", SystemError(code: EPERM)), .noPermission, "run this as root"),
      (GadgetFailure(creating: "a", SystemError(code: EROFS)), .noPermission, "run this as root"),
      (GadgetFailure(creating: "a", SystemError(code: ENOENT)), .notADevice, "load the module usb_f_fs"),
      (GadgetFailure(creating: "a", SystemError(code: ENODEV)), .notADevice, "load the module usb_f_fs"),
      (GadgetFailure(creating: "a", SystemError(code: EIO)), .notADevice, "The USB gadget a cannot be used"),
      (GadgetFailure(opening: "/f", SystemError(code: ENOENT)), .noFile, "No FunctionFS is mounted at /f"),
      (GadgetFailure(opening: "/f", SystemError(code: ENOTDIR)), .noFile, "No FunctionFS is mounted at /f"),
      (GadgetFailure(opening: "/f", SystemError(code: EPERM)), .noPermission, "Permission denied on /f"),
      (GadgetFailure(opening: "/f", SystemError(code: EIO)), .notADevice, "The USB gadget /f cannot be used"),
      (.closed, .nobodyListens, "was closed"), (.nameInUse("a"), .inUse, "write name= with another name"),
      (GadgetFailure(opening: "/f", SystemError(code: EACCES)), .noPermission, "Permission denied on /f"),
      (GadgetFailure(opening: "/f", SystemError(code: EBUSY)), .inUse, "in use by another program"),
      (.noHost("/f"), .nobodyListens, "plug in the cable"),
      (.noController(nil, []), .noRoute, "enable the device mode"),
    ]
    for (failure, fault, part) in expected {
      #expect(failure.diagnosis.fault == fault && failure.message.contains(part), "\(failure)")
    }
    let absent: [GadgetFailure] = [.noController(nil, []), .noFunction("/f"), .noHost("/f")]
    let lasting: [GadgetFailure] = [.noConfigFS, .nameInUse("a"), .noPermission("a"), .functionInUse("a"), .closed]
    #expect(absent.allSatisfy(\.isAbsence) && !lasting.contains(where: \.isAbsence))
  }
}

/// Folders like those of the kernel for gadgets and their controllers.
private struct FakeControllers {
  private let folder: TemporaryFolder
  var layout: GadgetLayout { GadgetLayout(gadgets: folder["g"], functions: folder["f"], controllers: folder["udc"]) }

  init() throws {
    folder = try TemporaryFolder()
  }

  func makeFolder(_ name: String) throws {
    try FileManager.default.createDirectory(atPath: folder[name], withIntermediateDirectories: true)
  }

  func write(_ text: String, to name: String) throws {
    try makeFolder(String(name[..<(name.lastIndex(of: "/") ?? name.endIndex)]))
    try folder.write(text, to: name)
  }
}
