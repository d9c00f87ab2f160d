import Byway
package import BywayHTTPWire

/// A different address or certificate name for a host: an address that was looked up in another way, or a device that is reached by an
/// address and has a certificate with a name.
///
/// URL, `Host` and cookies are unchanged. Safe on any thread.
public struct PeerName: Sendable, Hashable {
  package let host: String
  package let dial: Authority?
  package let name: String?

  /// Creates a rule with another address for a host, another name, or both.
  /// - Parameters:
  ///   - host: the host of the URLs.
  ///   - dial: `HOST` or `HOST:PORT` to connect to; `nil`: the URL's.
  ///   - name: the name for Server Name Indication, which the certificate must have; `nil`: the URL's host.
  /// - Throws: `BywayError` with code `invalidAddress`.
  public init(host: String, dial: String? = nil, name: String? = nil) throws {
    self.host = try Self.read(host).text
    self.dial = try dial.map { text in
      do throws(AuthorityFlaw) { return try Authority(text) } catch {
        throw BywayError(.invalidAddress, place: text, error)
      }
    }
    self.name = try name.map(Self.check)
  }

  /// Checks a name for Server Name Indication, which allows no addresses (RFC 6066 §3).
  package static func check(_ name: String) throws -> String {
    guard case .name(let host) = try read(name) else {
      throw BywayError(
        .invalidAddress, "\"\(name)\" cannot be a name in a certificate: write a host name.")
    }
    return host
  }

  /// Returns a name or an address in the form for handshakes and for comparison with certificates.
  package static func host(_ name: String) throws -> String { try read(name).text }

  private static func read(_ host: String) throws(BywayError) -> Host {
    do throws(AuthorityFlaw) {
      return try Host(host)
    } catch {
      throw BywayError(.invalidAddress, place: host, error)
    }
  }
}
