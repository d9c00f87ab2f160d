import Byway
import BywayPrimitives
import Foundation
import NIOCore
import TestTools
import Testing

@testable import VirtioTransport

@Suite struct VirtioPortListTests {
  @Test("virtio ports are listed in the order of their numbers, with their names")
  func order() throws {
    let system = try FakePorts(["vport0p10": "ten\n", "vport0p2": "two\n", "vport1p1": "", "vport0p3": nil])
    defer { withExtendedLifetime(system) {} }
    #expect(
      system.list.all().map { $0.path.split(separator: "/").last } == ["vport0p2", "vport0p3", "vport0p10", "vport1p1"])
    #expect(system.list.all().map(\.name) == ["two", nil, "ten", nil])
  }

  @Test("a virtio port is found by its name")
  func names() throws {
    let system = try FakePorts(["vport0p1": "org.byway.link\n", "vport0p2": "other\n"])
    defer { withExtendedLifetime(system) {} }
    #expect(try system.list.path(of: "org.byway.link") == "\(system.devices)/vport0p1")
  }

  @Test("an unknown virtio port is answered with a similar name and the existing ports")
  func missing() throws {
    let system = try FakePorts(["vport0p1": "org.byway.link\n"])
    defer { withExtendedLifetime(system) {} }
    let failure = #expect(throws: VirtioFailure.self) { try system.list.path(of: "org.byway.lonk") }
    #expect(failure?.isAbsence == true && failure?.diagnosis.fault == .noFile)
    #expect(failure?.message.contains("Did you mean virtio:org.byway.link?") == true)
    #expect(failure?.message.contains("There are: virtio:org.byway.link (\(system.devices)/vport0p1).") == true)
  }

  @Test("a message lists at most eight virtio ports")
  func many() throws {
    let names = Dictionary(uniqueKeysWithValues: (1...9).map { ("vport0p\($0)", "port\($0)\n") })
    let system = try FakePorts(names)
    defer { withExtendedLifetime(system) {} }
    let failure = #expect(throws: VirtioFailure.self) { try system.list.path(of: "quite another") }
    #expect(failure?.message.contains("port8") == true && failure?.message.hasSuffix(", ….") == true)
    #expect(failure?.message.contains("port9") == false && failure?.message.contains("Did you mean") == false)
  }

  @Test("without any virtio port, the message names the kernel module")
  func nothing() throws {
    let none = VirtioPortList(classes: "/no/such/folder")
    let failure = #expect(throws: VirtioFailure.self) { try none.path(of: "a") }
    #expect(failure?.message.contains("load the module virtio_console") == true && none.all().isEmpty)
    let empty = try FakePorts([:])
    defer { withExtendedLifetime(empty) {} }
    let another = #expect(throws: VirtioFailure.self) { try empty.list.path(of: "a") }
    #expect(another?.message.contains("It has no other port.") == true)
  }

  @Test("a name that two virtio ports have is refused, with their paths")
  func ambiguous() throws {
    let system = try FakePorts(["vport0p1": "a\n", "vport1p1": "a\n"])
    defer { withExtendedLifetime(system) {} }
    let failure = #expect(throws: VirtioFailure.self) { try system.list.path(of: "a") }
    #expect(failure?.isAbsence == false && failure?.diagnosis.fault == .ambiguous)
    #expect(failure?.message.contains("\(system.devices)/vport0p1, \(system.devices)/vport1p1") == true)
  }

  @Test("the list of virtio ports has addresses that can be used")
  func addresses() throws {
    let system = try FakePorts([
      "vport0p1": "a\n", "vport0p2": "b c\n", "vport0p3": "d\n", "vport0p4": "d\n", "vport0p5": nil,
      "vport0p6": "e?f\n",
    ])
    defer { withExtendedLifetime(system) {} }
    let ports = system.list.all()
    let folder = system.devices
    #expect(
      ports.map { $0.address(among: ports) } == [
        "virtio:a", "virtio:\(folder)/vport0p2", "virtio:\(folder)/vport0p3", "virtio:\(folder)/vport0p4",
        "virtio:\(folder)/vport0p5", "virtio:\(folder)/vport0p6",
      ])
  }

  @Test("the command's list says which ports are for other programs, or cannot be opened")
  func listing() throws {
    let system = try FakePorts(
      ["vport0p1": "org.byway.link\n", "vport0p2": "org.qemu.guest_agent.0\n", "vport0p3": "gone\n"],
      files: ["vport0p1", "vport0p2"])
    defer { withExtendedLifetime(system) {} }
    let ports = try VirtioTransport(list: system.list).ports()
    #expect(ports.map(\.address) == ["virtio:org.byway.link", "virtio:org.qemu.guest_agent.0", "virtio:gone"])
    #expect(ports.map(\.unavailableReason) == [nil, "is for the guest agent of QEMU", "no permission"])
    #expect(ports[0].device == "\(system.devices)/vport0p1")
  }

  @Test("errors of the host's socket say what to do")
  func socketFailures() {
    let connected: [(CInt, LinkFault, String, absent: Bool)] = [
      (ENOENT, .noFile, "There is no /s", true), (ENOTDIR, .noFile, "There is no /s", true),
      (ECONNREFUSED, .nobodyListens, "has ended", true), (EACCES, .noPermission, "Permission denied on /s", false),
      (EPERM, .noPermission, "Permission denied on /s", false), (EAGAIN, .inUse, "in use by another program", false),
      (ETIMEDOUT, .inUse, "in use by another program", false), (EIO, .notADevice, "cannot be used", false),
    ]
    for (code, fault, part, absent) in connected {
      let failure = VirtioFailure(connectingTo: "/s", IOError(errnoCode: code, reason: ""))
      #expect(failure.diagnosis.fault == fault && failure.message.contains(part), "\(failure)")
      #expect(failure.isAbsence == absent)
    }
    #expect(VirtioFailure(connectingTo: "/s", ChannelError.connectTimeout(.seconds(1))).diagnosis.fault == .inUse)
  }

  @Test("the ports of known programs are not for links")
  func owners() {
    for (name, owner) in [
      ("org.qemu.guest_agent.0", "the guest agent of QEMU"), ("com.redhat.spice.0", "the agent of SPICE"),
      ("org.spice-space.webdav.0", "the agent of SPICE"), ("org.libguestfs.channel.0", "libguestfs"),
      ("org.byway.link", nil), ("x.org.libguestfs", nil), (nil, nil),
    ] as [(String?, String?)] {
      #expect(VirtioPort(path: "/p", name: name).owner == owner)
    }
  }

  @Test("a path is a port only if it leads to the device of one")
  func contains() throws {
    let system = try FakePorts(["vport0p1": "a\n", "vport0p2": "b\n"], files: ["vport0p1", "other"])
    defer { withExtendedLifetime(system) {} }
    try FileManager.default.createSymbolicLink(
      atPath: "\(system.devices)/name", withDestinationPath: "\(system.devices)/vport0p1")
    let found = ["vport0p1", "name", "other", "missing", "vport0p2"].map {
      system.list.contains("\(system.devices)/\($0)")
    }
    #expect(found == [true, true, false, false, false])
  }

  @Test("system errors of a virtio port say what to do")
  func failures() {
    let opened: [(CInt, LinkFault, String)] = [
      (ENOENT, .noFile, "There is no /p"), (ENODEV, .noFile, "There is no /p"),
      (ENXIO, .noFile, "There is no /p"), (ENOTDIR, .noFile, "There is no /p"),
      (EPERM, .noPermission, "70-byway-virtio.rules"),
      (EACCES, .noPermission, "70-byway-virtio.rules"),
      (EBUSY, .inUse, "is in use by another program"), (EIO, .notADevice, "/p cannot be used as a virtio port"),
    ]
    for (code, fault, part) in opened {
      let failure = VirtioFailure(openingPort: "/p", SystemError(code: code))
      #expect(failure.diagnosis.fault == fault && failure.message.contains(part), "\(failure)")
      #expect(failure.isAbsence == (fault == .noFile))
    }
    let away = VirtioFailure.hostAway("/p")
    #expect(
      away.isAbsence && away.diagnosis.fault == .nobodyListens && away.message.contains("start byway on the host"))
  }
}

/// Folders like those of the kernel, with ports.
struct FakePorts {
  private let folder: TemporaryFolder
  var classes: String { folder["class"] }
  var devices: String { folder["dev"] }
  var list: VirtioPortList { VirtioPortList(classes: classes, devices: devices) }

  /// - Parameters:
  ///   - names: the contents of the files with the names of ports; `nil` for no file.
  ///   - files: the devices that exist, as empty files.
  init(_ names: [String: String?], files: [String] = []) throws {
    folder = try TemporaryFolder()
    for name in ["class", "dev"] {
      try FileManager.default.createDirectory(atPath: folder[name], withIntermediateDirectories: true)
    }
    for (port, name) in names {
      try FileManager.default.createDirectory(atPath: "\(classes)/\(port)", withIntermediateDirectories: true)
      if let name { try folder.write(name, to: "class/\(port)/name") }
    }
    for file in files { try folder.write("", to: "dev/\(file)") }
  }
}
