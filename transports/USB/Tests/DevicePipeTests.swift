import Byway
import BywayPrimitives
import CBywayUSB
import Foundation
import Glibc
import Synchronization
import TestTools
import Testing
import TransportTestSupport

@testable import USBTransport

/// Tests what the computer's end asks of the kernel.
@Suite struct DevicePipeTests {
  private let folder: TemporaryFolder
  private let kernel = FakeKernel()

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("", to: "device")
  }

  private func pipe(
    number: UInt8 = 3, alternate: UInt8 = 0, kind: USBClass = .link, driver: String? = nil
  ) throws(USBFailure) -> DevicePipe {
    let interface = USBInterface(
      number: number, alternate: alternate, kind: kind, input: 0x81, output: 0x02, driver: driver)
    let device = USBDevice(
      identity: USBIdentity(vendor: 1, product: 2), name: nil, path: folder["device"], interfaces: [interface])
    return try DevicePipe(device, interface, calls: kernel.calls)
  }

  @Test("an interface is claimed, and a printer is taken from its driver and reset")
  func opening() throws {
    try pipe().close()
    try pipe(driver: "usbfs").close()
    try pipe(alternate: 2).close()
    try pipe(kind: .ipp).close()
    try pipe(number: 1, alternate: 1, kind: .ipp, driver: "usblp").close()
    #expect(
      kernel.allCalls == [
        "claim 3", "release 3", "claim 3", "release 3", "claim 3", "select 3 2", "release 3", "claim 3", "select 3 0",
        "release 3", "detach 1", "claim 1", "select 1 1", "release 1",
      ])
  }

  @Test("a device whose interface is in use is closed again")
  func inUse() throws {
    kernel.claimError.withLock { $0 = { _ in EBUSY } }
    let failure = #expect(throws: USBFailure.self) { try pipe() }
    #expect(failure?.diagnosis.fault == .inUse)
    #expect(try folder.openFiles() == [])
  }

  @Test("a transfer has the endpoint of its direction, and completes with its slot and length")
  func transfers() throws {
    let pipe = try pipe()
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 100, alignment: 16)
    defer { memory.deallocate() }
    let last = TransferPump.depth - 1
    for slot in [0, last] {
      try pipe.receive(into: memory, slot: slot)
      try pipe.send(UnsafeMutableRawBufferPointer(rebasing: memory[..<60]), slot: slot)
    }
    let requests = kernel.requests
    #expect(requests.map(\.pointee.endpoint) == [0x81, 0x02, 0x81, 0x02])
    #expect(requests.map(\.pointee.length) == [100, 60, 100, 60])
    #expect(requests.allSatisfy { $0.pointee.type == 3 && $0.pointee.buffer == memory.baseAddress })
    #expect(try pipe.nextCompletion() == nil)
    for (request, count) in zip(requests, [70, 60, 1, 60] as [CInt]) {
      request.pointee.transferred = count
      kernel.complete(request)
    }
    #expect(try pipe.nextCompletion() == .received(slot: 0, count: 70))
    #expect(try pipe.nextCompletion() == .sent(slot: 0))
    #expect(try pipe.nextCompletion() == .received(slot: last, count: 1))
    #expect(try pipe.nextCompletion() == .sent(slot: last))
    #expect(try pipe.nextCompletion() == nil)
    pipe.close()
  }

  @Test(
    "an error of a transfer ends the pipe, and a halted endpoint is made usable again in both directions",
    arguments: [
      (EPIPE, "the other end has halted an endpoint", true), (ESHUTDOWN, "it was unplugged", false),
      (ENODEV, "it was unplugged", false), (ENOENT, "it was unplugged", false),
      (EOVERFLOW, "a transfer is longer than 16384 bytes", false), (EPROTO, "Protocol error", false),
    ])
  func errors(_ code: CInt, _ reason: String, _ isHalted: Bool) throws {
    let pipe = try pipe()
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 8, alignment: 16)
    defer { memory.deallocate() }
    try pipe.receive(into: memory, slot: 0)
    kernel.requests[0].pointee.status = -code
    kernel.complete(kernel.requests[0])
    let end = #expect(throws: PipeEnd.self) { try pipe.nextCompletion() }
    #expect(end?.reason == reason)
    pipe.close()
    #expect(kernel.allCalls == ["claim 3"] + (isHalted ? ["clear 129", "clear 2"] : []) + ["release 3"])
    #expect(try folder.openFiles() == [])
  }

  @Test("a request that the kernel refuses, or a device that is gone, ends the pipe with the reason")
  func refusals() throws {
    let pipe = try pipe()
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 8, alignment: 16)
    defer { memory.deallocate() }
    for (code, isEnd) in [(EAGAIN, false), (EINTR, false), (ENODEV, true)] {
      kernel.reapError.withLock { $0 = code }
      if isEnd {
        #expect(throws: PipeEnd("it was unplugged")) { try pipe.nextCompletion() }
      } else {
        #expect(try pipe.nextCompletion() == nil)
      }
    }
    kernel.submitError.withLock { $0 = ENODEV }
    #expect(throws: PipeEnd("it was unplugged")) { try pipe.receive(into: memory, slot: 0) }
    #expect(throws: PipeEnd("it was unplugged")) { try pipe.send(memory, slot: 0) }
    pipe.close()
  }

  @Test("the kernel's refusal of a call is an error")
  func kernelErrors() throws {
    // A file that is no device.
    let descriptor = try Descriptor.open("/dev/null", O_RDWR)
    defer { Glibc.close(descriptor) }
    let calls = DeviceCalls.kernel
    var request = usb_request()
    #expect(throws: SystemError(code: ENOTTY)) { try calls.claim(descriptor, 0) }
    #expect(throws: SystemError(code: ENOTTY)) { try calls.submit(descriptor, &request) }
    #expect(throws: SystemError(code: ENOTTY)) { try calls.reap(descriptor) }
  }

  @Test("a device that refuses its file is closed, and its interfaces are not tried")
  func noFile() throws {
    try FileManager.default.removeItem(atPath: folder["device"])
    #expect(throws: USBFailure.self) { try pipe() }
    #expect(kernel.allCalls == [])
  }

  @Test("a printer is opened by its class, and a listener opens a device again after each loss")
  func classes() async throws {
    let system = try FakeUSB()
    defer { withExtendedLifetime(system) {} }
    try system.add("1-1", "1d6b:0104", interfaces: ["0 ff4801", "2 070104"])
    try system.addDeviceFile("001/011")
    let transport = USBTransport(list: system.list, calls: kernel.calls)
    let printer = try await transport.connect(
      to: LinkAddress("usb:1d6b:0104?class=ipp&http=1.1"), context: .test())
    try await printer.close()
    #expect(kernel.allCalls == ["claim 2", "select 2 0", "release 2"])
    let listener = try await transport.listen(on: LinkAddress("usb:1d6b:0104"), context: .test())
    for _ in 0..<2 {
      let channel = try #require(try await nextChannel(of: listener))
      #expect(listener.unavailableReason == nil)
      try await channel.close()
    }
    #expect(kernel.allCalls.dropFirst(3).prefix(4) == ["claim 0", "release 0", "claim 0", "release 0"])
    await listener.close()
    kernel.claimError.withLock { $0 = { _ in EBUSY } }
    let error = await bywayError { try await transport.listen(on: LinkAddress("usb:1d6b:0104"), context: .test()) }
    #expect(error?.code == .linkUnavailable && error?.diagnosis?.fault == .inUse)
  }

  @Test("a dialer takes the first interface that is free, and the error names the one that it wants")
  func firstFree() async throws {
    let system = try FakeUSB()
    defer { withExtendedLifetime(system) {} }
    try system.add("1-1", "1d6b:0104", interfaces: ["0 ff4801", "1 ff4801", "2 070104", "3 ff4801"])
    try system.addDeviceFile("001/011")
    let transport = USBTransport(list: system.list, calls: kernel.calls)
    kernel.claimError.withLock { $0 = { $0 == 0 ? EBUSY : nil } }
    let channel = try await transport.connect(to: LinkAddress("usb:1d6b:0104"), context: .test())
    #expect(kernel.allCalls.prefix(2) == ["claim 0", "claim 1"])
    try await channel.close()
    #expect(kernel.allCalls.last == "release 1")
    kernel.claimError.withLock { $0 = { _ in EBUSY } }
    let error = await bywayError { try await transport.connect(to: LinkAddress("usb:1d6b:0104"), context: .test()) }
    #expect(error?.message.contains("Interface 3 of the USB device") == true, "\(error as Any)")
    let second = await bywayError {
      try await transport.connect(to: LinkAddress("usb:1d6b:0104?interface=1"), context: .test())
    }
    #expect(second?.message.contains("Interface 1 of the USB device") == true, "\(second as Any)")
    // Another error is about the device, and ends the search.
    kernel.claimError.withLock { $0 = { _ in ENODEV } }
    let before = kernel.allCalls.count
    let gone = await bywayError { try await transport.connect(to: LinkAddress("usb:1d6b:0104"), context: .test()) }
    #expect(gone?.diagnosis?.fault == .noFile && kernel.allCalls.count == before + 1)
  }
}

