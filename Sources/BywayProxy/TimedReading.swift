import Byway
import BywayHTTPWire
import NIOCore

/// Ends responses that the client does not read. Lives on its connection's event loop.
///
/// A response counts as read when its bytes have been sent to the client. Until then little more of it is produced, and its end
/// is held back.
final class TimedReading: ExchangeHandler {
  private let eventLoop: any EventLoop
  private let patience: TimeAmount
  private let next: any ExchangeHandler

  /// - Parameter patience: how long a client may read no byte while a part of the response is waiting.
  init(_ patience: TimeAmount, on eventLoop: any EventLoop, before next: any ExchangeHandler) {
    self.eventLoop = eventLoop
    self.patience = patience
    self.next = next
  }

  func begin(_ request: ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    var request = request
    request.readAhead = ReadAhead(limit: 0)
    let response = TimedResponse(sink, patience, on: eventLoop)
    response.request = next.begin(request, respondingTo: response)
    return TimedRequest(response)
  }
}

/// The request of a timed response.
private final class TimedRequest: RequestSink {
  private let response: TimedResponse

  init(_ response: TimedResponse) {
    self.response = response
  }

  func write(_ bytes: ByteBuffer) { response.request?.write(bytes) }

  func finish(trailers: FieldSection?) { response.request?.finish(trailers: trailers) }

  func cancel(_ reason: BywayError) { response.cancel(reason) }

  func didConsumeResponse(_ bytes: Int) { response.consumed(bytes) }
}

private final class TimedResponse: ResponseSink {
  private enum State {
    case coming
    /// The whole response has been produced, and a part of it waits for the client.
    case made(trailers: FieldSection?)
    case ended
  }

  var request: (any RequestSink)?
  private let sink: any ResponseSink
  private let patience: TimeAmount
  private let eventLoop: any EventLoop
  private var state = State.coming
  /// The number of bytes that wait for the client, which last read some at ``progress``.
  private var unread = 0
  private var progress: NIODeadline
  private var timer: Scheduled<Void>?

  init(_ sink: any ResponseSink, _ patience: TimeAmount, on eventLoop: any EventLoop) {
    self.sink = sink
    self.patience = patience
    self.eventLoop = eventLoop
    progress = eventLoop.now
  }

  func informational(_ head: FieldSection) { sink.informational(head) }

  func head(_ head: FieldSection, isComplete: Bool) {
    if isComplete { end() }
    sink.head(head, isComplete: isComplete)
  }

  func write(_ bytes: ByteBuffer) {
    if unread == 0 { progress = eventLoop.now }
    unread += bytes.readableBytes
    if timer == nil, unread > 0 { watch(until: progress + patience) }
    sink.write(bytes)
  }

  func finish(trailers: FieldSection?) {
    state = .made(trailers: trailers)
    finishIfRead()
  }

  func fail(_ error: BywayError) {
    end()
    sink.fail(error)
  }

  func didConsumeRequest(_ bytes: Int) { sink.didConsumeRequest(bytes) }

  func replayRequest() -> Bool { sink.replayRequest() }

  // MARK: From the client

  func consumed(_ bytes: Int) {
    unread -= bytes
    progress = eventLoop.now
    request?.didConsumeResponse(bytes)
    finishIfRead()
  }

  func cancel(_ reason: BywayError) {
    let request = request
    end()
    request?.cancel(reason)
  }

  private func finishIfRead() {
    guard case .made(let trailers) = state, unread <= 0 else { return }
    end()
    sink.finish(trailers: trailers)
  }

  private func watch(until deadline: NIODeadline) {
    timer = eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { self.look() }
  }

  private func look() {
    timer = nil
    guard unread > 0 else { return }
    let deadline = progress + patience
    guard deadline <= eventLoop.now else { return watch(until: deadline) }
    let error = BywayError(
      .timedOut, "The client has read nothing of the response for \(patience.nanoseconds / 1_000_000_000) s.")
    cancel(error)
    sink.fail(error)
  }

  private func end() {
    state = .ended
    request = nil
    timer?.cancel()
    timer = nil
  }
}
