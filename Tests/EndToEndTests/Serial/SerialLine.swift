import BywayLineDevices
import BywayLineEmulation
import Foundation
import TestPeers
import TestTools

/// An emulated line whose devices have stable names, like udev's /dev/serial/by-id. The gateway's device is end b.
final class SerialLine: Sendable {
  private let emulation: PseudoTerminalLine
  private let folder: TemporaryFolder
  private let baud: Int

  /// - Parameter back: the direction from the gateway, if it differs.
  init(_ configuration: LineConfiguration, back: LineConfiguration? = nil) throws {
    let folder = try TemporaryFolder()
    self.folder = folder
    baud = configuration.baud
    emulation = try PseudoTerminalLine(
      configuration, back: back, paths: (folder["ttyA0"], folder["ttyB0"]),
      observer: { if case .opened(let end, let path) = $0 { Self.name(end, path, in: folder) } })
    for end in [PseudoTerminalLine.End.a, .b] { Self.name(end, emulation.path(of: end), in: folder) }
  }

  /// The seed of the line's faults, to be reported by a failing test.
  var seed: UInt64 { emulation.seed }

  /// The links of the client and of the gateway.
  var near: String { address(.a) }
  var far: String { address(.b) }

  var toGateway: LineCounters { emulation.counters(from: .a) }
  var toClient: LineCounters { emulation.counters(from: .b) }

  func cut(_ kind: Cut.Kind) { emulation.cut(kind) }
  func restore() { emulation.restore() }

  /// Writes text to the line, as another program would.
  func write(_ text: String, at end: PseudoTerminalLine.End) throws {
    guard let device = FileHandle(forWritingAtPath: emulation.path(of: end)) else {
      throw PeerFailure("no device at end \(end)")
    }
    try device.write(contentsOf: Data(text.utf8))
    try device.close()
  }

  private func address(_ end: PseudoTerminalLine.End) -> String {
    "serial:\(folder["\(end)"])?baud=\(baud)"
  }

  private static func name(_ end: PseudoTerminalLine.End, _ path: String, in folder: TemporaryFolder) {
    let new = folder["\(end).new"]
    symlink(path, new)
    rename(new, folder["\(end)"])
  }
}
