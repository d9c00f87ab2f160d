/// Decides when a connection's reads are held back. They stop when the number of unconsumed bytes reaches a limit, and continue
/// when half of them are consumed.
@usableFromInline
package struct ReadGate {
  private static let usual = 256 * 1024

  private var readAhead: ReadAhead?
  private var borrowed = 0
  @usableFromInline private(set) var limit = usual
  @usableFromInline private(set) var unconsumed = 0
  @usableFromInline package private(set) var isHeldBack = false

  package init() {}

  /// The number of bytes that may be read before reads are held back.
  @inlinable package var room: Int { limit - unconsumed }

  package mutating func received(_ bytes: Int) {
    unconsumed += bytes
  }

  package mutating func consumed(_ bytes: Int) {
    unconsumed -= bytes
    if unconsumed <= limit / 4 { widen(for: .progress) }
  }

  /// Begins another exchange.
  /// - Parameter readAhead: the budget for the exchange; `nil`: the default limit.
  package mutating func begin(_ readAhead: ReadAhead? = nil) {
    end()
    guard let readAhead else { return }
    self.readAhead = readAhead
    limit = ReadAhead.share
    widen(for: .trust)
  }

  /// Ends the exchange.
  package mutating func end() {
    unconsumed = 0
    readAhead.take()?.giveBack(borrowed)
    borrowed = 0
    limit = Self.usual
  }

  /// Whether a read may be passed to the channel. If not, it is deferred.
  /// - Parameter hasEnough: whether there is another reason not to read.
  package mutating func admitRead(hasEnough: Bool = false) -> Bool {
    isHeldBack = hasEnough || unconsumed >= limit
    return !isHeldBack
  }

  /// Whether a read was deferred and may be made now.
  package mutating func releaseRead(hasEnough: Bool = false) -> Bool {
    guard isHeldBack, !hasEnough, unconsumed < limit / 2 else { return false }
    isHeldBack = false
    return true
  }

  private mutating func widen(for reason: ReadAhead.Reason) {
    guard let readAhead, limit < Self.usual else { return }
    let step = readAhead.borrow(Self.usual - limit, for: reason)
    borrowed += step
    limit += step
  }
}
