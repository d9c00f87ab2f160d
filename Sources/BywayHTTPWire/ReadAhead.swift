/// The budget of bytes by which all exchanges of a connection may be ahead of their readers.
///
/// Each exchange has a share of its own, so none starves. It borrows more from this budget, and returns it when it ends. Bytes
/// that have arrived by then and wait for the reader still count as used. So the shares and the limit bound the cost of a peer
/// that sends many requests and reads nothing. A peer that reads gets enough for a single exchange over a long path. Lives on
/// its connection's event loop.
package final class ReadAhead {
  /// The bytes that an exchange has without borrowing.
  package static let share = 8 * 1024

  /// The reason for borrowing.
  package enum Reason {
    /// The exchange begins, and it is unknown whether its reader keeps up.
    case trust
    /// The reader of the exchange keeps up.
    case progress
  }

  private let limit: Int
  private let lender: (any ReadAheadLender)?
  private var lent = 0
  private var waiting = 0

  /// - Parameters:
  ///   - limit: the limit in bytes, in addition to the shares.
  ///   - lender: asked before anything is borrowed.
  package init(limit: Int = 4 << 20, lending lender: (any ReadAheadLender)? = nil) {
    self.limit = limit
    self.lender = lender
  }

  /// - Returns: the number of bytes borrowed, at most the requested one; 0 if it would be too small to be useful.
  package func borrow(_ bytes: Int, for reason: Reason) -> Int {
    // The first exchange need not ask the lender.
    if lent + waiting > 0, let lender, lender.isTight { return 0 }
    // Offers only a part of the rest, so that the next exchange gets some, too.
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

  /// Counts bytes that now wait for the reader.
  package func received(_ bytes: Int) {
    waiting += bytes
  }

  /// Counts bytes that were passed to the reader, or are no longer needed.
  package func sent(_ bytes: Int) {
    waiting -= bytes
  }
}

/// A memory budget that a ``ReadAhead`` borrows from.
package protocol ReadAheadLender: AnyObject {
  /// Whether no more memory should be borrowed.
  var isTight: Bool { get }
}
