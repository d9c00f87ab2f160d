import Byway
import Foundation
import NIOCore
import Synchronization
import TestTools
import Testing
import TransportTestSupport

@testable import USBTransport

/// Tests the life of a gadget with folders like those of the kernel. Tests/Device/usb.py has a real one.
@Suite struct CreatedGadgetTests {
  private let system: FakeGadgets
  private let address: LinkAddress

  init() throws {
    system = try FakeGadgets()
    address = try LinkAddress("usb-gadget:?name=a")
  }

  private func listen() async throws -> any Listener {
    try await USBGadgetTransport(layout: system.layout).listen(on: address, context: .test())
  }

  @Test("a gadget is bound to its controller, waits for a computer, and is removed with its listener")
  func life() async throws {
    let listener = try await listen()
    #expect(system.binding == "one" && system.links == ["configs/c.1/ffs.a", "os_desc/c.1"])
    #expect(system.text("idProduct") == "0x104" && system.mounts == ["mount a"])
    #expect(listener.unavailableReason == "No computer uses the USB gadget a: plug in the cable.")
    await listener.close()
    #expect(system.isRemoved && system.mounts == ["mount a", "unmount f/a"])
    // The function leaves the cable before it is unmounted.
    #expect(system.usersAtUnmount.withLock(\.self) == 0)
    #expect(try await nextChannel(of: listener) == nil)
    await listener.close()
    #expect(system.mounts == ["mount a", "unmount f/a"])
  }

  @Test("a gadget stays until the last channel of a closed listener has ended")
  func channelOutlivesListener() async throws {
    let listener = try await listen()
    let function = try #require(system.function)
    try function.report(0, 2)
    let channel = try #require(try await nextChannel(of: listener))
    let bytes = try await channel.received(count: FunctionFolder.received.count).bytes
    #expect(Array(buffer: bytes).starts(with: FunctionFolder.received))
    try await channel.writeAndFlush(ByteBuffer(bytes: [1, 2, 3]))
    #expect(try await eventually { function.sent == [1, 2, 3] })
    await listener.close()
    #expect(!system.isRemoved && channel.isActive)
    try await channel.close()
    #expect(system.isRemoved)
  }

  @Test("a gadget whose endpoints cannot be opened is removed with its listener")
  func noEndpoint() async throws {
    let listener = try await listen()
    unlink(system.path("f/a/ep1"))
    try #require(system.function).report(2)
    #expect(try await eventually { listener.unavailableReason?.hasPrefix("No FunctionFS is mounted") == true })
    await listener.close()
    #expect(system.isRemoved)
  }

  @Test("a gadget that cannot be used from the beginning is removed, and is the error of its listener")
  func unusableEndpoint() async throws {
    system.fault.withLock { $0 = .endpoint }
    let error = await bywayError { try await listen() }
    #expect(error?.code == .linkUnavailable && error?.message.contains("Is a directory") == true, "\(error as Any)")
    #expect(system.links == [] && system.mounts == ["mount a", "unmount f/a"])
    #expect(system.usersAtUnmount.withLock(\.self) == 0)
  }

  @Test("the gadget of a program that was killed is replaced")
  func leftOver() async throws {
    try GadgetFiles(settings: GadgetSettings(address), layout: system.layout).create()
    #expect(system.links.count == 2)
    let listener = try await listen()
    #expect(system.mounts == ["mount a", "unmount f/a", "mount a"] && system.binding == "one")
    await listener.close()
    #expect(system.isRemoved)
  }

  @Test("a gadget serves one computer after another, and is created once")
  func again() async throws {
    let listener = try await listen()
    let function = try #require(system.function)
    for _ in 0..<2 {
      try function.report(2)
      let channel = try #require(try await nextChannel(of: listener))
      let ended = channel.closeFuture
      channel.read()
      try function.report(3)
      channel.close(promise: nil)
      try await ended.get()
      #expect(!system.isRemoved)
    }
    #expect(system.mounts == ["mount a"])
    await listener.close()
    #expect(system.isRemoved)
  }

  @Test(
    "a gadget that cannot be completed is removed, and the error gives the reason",
    arguments: [
      (FakeGadgets.Fault.mount, "load the module usb_f_fs"), (.control, "cannot be used: No such file"),
      (.binding, "cannot be used: Is a directory"), (.file, "load the module usb_f_fs"),
    ])
  func failures(_ fault: FakeGadgets.Fault, _ words: String) async throws {
    system.fault.withLock { $0 = fault }
    if fault == .file { try FileManager.default.removeItem(atPath: system.path("g/a/os_desc/use")) }
    let error = await bywayError { try await listen() }
    #expect(error?.code == .linkUnavailable && error?.message.contains(words) == true, "\(error as Any)")
    #expect(system.links == [] && !system.exists("f/a") && !system.exists("g/a/functions/ffs.a"))
    #expect(!system.exists("g/a/configs/c.1") && system.mounts.last != "mount a")
  }

