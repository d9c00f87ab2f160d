/// The HTTP version of a client, as far as its first bytes tell it.
package enum FirstBytes: Sendable, Equatable {
  /// The beginning of HTTP/2's preface, or nothing yet.
  case partOfPreface
  /// HTTP/2 (RFC 9113 §3.4).
  case preface
  /// The beginning of what may be a method.
  case partOfMethod
  /// A method and the space after it: a request line of HTTP/1.1 (RFC 9112 §3).
  case method
  /// Neither. A login prompt, a banner or a response of HTTP/1.1, for example.
  case neither

  /// The registered methods have at most 17 letters (UPDATEREDIRECTREF), all of them upper case.
  private static let longestMethod = 24

  /// - Parameter bytes: everything that has arrived.
  package init(_ bytes: some Collection<UInt8>) {
    let beginning = bytes.prefix(ClientPreface.bytes.count)
    if ClientPreface.bytes.starts(with: beginning) {
      self = beginning.count == ClientPreface.bytes.count ? .preface : .partOfPreface
      return
    }
    let word = bytes.prefix(Self.longestMethod + 1).prefix { (0x41...0x5A).contains($0) || $0 == 0x2D }
    guard let first = word.first, first != 0x2D, word.count <= Self.longestMethod else {
      self = .neither
      return
    }
    guard word.endIndex < bytes.endIndex else {
      self = .partOfMethod
      return
    }
    self = bytes[word.endIndex] == 0x20 ? .method : .neither
  }
}
