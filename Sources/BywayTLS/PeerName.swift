import Byway
package import HTTPWire

/// Connects to one place and expects another name there: an address that was looked up by other means, or a device that is
/// reached by an address and whose certificate has a name.
///
/// URL, `Host` and cookies stay as they are. Safe on any thread.
public struct PeerName: Sendable, Hashable {
  package let host: String
  package let dial: Authority?
  package let name: String?

  /// Another address for a host, another name, or both.
  /// - Parameters:
  ///   - host: of the URLs that this is for.
  ///   - dial: `HOST` or `HOST:PORT` to connect to; `nil`: the URL's.
  ///   - name: what Server Name Indication asks for and the certificate must have; `nil`: the URL's host.
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

  /// An address is what a connection has, not what one asks for (RFC 6066 §3).
  package static func check(_ name: String) throws -> String {
    guard case .name(let host) = try read(name) else {
      throw BywayError(
        .invalidAddress, "\"\(name)\" cannot be a name in a certificate: write a host name.")
    }
    return host
  }

  /// What goes into a handshake and is compared with certificates: a name or an address, in the form that can be compared.
  package static func host(_ name: String) throws -> String { try read(name).text }

  private static func read(_ host: String) throws(BywayError) -> Host {
    do throws(AuthorityFlaw) {
      return try Host(host)
    } catch {
      throw BywayError(.invalidAddress, place: host, error)
    }
  }
}
