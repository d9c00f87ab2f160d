import Byway
import BywayPrimitives
import BywayProxy
import Dispatch
import Logging
import Synchronization

/// An audit log of which user uses which device, and which requests are refused: a JSON object on each line. It is written on a
/// separate thread, so that a slow disk delays no request. Lines that do not fit into the buffer or on the disk are counted, and
/// the count is written as a line. Safe on any thread.
final class AuditLogFile: AuditLog {
  /// The limit of waiting lines.
  private static let limit = 4096

  private static let patience = DispatchTimeInterval.seconds(2)

  private struct State {
    var waiting = 0
    var lost = 0
  }

  private let worker = DispatchQueue(label: "byway.audit-log")
  private let state = Mutex(State())
  private let writer: AuditLogWriter

  /// - Throws: ``CommandFailure`` if the file cannot be opened.
  init(_ path: String, logger: Logger) throws {
    writer = AuditLogWriter(try AccessLogFile(path, of: "--audit-log"), logger: logger)
  }

  func record(_ event: AuditEvent) {
    let time = WallTime.now()
    let lost = state.withLock { state -> Int? in
      guard state.waiting < Self.limit else {
        state.lost += 1
        return nil
      }
      state.waiting += 1
      defer { state.lost = 0 }
      return state.lost
    }
    guard let lost else { return }
    worker.async {
      self.writer.write(event.json(at: time), behind: lost, at: time)
      self.state.withLock { $0.waiting -= 1 }
    }
  }

  /// Continues in a new file of the same name, after the old one was renamed.
  func reopen() {
    worker.async { self.writer.reopen() }
  }

  /// Writes the remaining lines. Waits for a reader up to a time limit.
  func finish() async {
    await worker.run(within: Self.patience) {}
  }
}

/// `@unchecked Sendable`: only the queue of its ``AuditLogFile`` uses it.
private final class AuditLogWriter: @unchecked Sendable {
  private var file: AccessLogFile
  private let logger: Logger
  private var hasFailed = false
  /// Lines that were dropped and not reported in the log yet.
  private var lost = 0

  init(_ file: AccessLogFile, logger: Logger) {
    self.file = file
    self.logger = logger
  }

  /// - Parameter lost: The number of lines before it that are not written.
  func write(_ line: JSON, behind lost: Int, at time: WallTime) {
    self.lost += lost
    if self.lost > 0,
      write(["time": .string(time.timestamp), "event": "lost", "lines": .number(self.lost)])
    {
      self.lost = 0
    }
    if !write(line) { self.lost += 1 }
  }

  private func write(_ line: JSON) -> Bool {
    let outcome = Array("\(line)\n".utf8).withUnsafeBytes { file.write($0) }
    guard outcome.lost > 0 else {
      hasFailed = false
      return true
    }
    if !hasFailed {
      logger.error(
        "The audit log cannot be written", metadata: ["reason": "\(outcome.reason.map { "\($0)" } ?? "unknown")"])
    }
    hasFailed = true
    return false
  }

  func reopen() {
    do throws(FileRefusal) {
      try file.reopen()
    } catch {
      logger.error("The audit log cannot be opened again; lines go to the old file", metadata: ["reason": "\(error)"])
    }
  }
}

extension AuditEvent {
  fileprivate func json(at time: WallTime) -> JSON {
    let stamp = JSON.string(time.timestamp)
    switch self {
    case .began(let user, let resource):
      return [
        "time": stamp, "event": "began", "user": .string(user.name), "by": .string(user.proof.rawValue),
        "device": .string(resource.text), "peer": .string(user.peer),
      ]
    case .beganMore(let name, let times):
      return [
        "time": stamp, "event": "began", "user": .string(name), "device": "various", "times": .number(times),
      ]
    case .ended(let user, let resource, let requests, let duration):
      return [
        "time": stamp, "event": "ended", "user": .string(user.name), "by": .string(user.proof.rawValue),
        "device": .string(resource.text), "peer": .string(user.peer), "requests": .number(requests),
        "seconds": .number(Int(duration.nanoseconds / 1_000_000_000)),
      ]
    case .refused(let refused, let times):
      return [
        "time": stamp, "event": "refused", "reason": .string(refused.reason.rawValue),
        "user": refused.name.map { .string($0) }, "device": refused.resource.map { .string($0.text) },
        "peer": .string(refused.peer), "times": .number(times),
      ]
    }
  }
}
