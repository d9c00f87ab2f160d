import NIOCore
import TestTools
import Testing

@testable import ProcessTransport

/// The limit for the lines of a program in the log.
@Suite("Limit of logged lines") struct LineQuotaTests {
  private static func seconds(_ time: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .seconds(time) }

  @Test("200 lines in ten seconds are admitted, and the others are counted once")
  func limits() {
    var quota = LineQuota()
    func admit(_ count: Int, at time: Int64) -> Int {
      (0..<count).filter { _ in quota.admit(at: Self.seconds(time)) }.count
    }
    #expect(admit(200, at: 1) == 200)
    #expect(quota.reportTime == nil)
    #expect(admit(1, at: 1) == 0)
    #expect(admit(1, at: 10) == 0)
    #expect(quota.reportTime == Self.seconds(11))
    var leftOut = quota.takeLeftOut()
    #expect(leftOut == 2 && quota.reportTime == nil)
    leftOut = quota.takeLeftOut()
    #expect(leftOut == 0)
    #expect(admit(300, at: 11) == 200)
    #expect(admit(1, at: 20) == 0)
    #expect(quota.reportTime == Self.seconds(21))
  }

  @Test("a flood of lines is in the log as 200 lines, and one that says how many were left out")
  func log() {
    let log = LogRecord()
    let lines = StandardErrorLog(name: "addon", logger: log.logger)
    for number in 1...1000 { lines.append("line \(number)") }
    #expect(lines.reportTime != nil)
    lines.reportLeftOut(at: .distantFuture)
    #expect(log.messages.count == 201)
    #expect(log.messages.first == "addon: line 1" && log.messages.last == "addon: 800 more lines left out")
    #expect(lines.lastLine == "line 1000")
  }
}
