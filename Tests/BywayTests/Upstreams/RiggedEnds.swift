import BywayHTTPWire
import NIOCore
import NIOEmbedded
import TestWire

@testable import Byway

/// The recorded response to one request.
final class RiggedResponse: ResponseSink {
  let begin: NIODeadline
  let deadline: NIODeadline?
  /// The time at which the head arrived.
  private(set) var answer: NIODeadline?
  private(set) var end: NIODeadline?
  private(set) var error: BywayError?
  /// The number of ends; more than one is an error of the upstream.
  private(set) var endings = 0
  private(set) var isCancelled = false
  private(set) var callsAfterEnd = 0
  private(set) var status: String?
  var request: (any RequestSink)?
  private let loop: EmbeddedEventLoop

  init(at begin: NIODeadline, deadline: NIODeadline?, on loop: EmbeddedEventLoop) {
    self.begin = begin
    self.deadline = deadline
    self.loop = loop
  }

  var isOver: Bool { end != nil || isCancelled }

  func cancel() {
    guard !isOver else { return }
    isCancelled = true
    request?.cancel(BywayError(.cancelled, "Enough."))
  }

  private func over() {
    endings += 1
    end = loop.now
  }

  private func called() {
    if isOver { callsAfterEnd += 1 }
  }

  func informational(_ head: FieldSection) { called() }

  func head(_ head: FieldSection, isComplete: Bool) {
    called()
    answer = loop.now
    status = head.value(of: .status)
    if isComplete { over() }
  }

  func write(_ bytes: ByteBuffer) {
    called()
    request?.didConsumeResponse(bytes.readableBytes)
  }

  func finish(trailers: FieldSection?) {
    called()
    over()
  }

  func fail(_ error: BywayError) {
    called()
    self.error = error
    over()
  }

  func didConsumeRequest(_ bytes: Int) {}
}

/// An origin whose responses the test sets.
final class RiggedOrigin: ExchangeHandler {
  enum Answer {
    case answers(after: TimeAmount)
    /// Sends nothing.
    case hangs
    /// Sends a head and some bytes, and then nothing.
    case stalls
  }

  private let loop: () -> EmbeddedEventLoop?
  private let received: (String) -> Void
  private let answer: () -> Answer
  private(set) var paths: [String] = []

  /// - Parameter received: called with the path of each request.
  init(
    on loop: @escaping () -> EmbeddedEventLoop?, _ answer: @escaping () -> Answer = { .answers(after: .zero) },
    received: @escaping (String) -> Void = { _ in }
  ) {
    self.loop = loop
    self.received = received
    self.answer = answer
  }

  func begin(_ request: ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    let path = request.fields.value(of: .path) ?? ""
    paths.append(path)
    received(path)
    let end = Unshared(sink)
    switch answer() {
    case .answers(let delay):
      loop()?.scheduleTask(in: delay) {
        end.value.head([":status": "200", "content-length": "2"], isComplete: false)
        end.value.write(ByteBuffer(string: "ok"))
        end.value.finish(trailers: nil)
      }
    case .hangs:
      break
    case .stalls:
      sink.head([":status": "200", "content-length": "9"], isComplete: false)
      sink.write(ByteBuffer(string: "some"))
    }
    return DiscardingRequestSink()
  }
}
