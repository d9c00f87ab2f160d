import Byway
package import BywayGateway
import BywayTerminal

/// An origin as users write it: its address, or for `http` also `HOST:PORT`, or `PORT` of this machine.
package enum OriginArgument {
  /// - Throws: ``CommandFailure`` or `BywayError` if the text has none of these forms.
  package static func origin(_ text: String) throws -> Origin {
    switch BarePlace(text, besides: Origin.schemes) {
    case .port:
      if let mistake = BarePlace.mistake(inPort: text) { throw CommandFailure(.usage, "\(mistake).") }
      return try Origin("http://127.0.0.1:\(text)")
    case .hostPort: return try Origin("http://\(text)")
    case .path: throw CommandFailure(.usage, "\"\(text)\" has no scheme: write unix:\(text) for a socket.")
    case nil: return try Origin(text)
    }
  }
}
