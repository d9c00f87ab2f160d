import BywayLineConformance
import BywayLineDevices
import BywayLineEmulation
import BywayPrimitives
import BywayTerminal

/// A run of the conformance checks against a program on a device, in real time, which prints the results.
struct ConformanceRun {
  private let device: TesterDevice
  private var tester: Conformance

  /// - Throws: ``CommandFailure`` if the device cannot be opened.
  init(
    _ role: Script.Role, path: String, baud: Int, _ arguments: ConformanceOptions, _ interruption: Interruption
  ) throws {
    do {
      device = try TesterDevice(path: path, baud: baud, interruption)
    } catch {
      throw CommandFailure(.cannotCreate, error.description)
    }
    var options = Conformance.Options(role: role)
    options.means = device.canCut ? [.cut] : []
    options.bytesPerSecond = device.canCut ? nil : baud / 10
    options.isQuick = arguments.quick
    options.only = arguments.only
    options.tolerance =
      (arguments.tolerance ?? ConformanceOptions.usualTolerance).duration.nanoseconds + Self.frameTime(at: baud)
    options.pause = ConformanceOptions.usualTolerance.duration.nanoseconds + Self.frameTime(at: baud)
    options.seed = .random(in: 0 ... .max)
    tester = try Conformance(Catalogue.standard(), options, at: MonotonicClock.now)
    guard !tester.isEmpty else {
      device.close()
      throw CommandFailure(
        .usage, "No check of this end has \"\(arguments.only)\" in its title: a run without --only prints all titles.")
    }
  }

  /// Runs the checks. Blocks until they are over.
  /// - Throws: ``CommandFailure`` if a check failed, or no check could be made.
  mutating func run() throws {
    defer { device.close() }
    while true {
      try follow()
      guard !tester.isOver else { break }
      let now = MonotonicClock.now
      let deadline = max(tester.nextDeadline ?? now, now)
      if device.wait(atMost: deadline - now) { tester.abandon("interrupted") }
      switch device.read() {
      case .bytes(let bytes): if !bytes.isEmpty { tester.receive(bytes, at: MonotonicClock.now) }
      case .gone: tester.abandon("the device is gone")
      }
      tester.handleTimeout(at: MonotonicClock.now)
    }
    guard tester.hasPassed else { throw CommandFailure(.checkFailed, "The end under test does not conform.") }
  }

  private mutating func follow() throws {
    while let order = tester.nextOrder() {
      switch order {
      case .print(let line): try StandardStream.output.write(line + "\n")
      case .send(let bytes): device.write(bytes)
      case .cut: device.cut()
      case .restore:
        do {
          try device.restore()
        } catch {
          tester.abandon(error.description)
        }
      case .start, .owner: break
      }
    }
  }

  /// Returns the time of the longest frame that the end may have begun, in nanoseconds (section 7 of docs/wire-protocol.md).
  private static func frameTime(at baud: Int) -> UInt64 { 3_000_000_000_000 / UInt64(max(baud, 1)) }
}
