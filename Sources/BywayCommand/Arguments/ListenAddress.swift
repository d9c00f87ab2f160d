import Byway
import BywayGatewayProgram
import BywayTerminal

/// The address at which a proxy listens, as users write it: `PORT` of this machine, `HOST:PORT`, `https://HOST:PORT`, `unix:PATH`, `fd:NAME`, or a whole
/// link address.
struct ListenAddress: Sendable, Hashable {
  private let text: String
  private let option: String

  /// - Throws: ``CommandFailure`` if the text has none of these forms.
  init(_ text: String, of option: String = "--listen") throws {
    self.option = option
    // Users write https for TLS, as browsers do.
    let text = text.hasPrefix("https://") ? "tls" + text.dropFirst(5) : text
    // "localhost:80" is a host and a port although it looks like a scheme and a path; "fd:3" is a scheme and a name.
    if UInt16(text) != nil {
      self.text = "tcp://127.0.0.1:\(text)"
    } else if !Self.isDescriptor(text), LinkAddress.HostPort(text)?.port != nil {
      self.text = "tcp://" + text
    } else if let mistake = Self.mistake(in: text, of: option) {
      throw CommandFailure(.usage, "\(option) \(text): \(mistake)")
    } else {
      self.text = text
    }
  }

  private static func isDescriptor(_ text: String) -> Bool { text.hasPrefix("fd:") }

  /// Describes the mistake in a text that was meant to be a host and a port. Returns `nil` if it may be a link address.
  private static func mistake(in text: String, of option: String) -> String? {
    if case .port = BarePlace(text, besides: []), let mistake = BarePlace.mistake(inPort: text) {
      return "\(mistake), for example 127.0.0.1:8080."
    }
    guard let colon = text.lastIndex(of: ":") else {
      return "write HOST:PORT or unix:PATH, for example 127.0.0.1:8080."
    }
    let (host, port) = (text[..<colon], text[text.index(after: colon)...])
    if host.isEmpty { return "write 127.0.0.1:\(port) for this machine, or 0.0.0.0:\(port) with \(option)-anywhere." }
    let isScheme = host.utf8.allSatisfy { (0x61...0x7A).contains($0 | 0x20) } && UInt8(port.prefix(1)) == nil
    guard !isScheme, !text.contains("/") else { return nil }
    return BarePlace.mistake(inPort: port).map { "\($0), for example 127.0.0.1:8080." }
  }

  /// - Parameters:
  ///   - anywhere: Whether the user allows an address that other machines can reach.
  ///   - mayBeOpen: Whether there is an option that allows it.
  /// - Throws: ``CommandFailure`` or ``BywayError``.
  func link(in transports: TransportRegistry, anywhere: Bool = false, mayBeOpen: Bool = true) throws -> Link {
    try OptionValue.of(option) { try checkedLink(in: transports, anywhere, mayBeOpen) }
  }

  private func checkedLink(in transports: TransportRegistry, _ anywhere: Bool, _ mayBeOpen: Bool) throws -> Link {
    guard text.hasPrefix("tcp:") || Self.isDescriptor(text) else { return try transports.link(text) }
    // This option stands for --listen-anywhere: an error in spite of it has another cause. Messages show the address as it was
    // given.
    let open = try transports.link(LinkAddress(text).adding(.init(name: "insecure", value: "yes")))
    if anywhere { return open }
    // Whether other machines can reach an inherited socket is known only when it is used.
    if Self.isDescriptor(text) { return try transports.link(text) }
    do {
      return try transports.link(text)
    } catch {
      let advice =
        mayBeOpen
        ? "add \(option)-anywhere if they should, or listen on 127.0.0.1."
        : "listen on 127.0.0.1, and let them come by a login (ssh -L)."
      throw CommandFailure(.usage, "other machines can reach \(text): \(advice)")
    }
  }
}
