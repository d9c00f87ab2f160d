import NIOCore

/// The time limits of SSH connections.
struct SSHLimits: Sendable {
  /// The time for a TCP connection, or a channel to the next jump host.
  var connecting = TimeAmount.seconds(10)
  /// The time for the identifications and the first key exchange.
  var handshake = TimeAmount.seconds(10)
  /// The time for the login. A user may have to look up a password.
  var login = TimeAmount.seconds(60)
  /// The silence after which a server in use is probed.
  var silence = TimeAmount.seconds(10)
  /// The time in which it must answer the probe.
  var answer = TimeAmount.seconds(5)
  /// The time for which an unused connection is kept for the next link.
  var lingering = TimeAmount.seconds(10)
  /// The maximum number of jump hosts. More indicate a loop in the configuration.
  var jumps = 8

  /// Shorter limits, for an examination that a user waits for.
  static var ofExaminations: SSHLimits {
    var limits = SSHLimits()
    (limits.connecting, limits.handshake, limits.lingering) = (.seconds(6), .seconds(6), .seconds(2))
    return limits
  }
}
