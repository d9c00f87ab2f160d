import Byway
import BywayHTTPWire
package import NIOSSL

/// The trusted servers.
///
/// A host without an entry must have a certificate from an authority that the system trusts. If it has certificates of its own, they apply
/// instead: as authorities, and as the server's own certificate, which is then accepted with any name and dates. If it has pins, only the
/// server's key matters.
///
/// An immutable value once it is in use; safe on any thread.
public struct ServerTrust: Sendable {
  package struct Entry: Sendable, Hashable {
    package var certificates: [NIOSSLCertificate] = []
    package var pins: Set<KeyPin> = []
    /// The source of the certificates, for messages.
    package var source = "the certificates given for it"
  }

  private var entries: [String: Entry] = [:]

  /// Creates the trust of the system.
  public init() {}

  /// Trusts the certificates in a PEM file for one host: its authority's, or its own, for example a self-signed one.
  /// - Throws: `BywayError` with code `unreadableFile` if the file has none.
  public mutating func add(certificatesIn path: String, for host: String) throws {
    add(try PEMFile(path).certificates(), for: host, source: path)
  }

  /// Trusts a key for one host.
  public mutating func add(_ pin: KeyPin, for host: String) {
    entries[Self.key(host), default: Entry()].pins.insert(pin)
  }

  package mutating func add(_ certificates: [NIOSSLCertificate], for host: String, source: String) {
    var entry = entries[Self.key(host)] ?? Entry()
    entry.certificates += certificates
    entry.source = source
    entries[Self.key(host)] = entry
  }

  package subscript(host: String) -> Entry? { entries[Self.key(host)] }

  /// Returns one spelling for all ways to write a host. An invalid host is unchanged, because no server has it.
  package static func key(_ host: String) -> String {
    (try? Host(host))?.text ?? host
  }
}
