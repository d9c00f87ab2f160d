import CSSH2

/// What libssh2 says went wrong. Not for people: ``SSHFailure`` makes sentences of it.
struct SSHError: Error, CustomStringConvertible {
  let code: CInt
  let text: String

  var description: String { "libssh2 \(code): \(text)" }

  /// Of a channel. libssh2 keeps no more of the reason than its own words.
  var refusal: ChannelRefusal? {
    guard code == LIBSSH2_ERROR_CHANNEL_FAILURE else { return nil }
    if text.contains("prohibited") { return .prohibited }
    if text.contains("connect failed") { return .connectFailed }
    if text.contains("unknown channel type") { return .unknownType }
    if text.contains("resource shortage") { return .shortage }
    return nil
  }

  /// Whether a login went no further than to its signature, which this end did not make.
  var isUnsigned: Bool { code == LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED && text == "Callback returned error" }

  /// Whether it concerns one channel or one request, and the session goes on.
  var isLocal: Bool {
    switch code {
    case LIBSSH2_ERROR_CHANNEL_FAILURE, LIBSSH2_ERROR_CHANNEL_REQUEST_DENIED, LIBSSH2_ERROR_REQUEST_DENIED,
      LIBSSH2_ERROR_AUTHENTICATION_FAILED, LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED, LIBSSH2_ERROR_CHANNEL_CLOSED,
      LIBSSH2_ERROR_CHANNEL_EOF_SENT, LIBSSH2_ERROR_PASSWORD_EXPIRED:
      true
    default: false
    }
  }
}

/// Why a server did not open a channel (RFC 4254 §5.1): what an error knows beyond its message.
package enum ChannelRefusal: Sendable {
  case prohibited, connectFailed, unknownType, shortage
}
