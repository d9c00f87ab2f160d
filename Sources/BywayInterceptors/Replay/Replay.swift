public import Byway
import NIOPosix

/// An interceptor that answers with what a ``Recorder`` or an inspector recorded, byte for byte and, if wanted, at the original
/// pace.
///
/// A request gets the answer to the same request: the same method, path, query and body. Its host and port count only if it asks
/// for another server than the link's origin, in absolute form through a proxy or over https. If several answers were recorded,
/// each repetition gets the next one, and the last one stays.
public struct Replay: Interceptor {
  /// The treatment of a request that was not recorded.
  public enum Missing: Sendable {
    /// It fails, so that a test shows what it did not expect.
    case fails
    /// It is forwarded to the origin.
    case goesOn
  }

  public let scope: Scope
  private let folder: String
  private let missing: Missing
  private let keepsTime: Bool
  private let clock: any Clock<Duration>
  private let store: RecordingStore

  /// Reads the folder, or the file, once. Blocks.
  /// - Parameters:
  ///   - folder: The folder of a ``Recorder``, or a file of such recordings, one after another.
  ///   - scope: The requests to answer.
  ///   - missing: The treatment of a request that was not recorded.
  ///   - keepsTime: Whether answers take their original time; otherwise they come at once.
  /// - Throws: `BywayError` if the folder cannot be read, others can write to it, or a file in it is not a recording.
  public init(
    from folder: String, scope: Scope = .everything, missing: Missing = .fails, keepsTime: Bool = false
  ) throws {
    try self.init(from: folder, scope: scope, missing: missing, keepsTime: keepsTime, clock: ContinuousClock())
  }

  package init(
    from folder: String, scope: Scope = .everything, missing: Missing = .fails, keepsTime: Bool,
    clock: any Clock<Duration>
  ) throws {
    self.scope = scope
    self.folder = folder
    self.missing = missing
    self.keepsTime = keepsTime
    self.clock = clock
    store = try RecordingStore(folder)
  }

  public func intercept(_ request: Request, next: Next) async throws -> Response {
    // A body that can be read once is read here, and would be missing further on.
    let mayGoOn = missing == .goesOn && request.body.isReplayable
    var digest = BodyDigest()
    for try await chunk in request.body { digest.update(chunk) }
    let subject = RecordingSubject(request.head, body: digest.text)
    guard let recording = store.next(for: subject) else {
      if mayGoOn { return try await next(request) }
      throw BywayError(
        .originUnavailable,
        "\(folder) has no recording of \(subject.method) \(subject.place) with this query and body:"
          + " record it.",
        processing: .none)
    }
    let playback = try await NIOThreadPool.singleton.runIfActive { try recording.open() }
    if keepsTime { try await clock.sleep(for: playback.waiting, tolerance: nil) }
    switch playback.answer {
    case .failure(let error): throw error
    case .response(let head):
      return Response(head, body: playback.body(on: keepsTime ? clock : nil)).answering(request.head)
    }
  }
}
