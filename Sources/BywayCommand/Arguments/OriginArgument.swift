import Byway
import BywayGateway

/// An origin as users write it: its address, or for `http` also `HOST:PORT`, or `PORT` of this machine.
enum OriginArgument {
  /// - Throws: `BywayError` if the text has none of these forms.
  static func origin(_ text: String) throws -> Origin {
    if UInt16(text) != nil { return try Origin("http://127.0.0.1:\(text)") }
    let isAddress = text.contains("/") || LinkAddress.HostPort(text)?.port == nil
    return try Origin(isAddress ? text : "http://\(text)")
  }
}
