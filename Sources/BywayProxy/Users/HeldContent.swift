/// Content that is held, in all, for requests of which it is not known yet whose they are: anyone may send any number of them.
///
/// Lives on the proxy's event loop.
final class HeldContent {
  /// Who is known sends through; so this is for the moment in which passwords are checked.
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
