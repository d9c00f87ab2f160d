import Byway
import BywayHTTPWire
import Crypto
import Glibc
import SwiftASN1
import TestPeers
import TestTools
import Testing
import X509

@testable import BywayTLSInterception

/// Generated certificates as verified by openssl, which shares no code with Byway.
@Suite(.timeLimit(.minutes(2))) struct MintedCertificateTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func mint(by authority: LocalAuthority, for host: String) throws -> String {
    let now = Int(time(nil))
    let certificate = try authority.mint(
      for: CertifiedHost(Host(host)), P256.Signing.PrivateKey().publicKey, validity: now - 60...now + 60)
    return try folder.write(certificate.serializeAsPEM().pemString, to: "leaf.pem")
  }

  private func verify(_ leaf: String, with authority: LocalAuthority, _ name: String...) async throws -> CommandResult {
    let file = try folder.write(authority.certificatePEM, to: "authority.pem")
    return try await Program.openssl.run(
      ["verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", file] + name + [leaf])
  }

  private func text(of file: String) async throws -> String {
    let text = try await Program.openssl.run(["x509", "-in", file, "-noout", "-text", "-nameopt", "RFC2253"]).text
    return text.split(separator: "\n").map { $0.drop(while: \.isWhitespace) }.joined(separator: "\n")
  }

  private static let longest = String(repeating: String(repeating: "a", count: 62) + ".", count: 4) + "b"

  @Test(
    "openssl accepts a generated certificate for its host name and no other",
    arguments: ["localhost", "xn--bcher-kva.example", "printer_2.internal.example", "3com.example", longest])
  func name(_ host: String) async throws {
    let authority = try LocalAuthority(name: "A test's")
    let leaf = try mint(by: authority, for: host)
    let result = try await verify(leaf, with: authority, "-verify_hostname", host)
    #expect(result.exitCode == 0, "\(result.text) \(result.errorText)")
    #expect(try await verify(leaf, with: authority, "-verify_hostname", "elsewhere").exitCode != 0)
    #expect(try await verify(leaf, with: LocalAuthority(name: "Another's")).exitCode != 0)
  }

  @Test("openssl accepts a generated certificate for an IP address", arguments: ["127.0.0.1", "::1", "2001:db8::7"])
  func address(_ host: String) async throws {
    let authority = try LocalAuthority(name: "A test's")
    let leaf = try mint(by: authority, for: host)
    let result = try await verify(leaf, with: authority, "-verify_ip", host)
    #expect(result.exitCode == 0, "\(result.text) \(result.errorText)")
    #expect(try await verify(leaf, with: authority, "-verify_hostname", host).exitCode != 0)
    #expect(try await verify(leaf, with: authority, "-verify_ip", "127.0.0.2").exitCode != 0)
  }

  @Test("a generated certificate is restricted to servers, and the authority to signing them")
  func purposes() async throws {
    let authority = try LocalAuthority(name: "A test's")
    let leaf = try await text(of: mint(by: authority, for: "localhost"))
    for expected in [
      "Signature Algorithm: ecdsa-with-SHA256", "Issuer: CN=A test's", "Subject: CN=Inspected by Byway",
      "ASN1 OID: prime256v1", "X509v3 Key Usage: critical\nDigital Signature\n",
      "X509v3 Extended Key Usage: \nTLS Web Server Authentication\n", "DNS:localhost",
    ] { #expect(leaf.contains(expected), "\(expected) in \(leaf)") }

    let root = try await text(of: folder.write(authority.certificatePEM, to: "authority.pem"))
    for expected in [
      "Signature Algorithm: ecdsa-with-SHA256", "Issuer: CN=A test's", "Subject: CN=A test's",
      "ASN1 OID: prime256v1", "X509v3 Basic Constraints: critical\nCA:TRUE, pathlen:0\n",
      "X509v3 Key Usage: critical\nCertificate Sign\n",
    ] { #expect(root.contains(expected), "\(expected) in \(root)") }
    let identifier = try #require(root.split(separator: "X509v3 Subject Key Identifier: \n").last).prefix(59)
    #expect(leaf.contains("X509v3 Authority Key Identifier: \n\(identifier)"), "\(identifier) in \(leaf)")
  }

  @Test("serial numbers are unique, positive, and as short as RFC 5280 requires")
  func numbers() async throws {
    let authority = try LocalAuthority(name: "A test's")
    let key = P256.Signing.PrivateKey().publicKey
    let certificates = try (0..<100).map { _ in
      try authority.mint(for: CertifiedHost(Host("localhost")), key, validity: 0...1)
    }
    #expect(Set(certificates.map(\.serialNumber)).count == 100)
    #expect(certificates.allSatisfy { (1..<20).contains($0.serialNumber.bytes.count) })
    let high = try #require(certificates.first { $0.serialNumber.bytes.first ?? 0 >= 0x80 })
    let leaf = try folder.write(high.serializeAsPEM().pemString, to: "leaf.pem")
    let serial = try await Program.openssl.run(["x509", "-in", leaf, "-noout", "-serial"])
    #expect(serial.text.hasPrefix("serial=") && !serial.text.hasPrefix("serial=-"), "\(serial.text)")
  }

  @Test("a stored authority loads unchanged, and a missing or mismatched half is rejected")
  func kept() throws {
    let one = try LocalAuthority(name: "one")
    let two = try LocalAuthority(name: "two")
    let again = try LocalAuthority(certificatePEM: one.certificatePEM, keyPEM: one.keyPEM)
    #expect(again.certificatePEM == one.certificatePEM && again.keyPEM == one.keyPEM)
    #expect(throws: BywayError.self) { try LocalAuthority(certificatePEM: two.certificatePEM, keyPEM: one.keyPEM) }
    #expect(throws: BywayError.self) { try LocalAuthority(certificatePEM: "", keyPEM: one.keyPEM) }
  }

  @Test("an imported authority signs with its own name and key identifier")
  func foreign() async throws {
    let key = P256.Signing.PrivateKey()
    let keyFile = try folder.write(key.pemRepresentation, to: "foreign.key")
    let configuration = try folder.write(
      """
      [req]
      distinguished_name = name
      x509_extensions = authority
      [name]
      [authority]
      basicConstraints = critical,CA:TRUE
      keyUsage = critical,keyCertSign
      subjectKeyIdentifier = 0102030405

      """, to: "foreign.cnf")
    let made = try await Program.openssl.run(
      ["req", "-x509", "-config", configuration, "-key", keyFile, "-subj", "/O=Elsewhere/CN=Theirs", "-days", "2"])
    let authority = try LocalAuthority(certificatePEM: made.text, keyPEM: key.pemRepresentation)
    let leaf = try mint(by: authority, for: "localhost")
    let result = try await verify(leaf, with: authority, "-verify_hostname", "localhost")
    #expect(result.exitCode == 0, "\(result.text) \(result.errorText)")
    #expect(try await text(of: leaf).contains("X509v3 Authority Key Identifier: \n01:02:03:04:05\n"))
  }
}
