import BywayPrimitives
import Foundation
import Glibc
import Logging
import Synchronization
import TestTools
import Testing

@testable import BywayDaemonProcess

/// The output of a test's loggers.
final class LogLines: Sendable {
  private let bytes = Mutex<[UInt8]>([])

  var text: String { String(decoding: bytes.withLock { $0 }, as: UTF8.self) }

  func logger() -> Logger {
    Logger(label: "test") { DaemonLogHandler(label: $0) { line in self.bytes.withLock { $0 += line } } }
  }
}

/// The formats of a daemon's log.
@Suite struct LogTests {
  private let line = LogLine(
    time: WallTime(sinceEpoch: .milliseconds(1_795_000_000_042)), level: .warning, label: "byway.gateway",
    message: "A request failed",
    metadata: [("count", "2"), ("reason", "Nobody \"is\" there.\n<0>No")])

  private func text(_ format: LogFormat) -> String {
    String(decoding: line.bytes(format), as: UTF8.self)
  }

  @Test("the text format quotes values that are not plain words")
  func plain() {
    #expect(
      text(.text)
        == #"2026-11-18T11:06:40.042Z warning byway.gateway: A request failed count=2 reason="Nobody \"is\" there. <0>No""#
        + "\n")
  }

  @Test("the journal format has a priority, no time, and escapes line breaks so that no line can be forged")
  func journal() {
    #expect(
      text(.journal) == #"<4>byway.gateway: A request failed count=2 reason="Nobody \"is\" there. <0>No""# + "\n")
    let priorities = Logger.Level.allCases.map {
      String(
        decoding: LogLine(time: .now(), level: $0, label: "", message: "", metadata: []).bytes(.journal).prefix(3),
        as: UTF8.self)
    }
    #expect(priorities == ["<7>", "<7>", "<6>", "<5>", "<4>", "<3>", "<2>"])
  }

  @Test("the JSON format is one object on one line")
  func json() throws {
    #expect(text(.json).filter { $0 == "\n" }.count == 1)
    let object = try #require(JSONSerialization.jsonObject(with: Data(line.bytes(.json))) as? [String: Any])
    #expect(object["level"] as? String == "warning" && object["logger"] as? String == "byway.gateway")
    #expect(
      object["time"] as? String == "2026-11-18T11:06:40.042Z" && object["message"] as? String == "A request failed")
    #expect((object["metadata"] as? [String: String])?["reason"] == "Nobody \"is\" there.\n<0>No")
  }

  @Test("the journal's stream is recognized by device and inode")
  func usual() throws {
    let folder = try TemporaryFolder()
    let descriptor = open(folder["stream"], O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
    defer { close(descriptor) }
    var status = stat()
    #expect(fstat(descriptor, &status) == 0)
    #expect(LogFormat.leadsToJournal("\(status.st_dev):\(status.st_ino)", descriptor))
    for other in ["", "\(status.st_dev)", "\(status.st_dev):\(status.st_ino + 1)", "x:y"] {
      #expect(!LogFormat.leadsToJournal(other, descriptor))
    }
    #expect(!LogFormat.leadsToJournal("\(status.st_dev):\(status.st_ino)", -1))
  }

  @Test("a log message stays on one line and contains no control characters")
  func logs() {
    let lines = LogLines()
    var logger = lines.logger()
    logger[metadataKey: "link"] = "x\u{9B}2J"
    logger.critical("a\nb\u{85}", metadata: ["error": ["\u{202E}c", .stringConvertible("d\u{1B}")]])
    let line = lines.text.dropLast()
    #expect(line.contains("a b? ") && line.contains("?c") && line.contains("x?2J"), "\(line)")
    #expect(line.unicodeScalars.allSatisfy { !$0.isObeyed })
  }
}
