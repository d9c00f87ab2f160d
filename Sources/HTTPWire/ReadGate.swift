/// Decides when a connection's reads are held back: at so many bytes that were handed on and not consumed yet, until half of
/// them are.
package struct ReadGate {
  private static let usual = 256 * 1024

  private var readAhead: ReadAhead?
  private var borrowed = 0
  private var limit = usual
  private var unconsumed = 0
  package private(set) var isHeldBack = false

  package init() {}

  /// What may be read before it must be held back.
  package var room: Int { limit - unconsumed }

  package mutating func received(_ bytes: Int) {
    unconsumed += bytes
  }

  package mutating func consumed(_ bytes: Int) {
    unconsumed -= bytes
    if unconsumed <= limit / 4 { widen(for: .progress) }
  }

  /// Another exchange begins.
  /// - Parameter readAhead: what it may be ahead of its reader; `nil`: as far as is usual.
  package mutating func begin(_ readAhead: ReadAhead? = nil) {
    forget()
    guard let readAhead else { return }
    self.readAhead = readAhead
    limit = ReadAhead.share
    widen(for: .trust)
  }

  /// The exchange has ended.
  package mutating func forget() {
    unconsumed = 0
    readAhead.take()?.giveBack(borrowed)
    borrowed = 0
    limit = Self.usual
  }

  /// Whether a read may go on to the channel; if not, it is owed.
  /// - Parameter hasEnough: there is another reason not to read.
  package mutating func admitRead(hasEnough: Bool = false) -> Bool {
    isHeldBack = hasEnough || unconsumed >= limit
    return !isHeldBack
  }

  /// Whether a read is owed and may be made now.
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
