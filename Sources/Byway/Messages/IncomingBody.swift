import HTTPTypes
package import NIOCore

/// A body that arrives from a connection, between the event loop that fills it and the task that reads it.
///
/// Queued chunks are limited by the connection's window, which `onConsumed` reopens as chunks are taken.
///
/// `@unchecked Sendable`: every stored property is used on `eventLoop` only.
package final class IncomingBody: @unchecked Sendable {
  private enum End {
    case complete(HTTPFields?)
    case failed(any Error)
  }

  let eventLoop: any EventLoop
  private var chunks = CircularBuffer<ByteBuffer>()
  private var end: End?
  private var waiter: CheckedContinuation<ByteBuffer?, any Error>?
  /// Called with the number of bytes that the reader took; the connection may receive as many again.
  var onConsumed: ((Int) -> Void)?
  /// Called once when the reader waits and nothing has arrived.
  var onAwaited: (() -> Void)?
  /// Called when the reader stops before the end.
  var onCancelled: (() -> Void)?

  package init(on eventLoop: any EventLoop) {
    self.eventLoop = eventLoop
  }

  // MARK: The connection's side, on the event loop

  func receive(_ chunk: ByteBuffer) {
    guard end == nil, chunk.readableBytes > 0 else { return }
    if let waiter = waiter.take() {
      waiter.resume(returning: chunk)
      onConsumed?(chunk.readableBytes)
    } else {
      chunks.keep(chunk)
    }
  }

  func finish(trailers: HTTPFields?) {
    guard end == nil else { return }
    end = .complete(trailers)
    release()
    waiter.take()?.resume(returning: nil)
  }

  func fail(_ error: any Error) {
    guard end == nil else { return }
    end = .failed(error)
    release()
    waiter.take()?.resume(throwing: error)
  }

  // MARK: The reader's side

  fileprivate func take(_ continuation: CheckedContinuation<ByteBuffer?, any Error>) {
    if waiter != nil {
      continuation.resume(throwing: BywayError(.invalidRequest, "A streamed body can be read by one task only."))
    } else if let chunk = chunks.popFirst() {
      continuation.resume(returning: chunk)
      onConsumed?(chunk.readableBytes)
    } else {
      switch end {
      case .complete: continuation.resume(returning: nil)
      case .failed(let error): continuation.resume(throwing: error)
      case nil:
        waiter = continuation
        onAwaited.take()?()
      }
    }
  }

  fileprivate var trailers: HTTPFields? {
    if case .complete(let trailers) = end { trailers } else { nil }
  }

  fileprivate func cancel(_ error: any Error) {
    guard end == nil else { return }
    let cancelled = onCancelled
    fail(error)
    chunks.removeAll()
    cancelled?()
  }

  private func release() {
    // Chunks may still be read after the end, but the connection need not be notified.
    onConsumed = nil
    onCancelled = nil
    onAwaited = nil
  }
}

/// The reader's end of an ``IncomingBody``. Releasing its last reference early abandons the body.
package final class IncomingBodyHandle: Sendable {
  private let body: IncomingBody

  package init(_ body: IncomingBody) {
    self.body = body
  }

  deinit {
    let body = body
    body.eventLoop.runNowOrSoon {
      body.cancel(BywayError(.cancelled, "The reader dropped the body before its end."))
    }
  }

  func next() async throws -> ByteBuffer? {
    let body = body
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        body.eventLoop.runNowOrSoon { body.take(continuation) }
      }
    } onCancel: {
      body.eventLoop.runNowOrSoon { body.cancel(CancellationError()) }
    }
  }

  func trailers() async -> HTTPFields? {
    let body = body
    return await withCheckedContinuation { continuation in
      body.eventLoop.runNowOrSoon { continuation.resume(returning: body.trailers) }
    }
  }
}

extension EventLoop {
  /// Runs the work now if the caller is on the loop already, otherwise soon.
  package func runNowOrSoon(_ work: @escaping @Sendable () -> Void) {
    if inEventLoop { work() } else { execute(work) }
  }
}
