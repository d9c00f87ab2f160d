import Byway

/// A target beside the origin that clients of a gateway may reach: `HOST:PORT`, where HOST may be `*` or `*.DOMAIN`, and
/// PORT may be `*`.
public struct AllowRule: Sendable, Hashable, CustomStringConvertible {
  private let host: String
  private let port: Int?

  /// - Throws: ``BywayError`` with code `invalidAddress`.
  public init(_ text: String) throws {
    guard let colon = text.lastIndex(of: ":") else {
      throw BywayError(.invalidAddress, "\"\(text)\" is no target: write HOST:PORT, *.DOMAIN:PORT or HOST:*.")
    }
    let portText = text[text.index(after: colon)...]
    if portText == "*" {
      port = nil
    } else if let number = UInt16(portText), number > 0 {
      port = Int(number)
    } else {
      throw BywayError(.invalidAddress, "\"\(portText)\" is no port: write a number from 1 to 65535, or *.")
    }
    var host = text[..<colon].lowercased()
    if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
    let name = host.hasPrefix("*.") ? String(host.dropFirst(2)) : host
    guard !name.isEmpty, name == "*" || !name.contains("*"), host == "*" || name != "*" else {
      throw BywayError(.invalidAddress, "\"\(text)\" is no target: * stands for a whole name, or before the first dot.")
    }
    self.host = host
  }

  public var description: String { "\(host):\(port.map(String.init) ?? "*")" }

  /// The rule names one host, so that a request for it means it.
  var isExact: Bool { !host.hasPrefix("*") }

  func permits(host: String, port: Int) -> Bool {
    if let only = self.port, only != port { return false }
    if self.host == "*" { return true }
    if self.host.hasPrefix("*.") { return host.count > self.host.count - 1 && host.hasSuffix(self.host.dropFirst()) }
    return host == self.host
  }
}
