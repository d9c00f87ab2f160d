/// An address with its transport, as found by ``TransportRegistry/link(_:)-(String)``.
public struct Link: Sendable {
  /// The protocol on the stream.
  public enum Framing: String, Sendable {
    /// HTTP/2 with prior knowledge (RFC 9113 §3.3), as spoken by a gateway.
    case http2 = "2"
    /// HTTP/1.1: the remote end is an ordinary server, and each concurrent request needs a stream of its own.
    case http1 = "1.1"
  }

  /// How this end opens the link; the other end does the opposite.
  public enum Opening: String, Sendable {
    /// It asks the transport to connect.
    case dial
    /// It asks the transport to listen, and waits for the other end.
    case listen
  }

  /// The address as written.
  public private(set) var address: LinkAddress
  /// The transport of the medium itself, without the line layer.
  package private(set) var medium: any Transport
  /// `nil` where the medium is not a line.
  package let line: LineProperties?
  /// `nil` where a gateway answers without a login.
  package let console: ConsoleSettings?
  /// HTTP/2, unless the address has `http=1.1`.
  public let framing: Framing
  /// `nil`: the default of this end's role. A gateway listens, all others dial.
  public let opening: Opening?

  /// Returns the same link over another transport of its scheme.
  package func replacing(medium: any Transport) -> Link {
    var link = self
    link.medium = medium
    return link
  }

  /// Returns the same link at the address that a listener has bound.
  func bound(to address: LinkAddress) -> Link {
    var link = self
    link.address = address
    return link
  }
}
