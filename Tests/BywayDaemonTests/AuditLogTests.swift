import BywayProxy
import Foundation
import Logging
import TestTools
import Testing

@testable import BywayDaemon

@Suite struct AuditLogTests {
  @Test("the audit log counts lines lost to a full disk, and writes the count when there is room again")
  func full() async throws {
    try await withTemporaryFolder { folder in
      let path = "\(folder)/audit"
      // Every write to /dev/full fails. The regular file then replaces it, as a log rotation does.
      try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/full")
      let log = try AuditLogFile(path, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
      for times in 1...3 { log.record(.beganMore(name: "alice", times: times)) }
      await log.finish()
      try FileManager.default.removeItem(atPath: path)
      log.reopen()
      log.record(.beganMore(name: "alice", times: 4))
      log.record(.beganMore(name: "alice", times: 5))
      await log.finish()
      let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
      try #require(lines.count == 3)
      #expect(lines[0].contains(#""event": "lost""#) || lines[0].contains(#""event":"lost""#))
      #expect(lines[0].contains(#""lines":3"#) || lines[0].contains(#""lines": 3"#))
      #expect(lines[1].contains("4") && lines[2].contains("5"))
    }
  }

  @Test("the audit log has every event of a long time, and not only the first thousands")
  func long() async throws {
    try await withTemporaryFolder { folder in
      let path = "\(folder)/audit"
      let log = try AuditLogFile(path, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
      for _ in 0..<6 {
        for _ in 0..<1000 { log.record(.beganMore(name: "alice", times: 1)) }
        await log.finish()
      }
      let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
      #expect(lines.count == 6000 && !lines.contains { $0.contains("lost") })
    }
  }
}
