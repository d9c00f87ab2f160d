import Byway
import BywayPrimitives
import Crypto
import Foundation
import TestPeers
import TestTools

@testable import SSHTransport

/// Verifies a signature (PROTOCOL.sshsig) of an empty file with ssh-keygen.
enum SignatureCheck {
  /// The bytes to sign for that.
  static let signed: [UInt8] = {
    var writer = WireWriter()
    for part in [namespace, "", "sha512"] { writer.string(part.utf8) }
    writer.string(Array(SHA512.hash(data: [UInt8]())))
    return magic + writer.bytes
  }()

  private static let magic = Array("SSHSIG".utf8)
  private static let namespace = "byway"

  static func isGood(_ signature: [UInt8], by key: PublicKey) async throws -> Bool {
    var inner = WireWriter()
    inner.string(key.signatureAlgorithm.utf8)
    inner.string(signature)
    var writer = WireWriter()
    writer.uint32(1)
    writer.string(key.blob)
    for part in [namespace, "", "sha512"] { writer.string(part.utf8) }
    writer.string(inner.bytes)
    let folder = try TemporaryFolder()
    let armoured =
      "-----BEGIN SSH SIGNATURE-----\n\(Base64.encode(magic + writer.bytes))\n-----END SSH SIGNATURE-----\n"
    let file = try folder.write(armoured, to: "sig")
    // Its standard input, the message, is empty.
    let result = try await Program.sshKeygen.run(["-Y", "check-novalidate", "-n", namespace, "-s", file])
    return result.exitCode == 0
  }
}
