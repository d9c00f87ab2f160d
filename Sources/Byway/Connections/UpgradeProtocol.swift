import BywayHTTPWire

/// A protocol that a request may upgrade its connection to (RFC 9110 §7.8): a name, or a name, a slash and a version.
///
/// Names are compared without regard to case.
public struct UpgradeProtocol: Sendable, Hashable, CustomStringConvertible {
  /// The name in lower case.
  public let description: String

  /// Reads a protocol's name, for example `tcp` or `SPDY/3.1`.
  /// - Throws: `BywayError` with code `invalidAddress`. It also refuses `HTTP` and `TLS`: a hop never passes on an offer to carry
  ///   the same request differently. `h2c` is allowed for BuildKit.
  public init(_ text: String) throws(BywayError) {
    var name = text.lowercased()
    let (isProtocol, carriesHTTP) = name.withUTF8 { bytes in
      let bytes = UnsafeRawBufferPointer(bytes)
      return (FieldGrammar.isProtocol(bytes), FieldGrammar.carriesHTTP(bytes) && !FieldGrammar.isH2C(bytes))
    }
    guard isProtocol else {
      throw BywayError(
        .invalidAddress, "\"\(text)\" is not the name of a protocol: write it as in Upgrade, for example SPDY/3.1.")
    }
    guard !carriesHTTP else {
      throw BywayError(.invalidAddress, "An upgrade to \(text) ends at each hop: it cannot be allowed.")
    }
    description = name
  }

  func isNamed(by bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.elementsEqual(description.utf8) { byte, other in (byte &- 0x41 < 26 ? byte | 0x20 : byte) == other }
  }
}
