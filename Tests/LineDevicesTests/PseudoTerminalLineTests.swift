import BywayLineDevices
import BywayLineEmulation
import Foundation
import Synchronization
import TestTools
import Testing

@Suite("A line between pseudo-terminals", .serialized)
struct PseudoTerminalLineTests {
  private let folder: TemporaryFolder
  private var paths: (a: String, b: String) { (folder["a"], folder["b"]) }

  init() throws {
    folder = try TemporaryFolder()
  }

  /// Fast, so that tests are.
  private static let fast = LineConfiguration(baud: 3_000_000)

  @Test("a pseudo-terminal line carries all 256 byte values unchanged in both directions")
  func exact() throws {
    let line = try PseudoTerminalLine(Self.fast, paths: paths)
    defer { line.close() }
    let a = try OpenDevice(line.path(of: .a))
    let b = try OpenDevice(line.path(of: .b))
    let all = (0...255).map { UInt8($0) }
    #expect(a.write(all) == 256)
    #expect(b.write(Array(all.reversed())) == 256)
    #expect(b.read(256) == all)
    #expect(a.read(256) == all.reversed())
    #expect(line.counters(from: .a).delivered == 256)
    #expect(line.counters(from: .a).inFlight == 0)
  }

  @Test("a pseudo-terminal line carries more bytes than any queue holds, in order")
  func bulk() async throws {
    let line = try PseudoTerminalLine(Self.fast, paths: paths)
    defer { line.close() }
    let a = try OpenDevice(line.path(of: .a))
    let b = try OpenDevice(line.path(of: .b))
    let bytes = pattern(150_000)
    var received: [UInt8] = []
    var sent = 0
    while received.count < bytes.count {
      sent += a.write(Array(bytes[sent..<min(sent + 2000, bytes.count)]))
      let arrived = b.read(min(1000, sent - received.count))
      if arrived.isEmpty { break }
      received += arrived
    }
    // Compared apart from the expectation, which would print all of it.
    let isExact = received == bytes
    #expect(isExact)
    #expect(line.counters(from: .a).sent == bytes.count)
  }

  @Test("no byte arrives before its time on the wire")
  func rate() throws {
    let line = try PseudoTerminalLine(LineConfiguration(baud: 115_200), paths: paths)
    defer { line.close() }
    let a = try OpenDevice(line.path(of: .a))
    let b = try OpenDevice(line.path(of: .b))
    let start = ContinuousClock.now
    #expect(a.writeAll(pattern(2304)))
    #expect(b.read(2304) == pattern(2304))
    #expect(ContinuousClock.now - start >= .milliseconds(200))
  }

  @Test("if the transmit queue is full, a writer must wait", arguments: [4096, 20_480])
  func transmitQueue(limit: Int) async throws {
    let line = try PseudoTerminalLine(LineConfiguration(transmitQueue: limit), paths: paths)
    defer { line.close() }
    let a = try OpenDevice(line.path(of: .a))
    // Nothing leaves meanwhile.
    line.cut(.stall)
    var taken = 0
    // In pieces, each of which the emulator has taken before the next.
    while taken < limit {
      let count = a.write(pattern(512))
      if count == 0 { break }
      taken += count
      #expect(try await eventually { line.counters(from: .a).sent == taken })
    }
    #expect(taken == limit)
    #expect(a.write([1]) == 0)
    line.restore()
    #expect(a.writeAll([1]))
  }

  @Test("a pseudo-terminal line applies its faults and counts them")
  func faults() throws {
    let configuration = LineConfiguration(baud: 3_000_000, faults: [BitFlips(rate: 0.01), DroppedBytes(rate: 0.1)])
    let line = try PseudoTerminalLine(configuration, seed: 5, paths: paths)
    defer { line.close() }
    let a = try OpenDevice(line.path(of: .a))
    let b = try OpenDevice(line.path(of: .b))
    #expect(a.writeAll(pattern(2000)))
    var emulated = VirtualLink(configuration, seed: 5)
    emulated.send(pattern(2000), from: .a)
    emulated.advance(by: .seconds(1))
    let expected = emulated.receive(at: .b)
    #expect(b.read(expected.count) == expected)
    #expect(line.counters(from: .a).flippedBits == emulated.counters(from: .a).flippedBits)
    #expect(line.counters(from: .a).dropped == emulated.counters(from: .a).dropped)
  }

  @Test("a device can be closed and opened again")
  func reopening() throws {
    let line = try PseudoTerminalLine(Self.fast, paths: paths)
    defer { line.close() }
    let a = try OpenDevice(line.path(of: .a))
    do { _ = try OpenDevice(line.path(of: .b)) }
    #expect(a.write([1, 2, 3]) == 3)
    #expect(try OpenDevice(line.path(of: .b)).read(3) == [1, 2, 3])
  }

  @Test("if a reader stops, the bytes beyond the receive buffer are lost, and the writer goes on")
  func slowReader() async throws {
    let line = try PseudoTerminalLine(LineConfiguration(baud: 3_000_000, receiveBuffer: 1000), paths: paths)
    defer { line.close() }
    let a = try OpenDevice(line.path(of: .a))
    #expect(a.writeAll(pattern(60_000)))
    #expect(try await eventually { line.counters(from: .a).dropped > 0 })
    let b = try OpenDevice(line.path(of: .b))
    #expect(b.read(1000) == pattern(1000))
    #expect(try await eventually { line.counters(from: .a).sent == 60_000 })
  }

  @Test("the paths exist while the line does, and paths of other programs are not replaced")
  func pathsAppear() throws {
    let line = try PseudoTerminalLine(Self.fast, paths: paths)
    #expect(folder.names == ["a", "b"])
    let taken = #expect(throws: LineFailure.self) { try PseudoTerminalLine(Self.fast, paths: paths) }
    #expect(taken?.description.contains("\(folder["a"]) is the device of a running line") == true)
    #expect(folder.names == ["a", "b"])
    line.close()
    line.close()
    #expect(folder.names.isEmpty)

    #expect(FileManager.default.createFile(atPath: folder["b"], contents: Data("mine".utf8)))
    let failure = #expect(throws: LineFailure.self) { try PseudoTerminalLine(Self.fast, paths: paths) }
    #expect(failure?.description.contains("\(folder["b"]) exists") == true)
    #expect(folder.names == ["b"])
    #expect(throws: LineFailure.self) { try PseudoTerminalLine(Self.fast, paths: ("/nowhere/a", "/nowhere/b")) }
    #expect(throws: LineFailure.self) { try PseudoTerminalLine(Self.fast, paths: (folder["c"], folder["c"])) }
    #expect(throws: LineConfigurationError.self) {
      try PseudoTerminalLine(LineConfiguration(baud: 0), paths: (folder["c"], folder["d"]))
    }
  }

  @Test("a path that a killed line has left is replaced")
  func leftovers() throws {
    try FileManager.default.createSymbolicLink(atPath: folder["a"], withDestinationPath: "/dev/pts/9999")
    let line = try PseudoTerminalLine(Self.fast, paths: paths)
    defer { line.close() }
    let device = try OpenDevice(folder["a"])
    #expect(isatty(device.descriptor) == 1)
  }
}
