import Logging
import NIOCore
import TestTools
import Testing

@testable import Byway

/// Log messages about a link that cannot be opened, in virtual time.
@Suite struct LinkLogTests {
  private let record = LogRecord()
  /// Each message, and the number of its repetitions.
  private var lines: [String] { record.entries.map { "\($0.message) \($0.metadata["repeated"] ?? "")" } }
  private var log: LinkLog
  private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
  private let refused = BywayError(.linkUnavailable, "Nobody listens.")

  init() {
    log = LinkLog(record.logger, name: "unix:/s")
  }

  @Test("the same failure of a link is logged once in ten seconds, with its number")
  mutating func once() {
    for second in 0...9 { log.unavailable(refused, at: start + .seconds(Int64(second))) }
    #expect(lines == ["Link unavailable "])
    log.unavailable(refused, at: start + .seconds(10))
    #expect(lines == ["Link unavailable ", "Link unavailable 9"])
  }

  @Test("the same failure is not logged again while no request waits")
  mutating func search() {
    for minute in 0...9 { log.unavailable(refused, isUrgent: false, at: start + .minutes(Int64(minute))) }
    #expect(lines == ["Link unavailable "])
    #expect(log.counts.failures == 10)
  }

  @Test("links with a shared log of failures are logged as one link") mutating func shared() {
    let shared = SharedSparseLog()
    let logger = record.logger
    for number in 0..<6 {
      var log = LinkLog(logger, name: "unix:/s\(number)", shared: shared)
      log.unavailable(BywayError(.linkUnavailable, "No socket \(number)."), at: start + .seconds(Int64(number)))
      #expect(log.counts.failures == 1)
    }
    #expect(lines == ["Link unavailable "])
    var log = LinkLog(logger, name: "unix:/last", shared: shared)
    log.unavailable(refused, at: start + .seconds(10))
    #expect(lines == ["Link unavailable ", "Link unavailable 5"])
  }

  @Test("a log with several lines admits so many in ten seconds, and counts the others") func several() {
    var log = SparseLog(limit: 3)
    let admitted = (0..<25).compactMap { log.admit(at: start + .seconds(Int64($0))) }
    #expect(admitted == [0, 0, 0, 7, 0, 0, 7, 0, 0])
  }

  @Test("another failure is logged at once, and so is the same after the link was open")
  mutating func another() {
    log.unavailable(refused, at: start)
    log.unavailable(BywayError(.linkUnavailable, "Permission denied."), at: start)
    log.opened()
    log.unavailable(refused, at: start)
    #expect(lines.filter { $0.hasPrefix("Link unavailable") }.count == 3)
  }
}
