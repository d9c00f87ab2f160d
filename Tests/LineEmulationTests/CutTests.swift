import BywayLineEmulation
import Testing

@Suite("Cuts of an emulated line")
struct CutTests {
  /// 100 bytes a millisecond.
  static func line(_ cuts: Cut...) -> EmulatedLine {
    EmulatedLine(LineConfiguration(baud: 1_000_000, cuts: cuts), seed: 1)
  }

  @Test("a stall holds bytes, and the line then goes on at its rate")
  func stall() {
    var line = Self.line(Cut(.stall, at: .milliseconds(1), for: .milliseconds(5)))
    line.send(pattern(300), at: 0)
    #expect(line.receive(at: 5_900_000) == pattern(100))
    #expect(line.cut(at: 5_900_000) == .stall)
    #expect(line.nextArrival == 6_000_000)
    #expect(line.receive(at: 7_000_000) == pattern(100..<200))
    #expect(line.receive(at: 8_000_000) == pattern(200..<300))
    #expect(line.nextArrival == nil)
  }

  @Test("a loose wire loses the bytes that are sent during the cut")
  func lose() {
    var line = Self.line(Cut(.lose, at: .milliseconds(1), for: .milliseconds(1)))
    line.send(pattern(300), at: 0)
    #expect(line.receive(at: 10_000_000) == pattern(100) + pattern(200..<300))
    #expect(line.counters.dropped == 100)
  }

  @Test("a hang-up loses the bytes on the wire, and refuses new ones", arguments: [Cut.Kind.hangUp, .rename])
  func hangUp(kind: Cut.Kind) {
    var line = Self.line(Cut(kind, at: .milliseconds(1), for: .milliseconds(5)))
    line.send(pattern(300), at: 0)
    #expect(line.nextCutChange == 1_000_000)
    #expect(line.cut(at: 2_000_000) == kind)
    #expect(line.receive(at: 2_000_000).isEmpty)
    #expect(line.send([1], at: 3_000_000) == 0)
    #expect(line.nextCutChange == 6_000_000)
    #expect(line.cut(at: 6_000_000) == nil)
    #expect(line.send([7], at: 6_000_000) == 1)
    #expect(line.hangUps == 1)
    #expect(line.renames == (kind == .rename ? 1 : 0))
    #expect(line.receive(at: 7_000_000) == [7])
  }

  @Test("a cut without a duration lasts until the line is restored", arguments: Cut.Kind.allCases)
  func byHand(kind: Cut.Kind) {
    var line = Self.line()
    line.cut(kind, at: 1_000_000)
    line.send(pattern(100), at: 1_000_000)
    #expect(line.receive(at: 500_000_000).isEmpty)
    #expect(line.cut(at: 500_000_000) == kind)
    line.restore(at: 500_000_000)
    #expect(line.receive(at: 501_000_000) == (kind == .stall ? pattern(100) : []))
    line.send([9], at: 501_000_000)
    #expect(line.receive(at: 502_000_000) == [9])
  }

  @Test("a scheduled hang-up is visible at both ends of a link, whichever is read")
  func planned() {
    var link = VirtualLink(LineConfiguration(cuts: [Cut(.hangUp, at: .milliseconds(1))]), seed: 1)
    link.advance(to: 2_000_000)
    for end in VirtualLink.End.allCases { #expect(link[from: end].hangUps == 1, "\(end)") }
  }

  @Test("a hang-up is counted even if the line was not read while it lasted")
  func unseen() {
    var line = Self.line(Cut(.hangUp, at: .milliseconds(1), for: .milliseconds(1)))
    line.send(pattern(300), at: 0)
    #expect(line.receive(at: 10_000_000).isEmpty)
    #expect(line.hangUps == 1)
    line.cut(.rename, at: 10_000_000)
    line.restore(at: 10_000_000)
    #expect((line.hangUps, line.renames) == (2, 1))
  }

  @Test("after a cut, an emulated line does not catch up on missed log lines")
  func logLines() {
    var line = EmulatedLine(
      LineConfiguration(
        baud: 1_000_000, cuts: [Cut(.hangUp, at: .zero, for: .seconds(10))],
        faults: [ForeignLogLine(every: .seconds(1), text: "x")]), seed: 1)
    #expect(line.receive(at: 10_500_000_000) == Array("x".utf8))
    #expect(line.receive(at: 11_500_000_000) == Array("x".utf8))
  }

  @Test("both ends of a virtual link exchange bytes, and are cut together")
  func link() {
    var link = VirtualLink(LineConfiguration(baud: 1_000_000), seed: 5)
    link.send([1, 2], from: .a)
    link.send([3], from: .b)
    #expect(link.nextEvent == 10_000)
    link.advance(by: .microseconds(20))
    #expect(link.receive(at: .b) == [1, 2])
    #expect(link.receive(at: .a) == [3])
    #expect(link.nextEvent == nil)
    link.cut(.hangUp)
    #expect(link.cut(from: .a) == .hangUp)
    #expect(VirtualLink.End.allCases.map { link.send([1], from: $0) } == [0, 0])
    link.restore()
    #expect(link.send([4], from: .b) == 1)
    link.advance(to: link.now + 10_000)
    #expect(link.receive(at: .a) == [4])
    #expect(link.counters(from: .b).delivered == 2)
  }

  @Test("if the device of one end is gone, bytes of the other end are lost")
  func oneEnd() {
    var link = VirtualLink(LineConfiguration(baud: 1_000_000), seed: 5)
    link.cut(.hangUp, at: .b)
    #expect(link.cut(from: .b) == .hangUp)
    #expect(link.cut(from: .a) == .lose)
    #expect(link.send([1], from: .a) == 1)
    #expect(link.send([1], from: .b) == 0)
    link.advance(by: .seconds(1))
    #expect(link.receive(at: .b).isEmpty)
  }

  @Test("if a device hangs up, the bytes that wait to be read are lost")
  func unread() {
    var link = VirtualLink(LineConfiguration(baud: 1_000_000), seed: 5)
    link.send([1, 2], from: .a)
    link.advance(by: .seconds(1))
    link.cut(.hangUp, at: .b)
    link.restore()
    #expect(link.receive(at: .b).isEmpty)
    #expect(link.counters(from: .a).dropped == 2)
  }

  @Test("the two directions of a link have independent random faults")
  func directions() {
    var link = VirtualLink(LineConfiguration(faults: [BitFlips(rate: 0.05)]), seed: 5)
    link.send(pattern(1000), from: .a)
    link.send(pattern(1000), from: .b)
    link.advance(by: .seconds(1))
    #expect(link.receive(at: .a) != link.receive(at: .b))
  }
}
