import Testing

@testable import BywayLineLayer

@Suite("Send window")
struct SendWindowTests {
  /// Returns a window with frames of ten bytes, which contain the frame's index.
  private func window(_ count: Int, from first: Int = 0) -> SendWindow {
    var window = SendWindow()
    for _ in 0..<first {
      _ = window.append([], isLast: false)
      _ = window.acknowledge(Arrivals(next: window.first &+ 1), of: nil)
    }
    for index in 0..<count { _ = window.append([UInt8](repeating: UInt8(index), count: 10), isLast: false) }
    return window
  }

  private func resent(_ window: inout SendWindow, size: Int = 2048) -> [UInt16] {
    var numbers: [UInt16] = []
    while let frame = window.resend(size) { numbers.append(frame.number) }
    return numbers
  }

  private func report(
    _ next: UInt16, _ runs: [UInt16] = [], of poll: UInt64? = nil, to window: inout SendWindow
  ) throws -> SendWindow.Outcome {
    let outcome = window.acknowledge(Arrivals(next: next, runs: runs), of: poll)
    return try #require(outcome)
  }

  @Test("the sender retransmits only the missing frame")
  func oneMissing() throws {
    var window = window(5)
    let outcome = try report(1, [1, 3], to: &window)
    #expect(outcome.lostFrames == 1 && outcome.arrivedFrames == 4)
    #expect(resent(&window) == [1])
    #expect(window.units == 4 && window.bytes == 40)
  }

  @Test("the sender does not treat frames as lost that were sent after the latest one that arrived")
  func tail() throws {
    var window = window(5)
    let outcome = try report(2, to: &window)
    #expect(outcome.lostFrames == 0)
    #expect(!window.hasLost)
  }

  @Test("the sender treats a retransmitted frame as lost only if a frame sent after it has arrived")
  func lostTwice() throws {
    var window = window(4)
    _ = try report(0, [1, 1], to: &window)
    #expect(resent(&window) == [0])
    _ = try report(0, [1, 3], to: &window)
    #expect(!window.hasLost)
    _ = window.append([9], isLast: false)
    _ = try report(0, [1, 4], to: &window)
    #expect(resent(&window) == [0])
  }

  @Test("if one retransmission arrives, the sender treats missing retransmissions before it as lost")
  func secondCopies() throws {
    var window = window(4)
    _ = try report(0, [3, 1], to: &window)
    #expect(resent(&window) == [0, 1, 2])
    _ = try report(0, [2, 2], to: &window)
    #expect(resent(&window) == [0, 1])
  }

  @Test("the answer to a POLL proves the loss of every unacknowledged frame sent before the POLL")
  func poll() throws {
    var window = window(3)
    let order = window.takeOrder()
    _ = window.append([1], isLast: false)
    let outcome = try report(0, of: order, to: &window)
    #expect(outcome.lostFrames == 3)
    #expect(resent(&window) == [0, 1, 2])
  }

  @Test("if a list of runs is incomplete, the sender treats no frame beyond it as lost")
  func cutShort() throws {
    var window = window(6)
    let order = window.takeOrder()
    let outcome = try report(0, [1, 1, 2], of: order, to: &window)
    #expect(outcome.lostFrames == 3)
    #expect(resent(&window) == [0, 2, 3])
  }

  @Test("the sender handles the wrap-around of unit numbers")
  func wrapAround() throws {
    var window = window(6, from: 65_533)
    #expect(window.first == 65_533)
    let outcome = try report(65_534, [2, 1], to: &window)
    #expect(outcome.arrivedFrames == 2)
    #expect(resent(&window) == [65_534, 65_535])
    _ = try report(3, to: &window)
    #expect(window.isEmpty && window.bytes == 0 && window.units == 0 && window.first == 3)
  }

