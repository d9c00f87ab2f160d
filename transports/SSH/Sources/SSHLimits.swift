import NIOCore

/// How long everything may take.
struct SSHLimits: Sendable {
  /// A connection of TCP, or a channel to the next stop.
  var connecting = TimeAmount.seconds(10)
  /// Identifications and the first key exchange.
  var handshake = TimeAmount.seconds(10)
  /// A person may have to find a password.
  var login = TimeAmount.seconds(60)
  /// Until a server that says nothing is asked whether it is there, while it is used.
  var silence = TimeAmount.seconds(10)
  /// Until it must have answered that.
  var answer = TimeAmount.seconds(5)
  /// How long an unused connection is kept for the next link.
  var lingering = TimeAmount.seconds(10)
  /// Stops on the way to a host. More are a loop in the configuration.
  var jumps = 8

  /// Somebody looks on and waits for the answer.
  static var ofExaminations: SSHLimits {
    var limits = SSHLimits()
    (limits.connecting, limits.handshake, limits.lingering) = (.seconds(6), .seconds(6), .seconds(2))
    return limits
  }
}
