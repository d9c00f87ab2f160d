import Foundation
import Glibc
import TestTools
import TransportTestSupport

/// A folder like that of a mounted FunctionFS. A pseudo-terminal stands for the control endpoint, and files stand for the bulk endpoints: a
/// received transfer has the content of one, and a sent transfer is written to the other.
final class FunctionFolder: Sendable {
  static let received = Array("from the computer".utf8)

  let path: String
  private let control: PseudoTerminal

  /// - Parameter path: a folder that exists.
  init(_ path: String) throws {
    self.path = path
    control = try PseudoTerminal(isRaw: true)
    try FileManager.default.createSymbolicLink(atPath: "\(path)/ep0", withDestinationPath: control.path)
    try Data(Self.received).write(to: URL(filePath: "\(path)/ep1"))
    try Data().write(to: URL(filePath: "\(path)/ep2"))
  }

  /// Reports events of these kinds, as the kernel does.
  func report(_ kinds: UInt8...) throws {
    for kind in kinds { try control.write(Array(repeating: 0, count: 8) + [kind, 0, 0, 0]) }
  }

  /// Returns what was written to the control endpoint.
  func described(_ count: Int) throws -> [UInt8] { try control.read(count) }

  /// How many descriptors of the control endpoint this process has open.
  var openControls: Int { ((try? openCount(of: control.path)) ?? 0) - 1 }

  var sent: [UInt8] { FileManager.default.contents(atPath: "\(path)/ep2").map(Array.init) ?? [] }

  /// Removes the files, as the end of a mount does.
  static func clear(_ path: String) {
    for name in ["ep0", "ep1", "ep2"] { unlink("\(path)/\(name)") }
  }
}
