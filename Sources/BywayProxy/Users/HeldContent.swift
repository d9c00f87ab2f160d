/// The limit of content held for all requests whose user is not known yet: any client may send any number of them.
///
/// Lives on the proxy's event loop.
final class HeldContent {
  /// Bytes. Requests of known users are not held, so this is needed only while passwords are checked.
  private static let most = 32 << 20

  private var bytes = 0

  /// - Returns: whether there was room.
  func take(_ count: Int) -> Bool {
    guard bytes + count <= Self.most else { return false }
    bytes += count
    return true
  }

  func release(_ count: Int) {
    bytes -= count
  }
}
