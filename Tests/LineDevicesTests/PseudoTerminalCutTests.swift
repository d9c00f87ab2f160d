import BywayLineDevices
import BywayLineEmulation
import Foundation
import Synchronization
import TestTools
import Testing

@Suite("Cuts between pseudo-terminals", .serialized)
struct PseudoTerminalCutTests {
  private let folder: TemporaryFolder
  private let events = Events()

  init() throws {
    folder = try TemporaryFolder()
  }

  private func line(cuts: [Cut] = []) throws -> PseudoTerminalLine {
    try PseudoTerminalLine(
      LineConfiguration(baud: 3_000_000, cuts: cuts), paths: (folder["ttyA0"], folder["ttyB0"]),
      observer: events.add)
  }

  private func openLine() throws -> (PseudoTerminalLine, a: OpenDevice, b: OpenDevice) {
    let line = try line()
    return (line, try OpenDevice(line.path(of: .a)), try OpenDevice(line.path(of: .b)))
  }

  @Test("after a hang-up, readers see the end of the device, and its path returns when the line is restored")
  func hangUp() async throws {
    let (line, a, b) = try openLine()
    defer { line.close() }
    line.cut(.hangUp)
    #expect(a.isHungUp())
    #expect(b.isHungUp())
    #expect(try await eventually { events.all.count == 2 })
    #expect(folder.names.isEmpty)
    line.restore()
    #expect(try await eventually { events.all.count == 4 })
    #expect(folder.names == ["ttyA0", "ttyB0"])
    let again = try OpenDevice(folder["ttyA0"])
    #expect(again.write([7]) == 1)
    #expect(try OpenDevice(folder["ttyB0"]).read(1) == [7])
  }

  @Test(
    "a scheduled hang-up is seen by the reader of either end", arguments: [.a, .b] as [PseudoTerminalLine.End])
  func planned(_ end: PseudoTerminalLine.End) throws {
    let line = try line(cuts: [Cut(.hangUp, at: .milliseconds(20))])
    defer { line.close() }
    let device = try OpenDevice(line.path(of: end))
    #expect(device.isHungUp())
  }

  @Test("a cut that is restored at once still hangs up its readers")
  func brief() async throws {
    let line = try line()
    defer { line.close() }
    let a = try OpenDevice(line.path(of: .a))
    line.cut(.hangUp)
    line.restore()
    #expect(a.isHungUp())
    #expect(try await eventually { events.all.count == 4 })
    #expect(folder.names == ["ttyA0", "ttyB0"])
  }

  @Test("a renamed device returns under a new path, and the other end's path stays")
  func rename() async throws {
    let (line, a, b) = try openLine()
    defer { line.close() }
    line.cut(.rename, at: .b)
    #expect(b.isHungUp())
    #expect(a.write([1]) == 1)
    #expect(try await eventually { line.counters(from: .a).dropped == 1 })
    line.restore()
    #expect(try await eventually { events.all.count == 2 })
    #expect(line.path(of: .b) == folder["ttyB1"])
    #expect(folder.names == ["ttyA0", "ttyB1"])
    #expect(a.write([2]) == 1)
    #expect(try OpenDevice(folder["ttyB1"]).read(1) == [2])
  }

  @Test("a scheduled cut begins and ends without a call")
  func scheduled() async throws {
    let line = try line(cuts: [Cut(.hangUp, at: .milliseconds(50), for: .milliseconds(50))])
    defer { line.close() }
    #expect(try await eventually { events.all.count == 4 })
    #expect(events.all.prefix(2).allSatisfy { if case .hungUp = $0 { true } else { false } })
    #expect(folder.names == ["ttyA0", "ttyB0"])
  }

  @Test("a stall holds written bytes until it ends")
  func stall() async throws {
    let (line, a, b) = try openLine()
    defer { line.close() }
    line.cut(.stall)
    #expect(a.write([1, 2, 3]) == 3)
    #expect(try await eventually { line.counters(from: .a).sent == 3 })
    #expect(line.counters(from: .a).inFlight == 3)
    line.restore()
    #expect(b.read(3) == [1, 2, 3])
  }

  @Test("a loose wire loses written bytes")
  func lose() async throws {
    let (line, a, b) = try openLine()
    defer { line.close() }
    line.cut(.lose)
    #expect(a.write([1, 2, 3]) == 3)
    #expect(try await eventually { line.counters(from: .a).dropped == 3 })
    line.restore()
    #expect(a.write([4]) == 1)
    #expect(b.read(1) == [4])
  }

  @Test("closing a line hangs up its devices and removes their paths")
  func closing() throws {
    let line = try line()
    let a = try OpenDevice(line.path(of: .a))
    line.close()
    #expect(a.isHungUp())
    #expect(folder.names.isEmpty)
  }
}

/// The events that a line has reported.
final class Events: Sendable {
  private let events = Mutex<[PseudoTerminalLine.Event]>([])

  var all: [PseudoTerminalLine.Event] { events.withLock { $0 } }

  func add(_ event: PseudoTerminalLine.Event) {
    events.withLock { $0.append(event) }
  }
}
