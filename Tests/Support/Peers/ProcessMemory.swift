package import Foundation

/// The resident memory of a process in bytes, from /proc.
package struct ProcessMemory: Sendable {
  package let resident: Int
  package let peak: Int
  /// The part of the resident memory that no file backs, so that the kernel cannot drop it.
  package let anonymous: Int

  package static let mebibyte = 1 << 20

  /// Resets the peak of a process, which until then includes memory that dynamic linking used at its start.
  package static func resetPeak(of id: pid_t) throws {
    try "5".write(toFile: "/proc/\(id)/clear_refs", atomically: false, encoding: .utf8)
  }

  package init(of id: pid_t) throws {
    let status = try String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)
    func kibibytes(_ name: String) throws -> Int {
      guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("\(name):") }),
        let number = line.split(whereSeparator: { !$0.isNumber }).first.flatMap({ Int($0) })
      else { throw PeerFailure("no \(name) of process \(id)") }
      return number
    }
    resident = try kibibytes("VmRSS") << 10
    peak = try kibibytes("VmHWM") << 10
    anonymous = try kibibytes("RssAnon") << 10
  }
}
