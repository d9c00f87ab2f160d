import Foundation
import TestPeers
import TestTools

@testable import SSHTransport

/// Keys made by ssh-keygen, in a folder of the test.
enum KeyMaker {
  /// - Returns: the path of the private half.
  @discardableResult
  static func make(
    _ name: String, _ arguments: [String] = ["-t", "ed25519"], passphrase: String = "", in folder: TemporaryFolder
  ) async throws -> String {
    try await keygen(["-q", "-N", passphrase, "-C", name, "-f", folder[name]] + arguments)
    return folder[name]
  }

  @discardableResult
  static func keygen(_ arguments: [String]) async throws -> String {
    let result = try await Program.sshKeygen.run(arguments)
    guard result.exitCode == 0 else { throw PeerFailure("ssh-keygen \(arguments): \(result.errorText)") }
    return result.text
  }

  static func publicKey(_ path: String) throws -> PublicKey {
    let line = try String(contentsOfFile: "\(path).pub", encoding: .utf8)
    guard let key = PublicKey(line: line) else { throw PeerFailure("\(path).pub cannot be read") }
    return key
  }

  /// `type base64`, as in known_hosts.
  static func publicLine(_ path: String) throws -> String {
    try String(contentsOfFile: "\(path).pub", encoding: .utf8).split(separator: " ").prefix(2).joined(separator: " ")
  }
}
