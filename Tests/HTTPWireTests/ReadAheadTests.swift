import BywayHTTPWire
import Testing

@Suite struct ReadAheadTests {
  private let share = ReadAhead.share

  @Test("new streams share a quarter of the budget in decreasing parts, and the rest goes to streams being read")
  func parts() {
    let readAhead = ReadAhead(limit: 4 << 20)
    let loans = (0..<256).map { _ in readAhead.borrow(248 * 1024, for: .trust) }
    #expect(loans[0] == 248 * 1024)
    #expect(zip(loans, loans.dropFirst()).allSatisfy { $0 >= $1 })
    #expect(loans.last == 0)
    #expect(loans.reduce(0, +) <= 1 << 20)
    #expect(loans.filter { $0 > share }.count >= 10)
    // A stream that is being read may get more than new ones.
    #expect(readAhead.borrow(4 << 20, for: .progress) >= 1 << 20)
  }

  @Test("released bytes can be allocated again, and bytes that wait for the reader cannot")
  func waiting() {
    let readAhead = ReadAhead(limit: 1 << 20)
    #expect(readAhead.borrow(1 << 20, for: .progress) == 512 * 1024)
    readAhead.received(512 * 1024)
    #expect(readAhead.borrow(share, for: .progress) == 0)
    readAhead.giveBack(512 * 1024)
    #expect(readAhead.borrow(1 << 20, for: .progress) == 256 * 1024)
    readAhead.giveBack(256 * 1024)
    readAhead.sent(512 * 1024)
    #expect(readAhead.borrow(1 << 20, for: .progress) == 512 * 1024)
  }

  @Test("small remainders are not allocated, unless no more is requested")
  func crumbs() {
    let readAhead = ReadAhead(limit: 2 * share)
    #expect(readAhead.borrow(4 * share, for: .trust) == 0)
    #expect(readAhead.borrow(100, for: .progress) == 100)
  }
}
