import Byway

/// Where a proxy listens, as people write it: `HOST:PORT`, `unix:PATH`, or a whole link address.
struct ListenAddress: Sendable, Hashable {
  private let text: String

  /// - Throws: ``CommandFailure`` where it is neither.
  init(_ text: String) throws {
    // "localhost:80" is a host and a port, though it looks like a scheme and a path.
    if LinkAddress.HostPort(text)?.port != nil {
      self.text = "tcp://" + text
    } else if text.contains(":") {
      self.text = text
    } else {
      throw CommandFailure(.usage, "\"\(text)\" is no address to listen on: write HOST:PORT or unix:PATH.")
    }
  }

  /// - Parameter anywhere: the user has said that an address may be meant that other machines reach.
  /// - Throws: ``CommandFailure`` or ``BywayError``.
  func link(in transports: TransportRegistry, anywhere: Bool = false) throws -> Link {
    guard text.hasPrefix("tcp:") else { return try transports.link(text) }
    let open = try transports.link(text + (text.contains("?") ? "&" : "?") + "insecure=yes")
    if anywhere { return open }
    do {
      return try transports.link(text)
    } catch {
      throw CommandFailure(
        .usage, "Other machines can reach \(text): add --listen-anywhere if they should, or listen on 127.0.0.1.")
    }
  }

  /// A bound address as a client's URL begins; `unix:PATH` as it is.
  static func url(_ address: LinkAddress) -> String {
    guard address.scheme == "tcp", let authority = address.authority else { return address.text }
    return "http://\(authority)"
  }
}
