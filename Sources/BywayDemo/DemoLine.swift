import BywayDaemon
import BywayInspector
import BywayLineDevices
import BywayLineEmulation
import BywayTerminal
import NIOCore
import Synchronization

/// The demo's cable: an emulated serial line between two terminals, with noise and a boot log on it. It can be pulled.
///
/// Safe on any thread.
final class DemoLine: Sendable {
  static let baud = 115_200
  static let bytesPerSecond = baud / 10
  static let logInterval = Duration.seconds(5)

  let noise: DemoNoise
  private let line: PseudoTerminalLine
  private let folder: PrivateFolder
  private let pulled = Mutex<NIODeadline?>(nil)

  /// - Parameter seed: `nil` for a random one.
  init(seed: UInt64?) throws {
    let folder = try PrivateFolder()
    let noise = DemoNoise()
    let configuration = LineConfiguration(
      baud: Self.baud, faults: [noise.fault(), ForeignLogLine(every: Self.logInterval)])
    do {
      line = try PseudoTerminalLine(
        configuration, seed: seed, paths: ("\(folder.path)/host", "\(folder.path)/device"))
    } catch {
      folder.remove()
      throw CommandFailure(.cannotCreate, "\(error)")
    }
    self.folder = folder
    self.noise = noise
  }

  var seed: UInt64 { line.seed }
  /// The proxy's end and the gateway's, as link addresses.
  var hostLink: String { "serial:\(folder.path)/host?baud=\(Self.baud)" }
  var deviceLink: String { "serial:\(folder.path)/device?baud=\(Self.baud)" }

  /// Counts of both directions.
  var wrongBits: Int { VirtualLink.End.allCases.reduce(0) { $0 + line.counters(from: $1).flippedBits } }
  var foreignBytes: Int { VirtualLink.End.allCases.reduce(0) { $0 + line.counters(from: $1).foreign } }
  var sentBytes: Int { VirtualLink.End.allCases.reduce(0) { $0 + line.counters(from: $1).sent } }

  /// The time since the cable was pulled; `nil` while it is in.
  var pulledFor: TimeAmount? { pulled.withLock { $0.map { .now() - $0 } } }

  /// Pulls the cable: both devices disappear, as with a USB cable, and the data in flight is lost.
  func pull() {
    pulled.withLock { $0 = $0 ?? .now() }
    line.cut(.hangUp)
  }

  func plug() {
    pulled.withLock { $0 = nil }
    line.restore()
  }

  func close() {
    line.close()
    folder.remove()
  }
}

extension DemoLine: InspectedLine {
  var isPulled: Bool { pulledFor != nil }

  func setPulled(_ isPulled: Bool) {
    if isPulled { pull() } else { plug() }
  }

  var errorRates: [String] { DemoNoise.levels.map(\.name) }

  var errorRate: String { noise.level.name }

  func setErrorRate(_ name: String) -> Bool { noise.set(name) }
}
