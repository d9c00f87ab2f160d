import Foundation
import TestTools
import Testing
import TransportTestSupport

@testable import SerialTransport

@Suite struct LowLatencyTests {
  @Test("an adapter's latency timer is set to a millisecond, and nothing is logged")
  func set() async throws {
    try await withTimer("16\n") { sysfs, file in
      #expect(request(sysfs).isEmpty)
      let text = try String(contentsOfFile: file, encoding: .utf8)
      #expect(text.hasPrefix("1\n"))
    }
  }

  @Test("a latency timer that is already short, and a port without one, are not changed")
  func nothingToDo() async throws {
    try await withTimer("1\n") { sysfs, file in
      #expect(request(sysfs).isEmpty)
      let text = try String(contentsOfFile: file, encoding: .utf8)
      #expect(text == "1\n")
    }
    #expect(request("/nonexistent").isEmpty)
  }

  @Test("if the latency timer may not be set, the advice is logged once")
  func hint() async throws {
    try await withTimer("16\n") { sysfs, file in
      // This file contains a number, and even the superuser cannot write it.
      try FileManager.default.removeItem(atPath: file)
      try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: "/proc/sys/kernel/ngroups_max")
      let log = LogRecord()
      let advice = SingleAdvice()
      for _ in 0..<3 {
        LowLatency.request(of: "/dev/ttyUSB0", descriptor: -1, logger: log.logger, advice: advice, sysfs: sysfs)
      }
      #expect(log.all.count == 1)
      #expect(log.all.first?.contains("echo 1 | sudo tee \(file)") == true)
    }
  }

  private func request(_ sysfs: String) -> [String] {
    let log = LogRecord()
    LowLatency.request(of: "/dev/ttyUSB0", descriptor: -1, logger: log.logger, advice: SingleAdvice(), sysfs: sysfs)
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
