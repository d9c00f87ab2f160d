import Byway
import BywayHTTPWire
import Logging
import NIOCore

/// A gateway that has dialed and is being asked for its name.
///
/// Lives on its event loop; held by the hub that asks, and by the exchange.
final class GatewayCandidate: ResponseSink, HubCandidate {
  private static let patience = TimeAmount.seconds(5)

  /// The answer to the question for its name.
  enum Answer {
    case claim(DeviceClaim)
    /// No answer in time.
    case silence
    /// The connection has ended, or is of no use.
    case gone
  }

  private let eventLoop: any EventLoop
  private let upstream: HTTP2Upstream
  private var request: (any RequestSink)?
  private var timer: Scheduled<Void>?
  private var isFound = false
  private var content: [UInt8] = []
  private var told: ((Answer) -> Void)?

  init(
    _ channel: any Channel, name: String, on eventLoop: any EventLoop, hop: String?,
    _ configuration: HTTP2Upstream.Configuration
  ) {
    self.eventLoop = eventLoop
    // No log of its own: it would repeat what the later owner of the connection logs.
    upstream = HTTP2Upstream(
      dialer: Dialer(name: name) { eventLoop, _ in eventLoop.makeSucceededFuture(channel) }, on: eventLoop, hop: hop,
      configuration: configuration, logger: Logger(label: "byway.candidate") { _ in SwiftLogNoOpLogHandler() })
  }

  /// - Parameter told: gets the answer. A gateway without such a resource claims nothing.
  func ask(_ told: @escaping (Answer) -> Void) {
    self.told = told
    timer = eventLoop.assumeIsolated().scheduleTask(in: Self.patience) {
      self.request?.cancel(BywayError(.timedOut, "The gateway did not send its name in time."))
      self.tell(.silence)
    }
    var fields = FieldSection()
    fields.append(.method, "GET")
    fields.append(.scheme, "http")
    fields.append(.authority, "localhost")
    fields.append(.path, "\(DeviceClaim.path)")
    request = upstream.begin(ExchangeHead(fields: fields, isComplete: true), respondingTo: self)
  }

  /// Hands out its connection for another upstream.
  func connection() -> HTTP2ClientConnection? { upstream.releaseConnection() }

  /// Closes the connection.
  func close() {
    told = nil
    timer?.cancel()
    // Otherwise the connection would wait for the answer.
    request.take()?.cancel(BywayError(.cancelled, "The gateway's name is not needed any more.", processing: .none))
    upstream.shutDown()
  }

  private func tell(_ answer: Answer) {
    timer?.cancel()
    request = nil
    told.take()?(answer)
  }

  // MARK: ResponseSink

  func informational(_ head: FieldSection) {}

  func head(_ head: FieldSection, isComplete: Bool) {
    isFound = head.status == 200
    if isComplete { finish(trailers: nil) }
  }

  func write(_ bytes: ByteBuffer) {
    request?.didConsumeResponse(bytes.readableBytes)
    guard content.count + bytes.readableBytes <= DeviceClaim.maximumBytes else {
      request?.cancel(BywayError(.protocolViolation, "The gateway's description of itself is too large."))
      return tell(.gone)
    }
    content += bytes.readableBytesView
  }

  func finish(trailers: FieldSection?) {
    tell(.claim((isFound ? DeviceClaim(reading: content) : nil) ?? DeviceClaim(name: nil)))
  }

  func fail(_ error: BywayError) {
    tell(.gone)
  }

  func didConsumeRequest(_ bytes: Int) {}
}
