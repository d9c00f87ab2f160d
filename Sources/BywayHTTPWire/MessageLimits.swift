/// The limits of a message that apply to both framings.
package enum MessageLimits {
  /// The number of 1xx responses before a final one.
  package static let informationalResponses = 16
  /// The bytes of 1xx responses that may wait for one client. A server drops further ones.
  package static let waitingInformational = 64 * 1024
}
