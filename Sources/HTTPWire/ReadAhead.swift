/// How far the exchanges of one connection may together be ahead of their reader.
///
/// Each has a share of its own, so that none starves; what it may receive beyond that it borrows here, and gives it back
/// when it ends. What has arrived by then and still waits for the reader counts as lent. So the shares and the limit bound what
/// a peer costs that asks for much and reads nothing, and one that reads has as much for a single exchange as a long way
/// needs. Lives on its connection's event loop.
package final class ReadAhead {
  /// What an exchange has without asking, in bytes.
  package static let share = 8 * 1024

  /// Why an exchange borrows.
  package enum Reason {
    /// It begins, and nobody knows yet whether its reader reads.
    case trust
    /// Its reader keeps up.
    case progress
  }

  private let limit: Int
  private let lender: (any ReadAheadLender)?
  private var lent = 0
  private var waiting = 0

  /// - Parameters:
  ///   - limit: in bytes, beyond the shares.
  ///   - lender: asked before anything is lent.
  package init(limit: Int = 4 << 20, lending lender: (any ReadAheadLender)? = nil) {
    self.limit = limit
    self.lender = lender
  }

  /// - Returns: how much was lent, at most what was asked for; nothing where that would be too little to be of use.
  package func borrow(_ bytes: Int, for reason: Reason) -> Int {
    // The first exchange need not ask.
    if lent + waiting > 0, let lender, lender.isTight { return 0 }
    // A part of what is left, so that the next finds something, too.
    let offer =
      switch reason {
      case .trust: (limit / 4 - lent - waiting) / 4
      case .progress: (limit - lent - waiting) / 2
      }
    let count = min(bytes, offer)
    guard count >= min(bytes, Self.share), count > 0 else { return 0 }
    lent += count
    return count
  }

  package func giveBack(_ bytes: Int) {
    lent -= bytes
  }

  /// Bytes wait for the reader from now on.
  package func received(_ bytes: Int) {
    waiting += bytes
  }

  /// Bytes have gone to the reader, or need not any more.
  package func sent(_ bytes: Int) {
    waiting -= bytes
  }
}

/// A store of memory that a ``ReadAhead`` lends from.
package protocol ReadAheadLender: AnyObject {
  /// Whether nothing more should be lent.
  var isTight: Bool { get }
}
