public import Byway
import Glibc
public import Logging
import NIOCore
import NIOPosix
import Primitives
import Synchronization

/// An HTTP Archive (HAR 1.2) that grows with each exchange and can be opened at any moment: in Chromium's and Firefox's
/// developer tools by import.
///
/// Only its owner can read it. A write that fails, on a full disk for example, ends the recording with an error in the
/// log and leaves what was recorded until then.
public final class HARFile: TraceRecorder {
  /// How many records may wait for the disk before those who bring them do.
  private static let backlog = 1000
  private static let head =
    #"{"log":{"version":"1.2","creator":{"name":"Byway","version":"\#(Release.version)"},"pages":[],"entries":["#
  private static let tail = "\n]}}\n"

  private struct File {
    /// Where the next entry goes: over the tail.
    var position: Int
    var hasBegun = false
    var isEmpty = true
    var hasFailed = false
  }

  /// What is on its way to the disk, in its order, and who waits until nothing is.
  private struct Queue {
    var exchanges = CircularBuffer<TracedExchange>()
    var unwritten = 0
    var flushes: [CheckedContinuation<Void, Never>] = []
  }

  /// Where the trace stands that writes it.
  public enum Place: Sendable, Hashable {
    /// Next to the caller: an exchange that failed has no answer, and status 0.
    case client
    /// In a proxy or a gateway, whose client is answered with a status then.
    case hop
  }

  /// Where it is.
  public let path: String
  private let place: Place
  private let httpVersion: String
  private let descriptor: CInt
  private let logger: Logger
  /// Taken before the queue: whoever has the file writes the oldest.
  private let file: Mutex<File>
  private let queue = Mutex(Queue())

  /// Begins a new file; one of that name is overwritten.
  /// - Parameters:
  ///   - path: of the file, which only its owner can read.
  ///   - place: where the trace stands that writes it.
  ///   - framing: what the link speaks.
  ///   - logger: for a write that fails.
  /// - Throws: `BywayError` where it cannot be made.
  public convenience init(
    _ path: String, at place: Place = .client, framing: Link.Framing = .http2,
    logger: Logger = Logger(label: "byway.trace")
  ) throws {
    try self.init(opening: path, at: place, framing: framing, logger: logger)
    try begin()
  }

  /// Leaves what is in the file until ``begin()``: whoever opens it may still decide otherwise.
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

  /// Empties the file, the first time.
  /// - Throws: `BywayError` where it cannot be written.
  package func begin() throws {
    try file.withLock { file in
      guard !file.hasBegun else { return }
      do throws(SystemError) {
        // One that was there before may be open to others.
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
    // The first has no comma in front.
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
