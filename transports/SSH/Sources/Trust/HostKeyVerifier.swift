import Byway

/// Decides whether the server's host key is trusted. Created for each connection, for one host and port.
protocol HostKeyVerifier: Sendable {
  /// The host key algorithms to offer, best first, from the host's known keys; empty if there are none. With an algorithm whose
  /// key is not listed, a known host would look like a changed one.
  var preferredAlgorithms: [String] { get }

  /// Returns if the key is trusted. May add it to a file first.
  ///
  /// - Parameter key: the host key as received (RFC 4253 §6.6: a string that names its type, and more).
  /// - Throws: a refusal with fingerprints and instructions. The connection must then be closed, before login.
  func verify(_ key: [UInt8]) async throws(BywayError)
}