/// The kernel behind the file of a device, which records what it is asked for.
private final class FakeKernel: @unchecked Sendable {
  // Sendable: its variables are in locks; a request is used by one thread at a time.
  let claimError = Mutex<@Sendable (UInt8) -> CInt?>({ _ in nil })
  let submitError = Mutex<CInt?>(nil)
  let reapError = Mutex<CInt?>(nil)
  private let record = Mutex<[String]>([])
  private let submitted = Mutex<[UInt]>([])
  private let completed = Mutex<[UInt]>([])

  var allCalls: [String] { record.withLock(\.self) }
  var requests: [DeviceCalls.Request] { submitted.withLock { $0.compactMap(DeviceCalls.Request.init(bitPattern:)) } }

  func complete(_ request: DeviceCalls.Request) {
    completed.withLock { $0.append(UInt(bitPattern: request)) }
  }

  private func note(_ call: String) {
    record.withLock { $0.append(call) }
  }

  var calls: DeviceCalls {
    DeviceCalls(
      detachDriver: { _, interface in self.note("detach \(interface)") },
      claim: { (_, interface) throws(SystemError) in
        self.note("claim \(interface)")
        if let code = self.claimError.withLock({ $0(interface) }) { throw SystemError(code: code) }
      },
      select: { _, interface, alternate in self.note("select \(interface) \(alternate)") },
      submit: { (_, request) throws(SystemError) in
        if let code = self.submitError.withLock(\.self) { throw SystemError(code: code) }
        self.submitted.withLock { $0.append(UInt(bitPattern: request)) }
      },
      reap: { _ throws(SystemError) in
        if let code = self.reapError.withLock(\.self) { throw SystemError(code: code) }
        let next = self.completed.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        guard let next else { throw SystemError(code: EAGAIN) }
        return DeviceCalls.Request(bitPattern: next)
      },
      clearHalt: { _, endpoint in self.note("clear \(endpoint)") },
      release: { _, interface in self.note("release \(interface)") })
  }
}
