import Byway
import BywayHTTPWire

/// The authority in a gateway's requests to its origin, in `Host` or, over HTTP/2, in `:authority`.
public struct HostField: Sendable, Hashable {
  private enum Source: Hashable {
    case client
    case origin
    case fixed(Authority)
  }

  private let source: Source

  /// The authority in the client's request.
  public static let client = HostField(source: .client)
  /// The origin's own authority: that of its URL, and `localhost` for a Unix socket or a handler.
  public static let origin = HostField(source: .origin)

  private init(source: Source) {
    self.source = source
  }

  /// Reads `client`, `origin` or `HOST[:PORT]`.
  /// - Throws: `BywayError` with code `invalidAddress`.
  public init(_ text: String) throws {
    switch text {
    case "client": self = .client
    case "origin": self = .origin
    default:
      do throws(AuthorityFlaw) {
        source = .fixed(try Authority(text))
      } catch {
        throw BywayError(.invalidAddress, place: text, error)
      }
    }
  }

  /// Returns the name for requests to an origin; `nil` if the client's authority stays.
  func ownName(of origin: Origin) -> SiteName? {
    let authority: Authority
    switch source {
    case .client: return nil
    case .origin: authority = origin.authority ?? Authority(.name("localhost"))
    case .fixed(let fixed): authority = fixed
    }
    return SiteName(scheme: origin.speaksTLS ? "https" : "http", authority)
  }
}
