public import Byway
import BywayLibC
import BywayPrimitives
public import Logging
import NIOCore
import NIOPosix
import Synchronization

/// An HTTP Archive (HAR 1.2) that grows with each exchange and can be opened at any moment: in Chromium's and Firefox's
/// developer tools by import.
///
/// Only its owner can read it. If a write fails, on a full disk for example, the recording ends with an error in the log, and the
/// entries until then remain.
public final class HARFile: TraceRecorder {
  /// The number of records that may wait for the disk. Beyond that, the recording thread writes them itself.
  private static let backlog = 1000
  private static let head =
    #"{"log":{"version":"1.2","creator":{"name":"Byway","version":"\#(Release.version)"},"pages":[],"entries":["#
  private static let tail = "\n]}}\n"

  private struct File {
    /// The position of the next entry, which overwrites the tail.
    var position: Int
    var hasBegun = false
    var isEmpty = true
    var hasFailed = false
  }

  /// The exchanges to be written, in their order, and the callers that wait until there are none.
  private struct Queue {
    var exchanges = CircularBuffer<TracedExchange>()
    var unwritten = 0
    var flushes: [CheckedContinuation<Void, Never>] = []
  }

  /// The place of the trace that writes it.
  public enum Place: Sendable, Hashable {
    /// A program as the caller: a failed exchange has no answer, and status 0.
    case client
    /// A proxy or a gateway: it answers its client with a status when an exchange failed.
    case hop
  }

  /// The path of the file.
  public let path: String
  private let place: Place
  private let httpVersion: String
  private let descriptor: CInt
  private let logger: Logger
  /// Locked before the queue, so that the thread that has the file writes the oldest exchange.
  private let file: Mutex<File>
  private let queue = Mutex(Queue())

  /// Creates a file. An existing file of that name is overwritten.
  /// - Parameters:
  ///   - path: The path of the file, which only its owner can read.
  ///   - place: The place of the trace that writes it.
  ///   - framing: The protocol of the link.
  ///   - logger: The logger for a write error.
  /// - Throws: `BywayError` if it cannot be created.
  public convenience init(
    _ path: String, at place: Place = .client, framing: Link.Framing = .http2,
    logger: Logger = Logger(label: "byway.trace")
  ) throws {
    try self.init(opening: path, at: place, framing: framing, logger: logger)
    try begin()
  }

  /// Opens the file. Its content remains until ``begin()``, as the caller may still decide otherwise.
  package init(opening path: String, at place: Place, framing: Link.Framing, logger: Logger) throws {
    self.path = path
    self.place = place
    self.logger = logger
    httpVersion = "HTTP/\(framing.rawValue)"
    file = Mutex(File(position: Self.head.utf8.count))
    do throws(FileRefusal) {
      descriptor = try SharedPlace.open(path, O_WRONLY, mode: 0o600)
    } catch {
      throw BywayError.cannotCreate(path, "\(error)")
    }
  }

  /// Empties the file at the first call.
  /// - Throws: `BywayError` if it cannot be written.
  package func begin() throws {
    try file.withLock { file in
      guard !file.hasBegun else { return }
      do throws(SystemError) {
        // An existing file may be open to others.
        try SystemError.check(fchmod(descriptor, 0o600))
        // A device has no length.
        if ftruncate(descriptor, 0) != 0, errno != EINVAL { throw .last }
        try Descriptor.write(Self.head + Self.tail, to: descriptor, at: 0)
      } catch {
        throw BywayError.cannotWrite(path, error)
      }
      file.hasBegun = true
    }
  }

  deinit {
    close(descriptor)
  }

  public func record(_ exchange: TracedExchange) {
    let unwritten = queue.withLock { queue in
      queue.exchanges.append(exchange)
      queue.unwritten += 1
      return queue.unwritten
    }
    if unwritten > Self.backlog {
      writeOldest()
    } else {
      NIOThreadPool.singleton.submit { _ in self.writeOldest() }
    }
  }

  /// Returns when everything recorded so far is in the file.
  public func flush() async {
    await withCheckedContinuation { continuation in
      let isIdle = queue.withLock { queue in
        if queue.unwritten > 0 { queue.flushes.append(continuation) }
        return queue.unwritten == 0
      }
      if isIdle { continuation.resume() }
    }
  }

  private func writeOldest() {
    file.withLock { file in
      if let exchange = queue.withLock({ $0.exchanges.popFirst() }) { append(exchange, to: &file) }
    }
    let flushes = queue.withLock { queue in
      queue.unwritten -= 1
      guard queue.unwritten == 0 else { return [] as [CheckedContinuation<Void, Never>] }
      defer { queue.flushes = [] }
      return queue.flushes
    }
    for flush in flushes { flush.resume() }
  }

  private func append(_ exchange: TracedExchange, to file: inout File) {
    guard !file.hasFailed else { return }
    // The first entry has no comma in front.
    var entry = Array((file.isEmpty ? "\n" : ",\n").utf8)
    HAREntry(exchange: exchange, httpVersion: httpVersion, isAnswered: place == .hop).json.write(to: &entry)
    let length = entry.count
    entry += Self.tail.utf8
    do {
      try Descriptor.write(entry, to: descriptor, at: file.position)
      file.position += length
      file.isEmpty = false
    } catch {
      file.hasFailed = true
      logger.error("Recording has ended: \(BywayError.cannotWrite(path, error).message)")
      guard ftruncate(descriptor, file.position) == 0 else { return }
      try? Descriptor.write(Self.tail, to: descriptor, at: file.position)
    }
  }
}
