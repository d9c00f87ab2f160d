import Byway
import HTTPTypes
import Logging
import NIOCore
import NIOPosix
import Synchronization

/// A recording of one exchange, in a file that gets its name when it is complete.
final class RecordingWriter: BodyRecorder {
  private struct State {
    var file: NewFile?
    /// The time of the last line.
    var time: Duration
    var digest = BodyDigest()
    var digestPosition = 0
    /// The number of bytes of the response's body that have not arrived, if its length is known.
    var missing: Int?
  }

  private let head: HTTPRequest
  private let name: String
  private let folder: TrustedFolder
  private let logger: Logger
  private let uptime: @Sendable () -> Duration
  private let state: Mutex<State>

  /// - Parameter name: The name without its extension.
  init(
    _ head: HTTPRequest, to name: String, in folder: TrustedFolder, logger: Logger,
    uptime: @escaping @Sendable () -> Duration
  ) {
    self.head = head
    self.name = name
    self.folder = folder
    self.logger = logger
    self.uptime = uptime
    state = Mutex(State(time: uptime()))
  }

  func request(_ event: BodyWatch.Event) {
    state.withLock { state in
      switch event {
      case .began: state.digest = BodyDigest()
      case .chunk(let chunk): state.digest.update(chunk)
      case .ended, .failed, .released: break
      }
    }
  }

  /// - Parameter length: The length of the body, if known.
  func begin(_ response: HTTPResponse, length: Int?) async {
    state.withLock { $0.missing = length }
    var response = response
    response.headerFields = Redactor.defaults.redacted(response.headerFields)
    await open()
    await append(ByteBuffer(string: RecordingFormat.head(response, after: pause())))
  }

  func write(_ chunk: ByteBuffer) async {
    state.withLock { state in state.missing = state.missing.map { $0 - chunk.readableBytes } }
    // The reader accepts no larger piece.
    var rest = chunk
    while let piece = rest.readSlice(length: min(rest.readableBytes, 1 << 20)), piece.readableBytes > 0 {
      await append(RecordingFormat.chunk(piece, after: pause()))
    }
  }

  func finish(_ trailers: HTTPFields?) async {
    await append(ByteBuffer(string: RecordingFormat.end(trailers.map(Redactor.defaults.redacted))))
    await close()
  }

  func fail(_ error: any Error) async {
    guard BywayError(error).code != .cancelled else {
      // A reader with every byte need not ask for the end. If the reader gave up, the exchange is not recorded.
      return state.withLock({ $0.missing }) == 0 ? await finish(nil) : drop()
    }
    if state.withLock({ $0.file == nil }) { await open() }
    await append(ByteBuffer(string: RecordingFormat.failure(BywayError(error), after: pause())))
    await close()
  }

  // MARK: The file

  private func open() async {
    let subject = RecordingSubject(head, body: "")
    let opening = RecordingFormat.opening(subject.method, subject.target)
    let (name, folder) = (name + ".part", folder)
    await attempt {
      let file = try await NIOThreadPool.singleton.runIfActive { try NewFile(name, in: folder) }
      self.state.withLock { state in
        state.file = file
        state.digestPosition = opening.digestPosition
      }
    }
    await append(ByteBuffer(string: opening.text))
  }

  private func append(_ bytes: ByteBuffer) async {
    guard let file = state.withLock({ $0.file }) else { return }
    await attempt { try await file.write(bytes) }
  }

  private func close() async {
    let (file, digest, position) = state.withLock { ($0.file, $0.digest.text, $0.digestPosition) }
    guard let file else { return }
    let name = name + ".exchange"
    await attempt {
      try await NIOThreadPool.singleton.runIfActive {
        try file.overwrite(digest, at: position)
        try file.rename(to: name)
      }
    }
    drop()
  }

  /// Runs in a separate task: the exchange's may be cancelled as soon as the caller has what it wants.
  private func attempt(_ work: @escaping @Sendable () async throws -> Void) async {
    do {
      try await Task { try await work() }.value
    } catch {
      let path = Redactor.defaults.redactedURL(head.path ?? "")
      logger.warning(
        "An exchange is not recorded.", metadata: ["request": "\(head.method) \(path)", "error": "\(error)"])
      drop()
    }
  }

  private func drop() {
    state.withLock { $0.file = nil }
  }

  /// Returns the time since the last line.
  private func pause() -> Duration {
    let now = uptime()
    return state.withLock { state in
      defer { state.time = now }
      return now - state.time
    }
  }
}
