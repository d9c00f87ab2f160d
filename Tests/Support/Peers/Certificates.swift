package import TestTools

/// A throw-away certificate authority, and what it signed, made by the `openssl` command.
package struct Certificates: Sendable {
  package struct Identity: Sendable {
    package let cert: String
    package let key: String
    /// Where both are, as long as somebody has this.
    fileprivate let folder: TemporaryFolder

    /// As options of a link address.
    package var options: String { "cert=\(cert)&key=\(key)" }
  }

  package let folder: TemporaryFolder
  /// For localhost and 127.0.0.1.
  package let server: Identity
  package let client: Identity
  /// The authority's certificate.
  package var authority: String { folder["ca.pem"] }

  package static let local = "DNS:localhost,IP:127.0.0.1"

  package init() async throws {
    let folder = try TemporaryFolder()
    try await Self.openssl(
      Self.newKey("ca", in: folder) + ["-x509", "-out", folder["ca.pem"], "-days", "2", "-subj", "/CN=Test authority"]
        + ["-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign"])
    server = try await Self.sign("server", names: Self.local, days: 2, in: folder)
    client = try await Self.sign("client", names: "DNS:client.test", days: 2, in: folder)
    self.folder = folder
  }

  /// - Parameters:
  ///   - names: subject alternative names, as openssl writes them.
  ///   - days: how long it is valid from now; less than none for one that has expired.
  package func issue(_ name: String, names: String = local, days: Int = 2) async throws -> Identity {
    try await Self.sign(name, names: names, days: days, in: folder)
  }

  /// One that only vouches for itself.
  package func selfSigned(_ name: String, names: String) async throws -> Identity {
    try await Self.openssl(
      Self.newKey(name, in: folder) + ["-x509", "-out", folder["\(name).pem"], "-days", "2", "-subj", "/CN=\(name)"]
        + ["-addext", "subjectAltName=\(names)"])
    return Identity(cert: folder["\(name).pem"], key: folder["\(name).key"], folder: folder)
  }

  private static func sign(
    _ name: String, names: String, days: Int, in folder: TemporaryFolder
  ) async throws -> Identity {
    try folder.write("subjectAltName=\(names)\n", to: "\(name).ext")
    try await openssl(newKey(name, in: folder) + ["-out", folder["\(name).csr"], "-subj", "/CN=\(name)"])
    try await openssl(
      ["x509", "-req", "-in", folder["\(name).csr"], "-CA", folder["ca.pem"], "-CAkey", folder["ca.key"]]
        + ["-CAcreateserial", "-days", "\(days)", "-extfile", folder["\(name).ext"], "-out", folder["\(name).pem"]])
    return Identity(cert: folder["\(name).pem"], key: folder["\(name).key"], folder: folder)
  }

  private static func newKey(_ name: String, in folder: TemporaryFolder) -> [String] {
    ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", folder["\(name).key"]]
  }

  private static func openssl(_ arguments: [String]) async throws {
    let result = try await Program.openssl.run(arguments)
    guard result.exitCode == 0 else { throw PeerFailure("openssl \(arguments): \(result.errorText)") }
  }
}
