import CBywaySSH2

/// An error of libssh2. ``SSHFailure`` turns it into a message for the user.
struct SSHError: Error, CustomStringConvertible {
  let code: CInt
  let text: String

  var description: String { "libssh2 \(code): \(text)" }

  /// The refusal of a channel. libssh2 keeps only its own text of the reason.
  var refusal: ChannelRefusal? {
    guard code == LIBSSH2_ERROR_CHANNEL_FAILURE else { return nil }
    if text.contains("prohibited") { return .prohibited }
    if text.contains("connect failed") { return .connectFailed }
    if text.contains("unknown channel type") { return .unknownType }
    if text.contains("resource shortage") { return .shortage }
    return nil
  }

  /// Whether a login failed because this end did not make the signature.
  var isUnsigned: Bool { code == LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED && text == "Callback returned error" }

  /// Whether the error concerns one channel or one request, so that the session continues.
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

/// The reason why a server did not open a channel (RFC 4254 §5.1). The evidence of an error.
package enum ChannelRefusal: Sendable {
  case prohibited, connectFailed, unknownType, shortage
}
