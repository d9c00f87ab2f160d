import Byway
import BywayHTTPWire

/// A target besides the origin that clients of a gateway may reach: `HOST:PORT`, where HOST may be `*` or `*.DOMAIN`, and
/// PORT may be `*`.
public struct AllowRule: Sendable, Hashable, CustomStringConvertible {
  private let host: HostPattern
  /// `nil`: any.
  private let port: UInt16?

  /// Reads a rule: `192.0.2.1:8080`, `*.example.com:443`, `device:*`.
  /// - Throws: `BywayError` with code `invalidAddress`.
  public init(_ text: String) throws {
    guard let colon = text.lastIndex(of: ":") else {
      throw BywayError(.invalidAddress, "\"\(text)\" is not a target: write HOST:PORT, *.DOMAIN:PORT or HOST:*.")
    }
    let portText = text[text.index(after: colon)...]
    if portText == "*" {
      port = nil
    } else if portText.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(portText), number > 0 {
      port = number
    } else {
      throw BywayError(.invalidAddress, "\"\(portText)\" is not a port: write a number from 1 to 65535, or *.")
    }
    let hostText = String(text[..<colon])
    guard hostText.hasPrefix("[") || !hostText.contains(":") else {
      throw BywayError(.invalidAddress, place: text, .address)
    }
    do throws(AuthorityFlaw) {
      host = try HostPattern(hostText)
    } catch {
      throw BywayError(.invalidAddress, place: hostText, error)
    }
  }

  public var description: String {
    let host = if case .exactly(let only) = host { only.bracketed } else { "\(host)" }
    return "\(host):\(port.map(String.init) ?? "*")"
  }

  /// Whether the rule names one host. Then a request that names it is meant for it.
  var isExact: Bool {
    if case .exactly = host { true } else { false }
  }

  func permits(_ host: Host, port: UInt16) -> Bool {
    (self.port == nil || self.port == port) && self.host.matches(host)
  }
}
