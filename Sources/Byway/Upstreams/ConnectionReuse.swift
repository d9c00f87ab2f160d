/// The requests that may be sent on a kept-alive connection, which the server may be closing at this moment.
///
/// docs/design/request-life.md says why this is decided before a request is sent, and not after it was lost.
package enum ConnectionReuse: Sendable {
  /// Requests that can be sent again if that happens.
  case forRepeatable
  /// Every request: for a line, where another session would cost round trips of a slow line.
  case forAll

  /// - Parameter isRepeatable: whether the request can be sent again.
  func permits(_ isRepeatable: Bool) -> Bool {
    switch self {
    case .forRepeatable: isRepeatable
    case .forAll: true
    }
  }
}
