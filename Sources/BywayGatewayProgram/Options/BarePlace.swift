import Byway
import BywayLibC
import BywayPrimitives
package import BywayTerminal

/// A place without a scheme, as users write it for an address: `8080`, `127.0.0.1:8080` or `/run/app.sock`.
package enum BarePlace: Hashable {
  case port
  case hostPort
  case path

  /// - Parameter schemes: The schemes of addresses.
  /// - Returns: `nil` if the text may be an address or a name.
  package init?(_ text: some StringProtocol, besides schemes: [String]) {
    let beginning = text.prefix { $0 != ":" }
    if beginning.contains("/") {
      self = .path
    } else if Self.isNumber(text) {
      self = .port
    } else if let colon = text.lastIndex(of: ":"), Self.isNumber(text[text.index(after: colon)...]),
      !text.contains("/"), !schemes.contains(beginning.lowercased())
    {
      self = .hostPort
    } else {
      return nil
    }
  }

  private static func isNumber(_ text: some StringProtocol) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
  }

  /// Returns the mistake in a port; `nil` if it is one.
  package static func mistake(inPort text: some StringProtocol) -> String? {
    isNumber(text) && UInt16(text) != nil ? nil : "\"\(text)\" is not a port: write a number from 1 to 65535"
  }

  /// Returns the failure that says which link may be meant.
  /// - Parameters:
  ///   - text: The text of this place.
  ///   - isProgram: Whether a program is what users name most often.
  package func failure(_ text: some StringProtocol, isProgram: Bool) -> CommandFailure {
    if self != .path, let mistake = Self.mistake(inPort: String(text).split(separator: ":").last ?? "") {
      return CommandFailure(.usage, "\(mistake).")
    }
    let address =
      switch self {
      case .port: "tcp://127.0.0.1:\(text)"
      case .hostPort: "tcp://\(text)"
      case .path: "\(Self.scheme(of: String(text), isProgram: isProgram)):\(text)"
      }
    return CommandFailure(.usage, "\"\(text)\" has no scheme: write \(address).")
  }

  private static func scheme(of path: String, isProgram: Bool) -> String {
    if path.hasPrefix("/dev/") { return "serial" }
    switch (try? FileStatus(of: path))?.kind {
    case .characterDevice: return "serial"
    case .socket: return "unix"
    case .regular: return isProgram || access(path, X_OK) == 0 ? "exec" : "unix"
    default: return isProgram ? "exec" : "unix"
    }
  }
}
