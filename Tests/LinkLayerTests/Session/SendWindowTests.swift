import Testing

@testable import LinkLayer

@Suite("Send window")
struct SendWindowTests {
  /// A window with frames of ten bytes, each its own number.
  private func window(_ count: Int, from first: Int = 0) -> SendWindow {
    var window = SendWindow()
    for _ in 0..<first {
      _ = window.append([], isLast: false)
      _ = window.acknowledge(next: window.first &+ 1, arrived: [])
    }
    for index in 0..<count { _ = window.append([UInt8](repeating: UInt8(index), count: 10), isLast: false) }
    return window
  }

  private func resent(_ window: inout SendWindow) -> [UInt16] {
    var numbers: [UInt16] = []
    while let frame = window.resend() { numbers.append(frame.number) }
    return numbers
  }

  private func report(_ next: UInt16, _ arrived: [UInt8], to window: inout SendWindow) throws -> SendWindow.Outcome {
    let outcome = window.acknowledge(next: next, arrived: arrived)
    return try #require(outcome)
  }

  @Test("resends only the missing frame")
  func oneMissing() throws {
    var window = window(5)
    let outcome = try report(1, [0b111], to: &window)
    #expect(outcome.lostFrames == 1 && outcome.lostBytes == 10 && outcome.arrivedBytes == 40)
    #expect(resent(&window) == [1])
    #expect(window.bytes == 40)
  }

  @Test("does not take for lost what was sent after all that has arrived")
  func tail() throws {
    var window = window(5)
    let outcome = try report(2, [], to: &window)
    #expect(outcome.lostFrames == 0)
    #expect(!window.hasLost)
  }

  @Test("takes a frame that was sent again for lost only if something sent after that has arrived")
  func lostTwice() throws {
    var window = window(4)
    _ = window.acknowledge(next: 0, arrived: [0b1])
    #expect(resent(&window) == [0])
    _ = window.acknowledge(next: 0, arrived: [0b111])
    #expect(!window.hasLost)
    _ = window.append([9], isLast: false)
    _ = window.acknowledge(next: 0, arrived: [0b1111])
    #expect(resent(&window) == [0])
  }

  @Test("an answered poll proves the loss of all that was sent before it")
  func poll() {
    var window = window(3)
    let order = window.takeOrder()
    _ = window.append([1], isLast: false)
    var outcome = SendWindow.Outcome()
    window.markLost(before: order, &outcome)
    #expect(outcome.lostFrames == 3)
    #expect(resent(&window) == [0, 1, 2])
  }

  @Test("goes on where numbers begin again")
  func wrapAround() throws {
    var window = window(6, from: 65_533)
    #expect(window.first == 65_533)
    let outcome = try report(65_534, [0b10], to: &window)
    #expect(outcome.arrivedBytes == 20)
    #expect(resent(&window) == [65_534, 65_535])
    _ = try report(3, [], to: &window)
    #expect(window.isEmpty && window.bytes == 0 && window.first == 3)
  }

  @Test("refuses to hear of frames that were never sent")
  func neverSent() {
    for (next, arrived) in [(4, []), (3, [1]), (0, [0b100]), (1, [0b10]), (0, [0, 1]), (1000, [])]
      as [(UInt16, [UInt8])]
    {
      var window = window(3)
      #expect(window.acknowledge(next: next, arrived: arrived) == nil, "\(next) \(arrived)")
    }
    var window = window(3)
    #expect(window.acknowledge(next: 0, arrived: [0b10, 0, 0]) != nil)
    #expect(window.acknowledge(next: 3, arrived: []) != nil)
  }

  @Test("learns nothing from an old report")
  func oldReport() throws {
    var window = window(5, from: 10)
    let outcome = try report(9, [0xFF], to: &window)
    #expect(outcome.isOld && outcome.arrivedBytes == 0 && window.count == 5)
  }

  @Test("tells how far its start has moved, apart from what has arrived")
  func advance() throws {
    var window = window(5)
    let first = try report(0, [0b1], to: &window)
    #expect(first.advancedBytes == 0)
    let outcome = try report(2, [], to: &window)
    #expect(outcome.advancedBytes == 20 && outcome.arrivedBytes == 10)
  }
}
