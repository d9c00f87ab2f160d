/// Why a connection to a broker has ended, or an operation on it has failed.
enum BrokerEnd: Error, Sendable, Hashable {
  /// This end has closed it.
  case closed
  /// The broker refused the connection, with its reason code (MQTT 5, §3.2.2.2).
  case refused(code: Int32, words: String)
  /// The broker refused a subscription or a message, with its reason code (§3.9.3, §3.4.2.1).
  case denied(code: Int32, words: String)
  /// The broker ended the connection with a reason code (§3.14.2.1).
  case dismissed(code: Int32, words: String)
  /// TLS failed, in the words of OpenSSL.
  case tls(String)
  /// The broker sent nothing for too long.
  case silent
  /// The connection was lost, in the words of the library.
  case lost(String)
}
