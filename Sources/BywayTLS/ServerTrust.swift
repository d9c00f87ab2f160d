import Byway
import HTTPWire
package import NIOSSL

/// Which servers are believed to be who they say.
///
/// A host without an entry must have a certificate from an authority that the system trusts. For one with certificates of its
/// own these count instead: as authorities, and as the server's own certificate, which is then good whatever its name and
/// dates. For one with pins nothing counts but the server's key.
///
/// An immutable value once it is in use; safe on any thread.
public struct ServerTrust: Sendable {
  package struct Entry: Sendable, Hashable {
    package var certificates: [NIOSSLCertificate] = []
    package var pins: Set<KeyPin> = []
    /// Where the certificates come from, for messages.
    package var source = "the certificates given for it"
  }

  private var entries: [String: Entry] = [:]

  /// What the system trusts.
  public init() {}

  /// Trusts the certificates in a PEM file for one host: its authority's, or its own, self-signed for example.
  /// - Throws: `BywayError` with code `unreadableFile` where the file has none.
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

  /// One spelling for every way to write a host. What is none stays as it is: no server is called that.
  package static func key(_ host: String) -> String {
    (try? Host(host))?.text ?? host
  }
}
