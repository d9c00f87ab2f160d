import Foundation
package import TestTools

/// A certificate authority for one test and the certificates it has signed, made by the `openssl` command.
package struct Certificates: Sendable {
  package struct Identity: Sendable {
    package let cert: String
    package let key: String
    /// The folder of both files, which exists as long as this value.
    fileprivate let folder: TemporaryFolder

    /// - Parameter folder: the folder of both files.
    package init(cert: String, key: String, in folder: TemporaryFolder) {
      (self.cert, self.key, self.folder) = (cert, key, folder)
    }

    /// The options of a link address for this identity.
    package var options: String { "cert=\(cert)&key=\(key)" }
  }

  package let folder: TemporaryFolder
  /// A certificate for localhost and 127.0.0.1.
  package let server: Identity
  package let client: Identity
  /// The path of the authority's certificate.
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
  ///   - days: the days of validity from now; negative for an expired certificate.
  package func issue(_ name: String, names: String = local, days: Int = 2) async throws -> Identity {
    try await Self.sign(name, names: names, days: days, in: folder)
  }

  /// Issues a certificate that is not valid before tomorrow.
  package func issueForTheFuture(_ name: String) async throws -> Identity {
    let identity = try await issue(name)
    let text = """
      [ca]
      default_ca = it
      [it]
      database = \(folder["\(name).index"])
      rand_serial = yes
      default_md = sha256
      policy = any
      [any]
      commonName = optional
      """
    try folder.write("", to: "\(name).index")
    let configuration = try folder.write(text, to: "\(name).cnf")
    let tomorrow = Date(timeIntervalSinceNow: 86_400).formatted(Self.date)
    let later = Date(timeIntervalSinceNow: 2 * 86_400).formatted(Self.date)
    try await Self.openssl(
      ["ca", "-batch", "-notext", "-config", configuration, "-cert", folder["ca.pem"], "-keyfile", folder["ca.key"]]
        + ["-in", folder["\(name).csr"], "-out", identity.cert, "-outdir", folder.path, "-startdate", tomorrow]
        + ["-enddate", later, "-extfile", folder["\(name).ext"]])
    return identity
  }

  /// The date format of openssl: YYYYMMDDHHMMSSZ.
  private static let date = Date.VerbatimFormatStyle(
    format: "\(year: .defaultDigits)\(month: .twoDigits)\(day: .twoDigits)000000Z",
    locale: Locale(identifier: "en_US_POSIX"),
    timeZone: .gmt, calendar: Calendar(identifier: .gregorian))

  /// Issues a certificate for a person, without a host name, as a company directory does.
  /// - Parameters:
  ///   - subject: as openssl writes it: `/O=Example/CN=alice`.
  ///   - names: subject alternative names, as openssl writes them; `nil`: none.
  package func issue(person subject: String, names: String? = nil) async throws -> Identity {
    let name = "person-\(UInt32.random(in: 0 ... .max))"
    return try await Self.sign(name, subject: subject, names: names, days: 2, in: folder)
  }

  /// Issues a self-signed certificate.
  package func selfSigned(_ name: String, names: String) async throws -> Identity {
    try await Self.openssl(
      Self.newKey(name, in: folder) + ["-x509", "-out", folder["\(name).pem"], "-days", "2", "-subj", "/CN=\(name)"]
        + ["-addext", "subjectAltName=\(names)"])
    return Identity(cert: folder["\(name).pem"], key: folder["\(name).key"], in: folder)
  }

  private static func sign(
    _ name: String, subject: String? = nil, names: String?, days: Int, in folder: TemporaryFolder
  ) async throws -> Identity {
    try folder.write(names.map { "subjectAltName=\($0)\n" } ?? "keyUsage=digitalSignature\n", to: "\(name).ext")
    try await openssl(
      newKey(name, in: folder) + ["-utf8", "-out", folder["\(name).csr"], "-subj", subject ?? "/CN=\(name)"])
    try await openssl(
      ["x509", "-req", "-in", folder["\(name).csr"], "-CA", folder["ca.pem"], "-CAkey", folder["ca.key"]]
        + ["-CAcreateserial", "-days", "\(days)", "-extfile", folder["\(name).ext"], "-out", folder["\(name).pem"]])
    return Identity(cert: folder["\(name).pem"], key: folder["\(name).key"], in: folder)
  }

  private static func newKey(_ name: String, in folder: TemporaryFolder) -> [String] {
    ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", folder["\(name).key"]]
  }

  private static func openssl(_ arguments: [String]) async throws {
    let result = try await Program.openssl.run(arguments)
    guard result.exitCode == 0 else { throw PeerFailure("openssl \(arguments): \(result.errorText)") }
  }
}
