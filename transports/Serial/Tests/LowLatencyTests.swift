import Foundation
import TestTools
import Testing
import TransportTestSupport

@testable import SerialTransport

@Suite struct LowLatencyTests {
  @Test("sets an adapter's latency timer to a millisecond, and logs nothing")
  func set() async throws {
    try await withTimer("16\n") { sysfs, file in
      #expect(request(sysfs).isEmpty)
      let text = try String(contentsOfFile: file, encoding: .utf8)
      #expect(text.hasPrefix("1\n"))
    }
  }

  @Test("does not change a timer that is short already, nor ports without one")
  func nothingToDo() async throws {
    try await withTimer("1\n") { sysfs, file in
      #expect(request(sysfs).isEmpty)
      let text = try String(contentsOfFile: file, encoding: .utf8)
      #expect(text == "1\n")
    }
    #expect(request("/nonexistent").isEmpty)
  }

  @Test("logs once what to do if the timer may not be set")
  func hint() async throws {
    try await withTimer("16\n") { sysfs, file in
      // This file contains a number, and even the superuser cannot write it.
      try FileManager.default.removeItem(atPath: file)
      try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: "/proc/sys/kernel/ngroups_max")
      let log = LogRecord()
      let advice = Advice()
      for _ in 0..<3 {
        LowLatency.request(of: "/dev/ttyUSB0", descriptor: -1, logger: log.logger, advice: advice, sysfs: sysfs)
      }
      #expect(log.all.count == 1)
      #expect(log.all.first?.contains("echo 1 | sudo tee \(file)") == true)
    }
  }

  private func request(_ sysfs: String) -> [String] {
    let log = LogRecord()
    LowLatency.request(of: "/dev/ttyUSB0", descriptor: -1, logger: log.logger, advice: Advice(), sysfs: sysfs)
    return log.all
  }

  private func withTimer(_ text: String, _ body: (_ sysfs: String, _ file: String) async throws -> Void) async throws {
    try await withTemporaryFolder { folder in
      let file = "\(folder)/ttyUSB0/device/latency_timer"
      try FileManager.default.createDirectory(atPath: "\(folder)/ttyUSB0/device", withIntermediateDirectories: true)
      try text.write(toFile: file, atomically: true, encoding: .utf8)
      try await body(folder, file)
    }
  }
}
