import BywayPrimitives
import Foundation
import TestTools
import Testing
import TransportTestSupport

@testable import USBTransport

/// Tests the endpoints of a function with files in their place.
@Suite struct FunctionPipeTests {
  private let folder: TemporaryFolder
  private let function: FunctionFolder

  init() throws {
    folder = try TemporaryFolder()
    function = try FunctionFolder(folder.path)
  }

  /// Returns a function that a computer has enabled.
  private func enabled() async throws -> FunctionControl {
    let control = try FunctionControl(function.path)
    try function.report(0, 2)
    #expect(try await eventually { control.update() == 1 })
    return control
  }

  @Test("a program describes the function before its strings")
  func description() throws {
    let control = try FunctionControl(function.path)
    let wanted = FunctionDescriptors.descriptors + FunctionDescriptors.strings
    #expect(try function.described(wanted.count) == wanted)
    withExtendedLifetime(control) {}
  }

  @Test("a function that refuses its description is closed")
  func refusedDescription() throws {
    let other = try TemporaryFolder()
    // A file that can be opened, and refuses each write.
    try FileManager.default.createSymbolicLink(atPath: other["ep0"], withDestinationPath: "/dev/full")
    let before = try Folder.names(in: "/proc/self/fd").count { name in
      (try? SymbolicLink.target(of: "/proc/self/fd/\(name)")) == "/dev/full"
    }
    let error = #expect(throws: SystemError.self) { try FunctionControl(other.path) }
    #expect(error?.code == ENOSPC)
    let after = try Folder.names(in: "/proc/self/fd").count { name in
      (try? SymbolicLink.target(of: "/proc/self/fd/\(name)")) == "/dev/full"
    }
    #expect(before == 0 && after == 0)
  }

  @Test("transfers of a function complete with their slot and their length, in both directions")
  func transfers() async throws {
    let control = try await enabled()
    let pipe = try control.openPipe(activation: 1)
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 16)
    defer { memory.deallocate() }
    let length = FunctionFolder.received.count
    for slot in [0, TransferPump.depth - 1] {
      memory.copyBytes(from: [UInt8](repeating: 0, count: 64))
      try pipe.receive(into: memory, slot: slot)
      #expect(try pipe.nextCompletion() == .received(slot: slot, count: length))
      #expect(Array(memory[..<length]) == FunctionFolder.received)
      memory.copyBytes(from: Array("to computer \(slot)".utf8))
      try pipe.send(UnsafeMutableRawBufferPointer(rebasing: memory[..<13]), slot: slot)
      #expect(try pipe.nextCompletion() == .sent(slot: slot))
      #expect(function.sent == Array("to computer \(slot)".utf8.prefix(13)))
    }
    #expect(try pipe.nextCompletion() == nil)
    pipe.close()
    #expect(try folder.openFiles() == [])
  }

  @Test("the counter of a function announces completed transfers until they are taken")
  func announcements() async throws {
    let control = try await enabled()
    let pipe = try control.openPipe(activation: 1)
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 16)
    defer { memory.deallocate() }
    func announced() -> [Bool] {
      var waits = pipe.waits
      _ = poll(&waits, nfds_t(waits.count), 0)
      return waits.map { $0.revents != 0 }
    }
    #expect(announced() == [false, false])
    try pipe.receive(into: memory, slot: 0)
    try pipe.receive(into: memory, slot: 1)
    #expect(announced() == [true, false])
    let length = FunctionFolder.received.count
    #expect(try pipe.nextCompletion() == .received(slot: 0, count: length))
    #expect(try pipe.nextCompletion() == .received(slot: 1, count: length))
    #expect(try pipe.nextCompletion() == nil)
    #expect(announced() == [false, false])
    try function.report(3)
    #expect(try await eventually { announced()[1] })
    pipe.close()
  }

  @Test("a pipe of a function ends with the computer's use, also if another one follows at once")
  func rounds() async throws {
    for events: [UInt8] in [[3], [3, 2], [1]] {
      let control = try await enabled()
      let pipe = try control.openPipe(activation: 1)
      #expect(try pipe.nextCompletion() == nil)
      for event in events { try function.report(event) }
      var end: PipeEnd?
      #expect(
        try await eventually {
          do { _ = try pipe.nextCompletion() } catch let error as PipeEnd { end = error }
          return end != nil
        })
      #expect(end?.reason == "it was unplugged, or reset by the computer")
      pipe.close()
    }
  }

  @Test("a function without one of its endpoints cannot be opened, and leaves nothing open", arguments: ["ep1", "ep2"])
  func missingEndpoint(_ name: String) async throws {
    let control = try await enabled()
    unlink(folder[name])
    let error = #expect(throws: SystemError.self) { try control.openPipe(activation: 1) }
    #expect(error?.code == ENOENT)
    #expect(try folder.openFiles() == [])
  }

  @Test("a request that a function does not know is refused in its direction")
  func requests() throws {
    var ends: [CInt] = [-1, -1]
    let kind = CInt(SOCK_SEQPACKET.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw FixtureError("no sockets: \(errno)") }
    let kernel = ends[1]
    defer { close(kernel) }
    let control = FunctionControl(events: ends[0])
    /// Returns the number of answers with no bytes.
    func answers(to request: UInt8) -> Int {
      let record: [UInt8] = [request] + Array(repeating: 0, count: 7) + [4, 0, 0, 0]
      _ = write(kernel, record, record.count)
      _ = control.update()
      var byte: UInt8 = 0
      var count = 0
      while recv(kernel, &byte, 1, 0) == 0 { count += 1 }
      return count
    }
    // A write stalls a request that has data for the device, and a read one that asks for data.
    #expect(answers(to: 0x40) == 1 && answers(to: 0xC0) == 0)
  }
}