  @Test("the sender rejects an acknowledgement of units that were never sent")
  func neverSent() {
    for (next, runs) in [(4, []), (3, [1]), (0, [2, 2]), (1, [1, 1, 1]), (1000, [])] as [(UInt16, [UInt16])] {
      var window = window(3)
      #expect(window.acknowledge(Arrivals(next: next, runs: runs), of: nil) == nil, "\(next) \(runs)")
    }
    var window = window(3)
    #expect(window.acknowledge(Arrivals(next: 0, runs: [2, 1]), of: nil) != nil)
    #expect(window.acknowledge(Arrivals(next: 3), of: nil) != nil)
  }

  @Test("the sender ignores an acknowledgement that is older than its window")
  func oldReport() throws {
    var window = window(5, from: 10)
    let outcome = try report(9, [1, 1], to: &window)
    #expect(outcome.isOld && outcome.arrivedFrames == 0 && window.count == 5)
  }

  @Test("the sender counts the units by which its window advances apart from newly arrived frames")
  func advance() throws {
    var window = window(5)
    let first = try report(0, [1, 1], to: &window)
    #expect(first.advancedUnits == 0)
    let outcome = try report(2, to: &window)
    #expect(outcome.advancedUnits == 2 && outcome.arrivedFrames == 1)
  }

  // MARK: Pieces

  /// Returns a window with a lost frame of 100 bytes, which are seven units, and a small frame that has arrived.
  private func withLostFrame() throws -> SendWindow {
    var window = SendWindow()
    _ = window.append((0..<100).map { $0 }, isLast: false)
    _ = window.append([200], isLast: true)
    let outcome = try report(0, [7, 1], to: &window)
    #expect(outcome.lostFrames == 1)
    return window
  }

  @Test("the sender splits a lost frame into pieces of whole units", arguments: [16, 40, 64, 99, 1])
  func pieces(_ size: Int) throws {
    var window = try withLostFrame()
    var bytes: [UInt8] = []
    while let piece = window.resend(size) {
      #expect(piece.number == UInt16(bytes.count / 16) && !piece.isLast)
      #expect(piece.payload.count <= max(size, 16))
      bytes += piece.payload
    }
    #expect(bytes == (0..<100).map { $0 })
  }

  @Test("if pieces of a retransmission are lost, the sender retransmits only those")
  func missingPiece() throws {
    var window = try withLostFrame()
    #expect(resent(&window, size: 32) == [0, 2, 4, 6])
    let outcome = try report(2, [2, 2], to: &window)
    #expect(outcome.lostFrames == 1)
    #expect(resent(&window, size: 32) == [2])
    #expect(window.units == 6 && window.bytes == 100 - 32 + 1)
  }

  @Test("if the last frame of a stream is split, only its last piece is marked as last")
  func lastPiece() throws {
    var window = SendWindow()
    _ = window.append([UInt8](repeating: 1, count: 40), isLast: true)
    let order = window.takeOrder()
    _ = try report(0, of: order, to: &window)
    var flags: [Bool] = []
    while let piece = window.resend(16) { flags.append(piece.isLast) }
    #expect(flags == [false, false, true])
  }

  @Test("if a peer acknowledges a part of a frame, the sender retransmits only the rest")
  func part() throws {
    var window = try withLostFrame()
    let outcome = try report(3, [4, 1], to: &window)
    #expect(outcome.advancedUnits == 3)
    let resent = window.resend(2048)
    let rest = try #require(resent)
    #expect(rest.number == 3 && Array(rest.payload) == (48..<100).map { $0 })
    #expect(window.bytes == 53)
  }

  // MARK: Interruptions

  @Test("frames that were sent before an interruption do not count in the line's error rate")
  func interruption() throws {
    var window = window(3)
    window.interrupt()
    let order = window.takeOrder()
    let cut = try report(1, of: order, to: &window)
    #expect(cut.lostFrames == 2 && cut.trials.lost == 0 && cut.trials.arrived == 0)
    #expect(resent(&window) == [1, 2])
    let after = try report(1, [1, 1], to: &window)
    #expect(after.lostFrames == 1 && after.trials.lost == 1 && after.trials.arrived == 1)
  }
}
