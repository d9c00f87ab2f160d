import Foundation

/// A folder of a test's own, with a path short enough for Unix sockets in it; gone when the last user lets go of it.
package final class TemporaryFolder: Sendable {
  package let path: String

  package init() throws {
    var template = Array("/tmp/bw-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw PeerFailure("no temporary folder in /tmp: \(errno)") }
    path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    // The workers of nginx, and tests of refused access, run as another user.
    chmod(path, 0o755)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  package subscript(_ name: String) -> String { "\(path)/\(name)" }

  /// Who may do what with a file or folder in it, as `chmod` counts it.
  package func permissions(of name: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: self[name])[.posixPermissions] as? Int
  }

  /// Writes a file and answers its path.
  @discardableResult
  package func write(_ text: String, to name: String) throws -> String {
    try text.write(toFile: self[name], atomically: false, encoding: .utf8)
    return self[name]
  }
}
