import BywayPrimitives
import TestTools
import Testing

@Suite struct TimeTests {
  private struct TimedOut: Error {}

  @Test("an operation that ends within its time limit is not affected")
  func inTime() async throws {
    #expect(try await withTimeLimit(.seconds(60), throwing: TimedOut()) { 1 } == 1)
    #expect(try await withTimeLimit(nil, throwing: TimedOut()) { 2 } == 2)
    await #expect(throws: CancellationError.self) {
      try await withTimeLimit(.seconds(60), throwing: TimedOut()) { throw CancellationError() }
    }
  }

  @Test("an operation that exceeds its time limit is cancelled, and not awaited")
  func tooLate() async throws {
    let (cancelled, report) = AsyncStream.makeStream(of: Void.self)
    let (over, end) = AsyncStream.makeStream(of: Void.self)
    await #expect(throws: TimedOut.self) {
      try await withTimeLimit(.milliseconds(1), throwing: TimedOut()) {
        await withTaskCancellationHandler {
          // Ignores its cancellation.
          await Task { for await _ in over {} }.value
        } onCancel: {
          report.finish()
        }
      }
    }
    for await _ in cancelled {}
    end.finish()
  }

  @Test("a cancelled caller stops waiting")
  func cancelledCaller() async throws {
    let (begun, report) = AsyncStream.makeStream(of: Void.self)
    let caller = Task {
      try await withTimeLimit(nil, throwing: TimedOut()) {
        report.finish()
        try await untilCancelled()
      }
    }
    for await _ in begun {}
    caller.cancel()
    await #expect(throws: CancellationError.self) { try await caller.value }
  }

  @Test("dates are formatted and parsed from seconds")
  func calendar() throws {
    let time = CalendarTime(secondsSinceEpoch: 784_111_777)
    #expect(time.date == "1994-11-06" && time.timeOfDay == "08:49:37" && time.weekday == 0)
    #expect(CalendarTime(year: 1994, month: 11, day: 6, secondOfDay: 31_777) == time)
    #expect(CalendarTime(secondsSinceEpoch: -1).date == "1969-12-31")
    #expect(CalendarTime(year: 2016, month: 12, day: 31, secondOfDay: 86_400)?.date == "2017-01-01")
  }

  @Test(
    "invalid dates are rejected", arguments: [(2023, 2, 29), (2024, 6, 31), (1900, 2, 29), (2024, 13, 1), (2024, 1, 0)])
  func noDays(_ year: Int, _ month: Int, _ day: Int) {
    #expect(CalendarTime(year: year, month: month, day: day, secondOfDay: 0) == nil)
  }

  @Test("times outside the years 0000 to 9999 are limited to that range")
  func range() {
    #expect(CalendarTime(secondsSinceEpoch: .max).date == "9999-12-31")
    #expect(CalendarTime(secondsSinceEpoch: .min).date == "0000-01-01")
  }
}
