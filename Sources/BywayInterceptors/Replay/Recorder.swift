public import Byway
import BywayPrimitives
import HTTPTypes
public import Logging
import NIOPosix
import Synchronization

/// An interceptor that writes each exchange into a file of a folder, which ``Replay`` can answer with later: heads, trailers,
/// bodies of any kind with the time of each chunk, and failures.
///
/// A body streams to the caller while it is written. Only the request's method, its target and the digest of its body are
/// stored. Secrets in the URL and in the response's head are replaced, those in bodies are not. An exchange that the caller drops
/// is not recorded; an exchange that cannot be written is a warning in the log.
public struct Recorder: Interceptor {
  public let scope: Scope
  private let folder: TrustedFolder
  private let logger: Logger
  private let uptime: @Sendable () -> Duration
  private let number: Counter

  /// Creates a recorder. Recordings in the folder stay, and are replayed before the new ones. Blocks shortly.
  /// - Parameters:
  ///   - folder: The folder, which is created if it does not exist. Only its user can access it.
  ///   - scope: The requests to record.
  ///   - logger: The logger for write errors.
  /// - Throws: `BywayError` if the folder cannot be used, or others can write to it.
  public init(
    into folder: String, scope: Scope = .everything, logger: Logger = Logger(label: "byway.recorder")
  ) throws {
    try self.init(into: folder, scope: scope, logger: logger, uptime: Trace.Clocks.system.uptime)
  }

  package init(
    into folder: String, scope: Scope = .everything, logger: Logger = Logger(label: "byway.recorder"),
    uptime: @escaping @Sendable () -> Duration
  ) throws {
    self.folder = try TrustedFolder(folder, making: .folder)
    let numbers = try self.folder.names().compactMap { $0.hasSuffix(".exchange") ? Int($0.dropLast(9)) : nil }
    self.scope = scope
    self.logger = logger
    self.uptime = uptime
    number = Counter(after: numbers.max() ?? 0)
  }

  public func intercept(_ request: Request, next: Next) async throws -> Response {
    guard !request.head.kind.asksForTunnel else { return try await next(request) }
    let recording = RecordingWriter(
      request.head, to: number.next(), in: folder, logger: logger, uptime: uptime)
    var request = request
    request.body = request.body.watched(by: BodyWatch { recording.request($0) })
    do {
      var response = try await next(request)
      await recording.begin(response.head, length: response.body.length)
      if response.body.isKnownEmpty {
        await recording.finish(nil)
      } else {
        response.body = response.body.recorded(by: recording)
      }
      return response
    } catch {
      await recording.fail(error)
      throw error
    }
  }
}

/// A counter that names files in the order of their exchanges.
private final class Counter: Sendable {
  private let last: Mutex<Int>

  init(after last: Int) {
    self.last = Mutex(last)
  }

  func next() -> String {
    let number = last.withLock { last in
      last += 1
      return last
    }
    return String(number, digits: 6)
  }
}
