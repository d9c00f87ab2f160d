/// What may be sent on a connection that was kept open, whose server may be closing it at this very moment.
///
/// docs/design/request-life.md says why this is decided before a request leaves, and not when it has been lost.
package enum ConnectionReuse: Sendable {
  /// Requests that can be sent again if that happens.
  case forRepeatable
  /// Every request: for a line, where another session would cost round trips of a slow line.
  case forAll

  /// - Parameter isRepeatable: of a request.
  func permits(_ isRepeatable: Bool) -> Bool {
    switch self {
    case .forRepeatable: isRepeatable
    case .forAll: true
    }
  }
}
