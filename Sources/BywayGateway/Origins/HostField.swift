import Byway
import HTTPWire

/// The authority that a gateway's requests to its origin carry in `Host`, or in `:authority` over HTTP/2.
public struct HostField: Sendable, Hashable {
  private enum Source: Hashable {
    case client
    case origin
    case fixed(Authority)
  }

  private let source: Source

  /// The authority that the client has named.
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

  /// Finds the name under which an origin is to be addressed.
  /// - Returns: `nil` where the client's stays.
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