  @Test("the first controller without a gadget is used, unless the address names one")
  func controllers() throws {
    try system.write("", to: "udc/three/function")
    try system.write("", to: "udc/two/function")
    try system.write("one\n", to: "g/other/UDC")
    try system.write("g_serial\n", to: "udc/three/function")
    try GadgetFiles(settings: GadgetSettings(address), layout: system.layout).bind()
    #expect(system.binding == "two")
    let named = try GadgetSettings(LinkAddress("usb-gadget:?name=a&udc=one"))
    let failure = #expect(throws: GadgetFailure.self) { try GadgetFiles(settings: named, layout: system.layout).bind() }
    #expect(failure?.message.contains("one has another gadget, other:") == true)
  }

  @Test("a function that the system has mounted is used in place, and stays when its listener ends")
  func mounted() async throws {
    let folder = try TemporaryFolder()
    let function = try FunctionFolder(folder.path)
    let listener = try await USBGadgetTransport(layout: system.layout).listen(
      on: LinkAddress("usb-gadget:\(folder.path)"), context: .test())
    #expect(listener.unavailableReason == "No computer uses the \(folder.path): plug in the cable.")
    try function.report(2)
    let channel = try #require(try await nextChannel(of: listener))
    try await channel.close()
    await listener.close()
    #expect(system.mounts == [] && folder.names == ["ep0", "ep1", "ep2"])
    #expect(try folder.openFiles() == [])
  }
}

/// Folders like those of the kernel with one controller, whose FunctionFS has files.
final class FakeGadgets: Sendable {
  enum Fault: Sendable { case mount, control, binding, file, endpoint }

  let fault = Mutex<Fault?>(nil)
  private let folder: TemporaryFolder
  private let record = Mutex<[String]>([])
  private let mounted = Mutex<FunctionFolder?>(nil)
  /// How many descriptors of the control endpoint were open at the last unmount.
  let usersAtUnmount = Mutex<Int?>(nil)

  init() throws {
    folder = try TemporaryFolder()
    for name in ["udc/one", "g/a/configs", "g/a/functions", "g/a/strings/0x409", "g/a/os_desc"] {
      try FileManager.default.createDirectory(atPath: folder[name], withIntermediateDirectories: true)
    }
    // The kernel makes these files with their folders.
    for name in [
      "UDC", "idVendor", "idProduct", "strings/0x409/manufacturer", "strings/0x409/product", "os_desc/use",
      "os_desc/b_vendor_code", "os_desc/qw_sign",
    ] {
      try folder.write("", to: "g/a/\(name)")
    }
  }

  var layout: GadgetLayout {
    var layout = GadgetLayout(gadgets: folder["g"], functions: folder["f"], controllers: folder["udc"])
    layout.mount = { name, path in
      self.record.withLock { $0.append("mount \(name)") }
      switch self.fault.withLock(\.self) {
      case .mount:
        errno = ENODEV
        return -1
      case .control: return 0
      case .binding:
        unlink(self.folder["g/a/UDC"])
        mkdir(self.folder["g/a/UDC"], 0o755)
      case .file, .endpoint, nil: break
      }
      self.mounted.withLock { $0 = try? FunctionFolder(path) }
      if self.fault.withLock(\.self) == .endpoint {
        try? self.function?.report(2)
        unlink("\(path)/ep1")
        mkdir("\(path)/ep1", 0o755)
      }
      return 0
    }
    layout.unmount = { path in
      // There is none before the first mount.
      guard self.exists("f/a") else { return }
      self.record.withLock { $0.append("unmount \(path.dropFirst(self.folder.path.utf8.count + 1))") }
      self.usersAtUnmount.withLock { $0 = self.function?.openControls }
      FunctionFolder.clear(path)
    }
    return layout
  }

  var function: FunctionFolder? { mounted.withLock(\.self) }
  var mounts: [String] { record.withLock(\.self) }
  var binding: String? { text("UDC") }
  var links: [String] {
    ["configs/c.1/ffs.a", "os_desc/c.1"].filter {
      (try? FileManager.default.destinationOfSymbolicLink(atPath: folder["g/a/\($0)"])) != nil
    }
  }
  var isRemoved: Bool { binding?.hasPrefix("\n") == true && links.isEmpty && !exists("f/a") }

  func path(_ name: String) -> String { folder[name] }

  func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: folder[name]) }

  func text(_ name: String) -> String? { try? String(contentsOfFile: folder["g/a/\(name)"], encoding: .utf8) }

  func write(_ text: String, to name: String) throws {
    try FileManager.default.createDirectory(
      atPath: folder[String(name[..<(name.lastIndex(of: "/") ?? name.endIndex)])], withIntermediateDirectories: true)
    try folder.write(text, to: name)
  }
}
