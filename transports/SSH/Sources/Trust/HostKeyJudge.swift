import Byway

/// Decides whether the server's host key is trusted. Made for each connection, for one host and port.
protocol HostKeyJudge: Sendable {
  /// The host key algorithms to offer, best first, by what is known of the host; empty where nothing is. Asking a server
  /// for a key that nobody has listed would make a well-known host look like a changed one.
  var preferredAlgorithms: [String] { get }

  /// Returns where the key is trusted. May write it down first.
  ///
  /// - Parameter key: the host key as it came (RFC 4253 §6.6: a string that names its type, and more).
  /// - Throws: a refusal that shows fingerprints and says what to do. The connection must then be closed, before login.
  func judge(_ key: [UInt8]) async throws(BywayError)
}
