import BywayLineLayer
import Logging
import NIOCore

/// Opens one session over a line, and reopens the line for as long as the session waits for it.
///
/// Lives on its event loop; kept alive by the driver until the session has ended.
final class LineDialer: LineDriver.Delegate, @unchecked Sendable {
  // Sendable: its variables are used on the event loop only.

  /// The pause between two attempts to open a lost line.
  private static let pause = TimeAmount.milliseconds(200)

  private let base: any Transport
  /// The time limit of one attempt.
  private let attempt: TimeAmount
  private let driver: LineDriver
  private let logger: Logger
  /// The counters from earlier sessions.
  private let before: LineStatistics
  private let peer: LinkPeer
  private var opened: EventLoopPromise<any Channel>?
  private var isOver = false
  /// The streams that this end takes, if the listener takes some too.
  private var offer = StreamOffer.none
  /// The streams of the session, once it is open.
  private(set) var agreement: StreamAgreement?
  /// Why the last attempt to reopen the line has failed.
  private(set) var unavailableReason: String?

  private var address: LinkAddress { driver.address }
  private var eventLoop: any EventLoop { driver.eventLoop }

  init(
    _ layer: LineLayer, base: any Transport, address: LinkAddress, attempt: TimeAmount, on eventLoop: any EventLoop,
    context: LinkContext
  ) {
    self.base = base
    self.attempt = attempt
    logger = context.logger
    peer = context.peer
    before = layer.statistics
    driver = LineDriver(layer, address: address, on: eventLoop, logger: logger)
  }

  func open(streams offer: StreamOffer = .none, by deadline: NIODeadline) async throws -> any Channel {
    let line = try await base.connect(
      to: address, context: LinkContext(group: eventLoop, logger: logger, deadline: deadline))
    return try await eventLoop.flatSubmit {
      self.offer = offer
      return self.open(over: line, by: deadline)
    }.get()
  }

  private func open(over line: any Channel, by deadline: NIODeadline) -> EventLoopFuture<any Channel> {
    let opened = eventLoop.makePromise(of: (any Channel).self)
    self.opened = opened
    driver.delegate = self
    do {
      try driver.attach(line)
    } catch {
      line.close(promise: nil)
      opened.fail(error)
      return opened.futureResult
    }
    let timeout = eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { self.driver.abort() }
    opened.futureResult.whenComplete { _ in timeout.cancel() }
    driver.open(session: .random(in: 0 ... .max), streams: offer)
    return opened.futureResult
  }

  // MARK: LineDriver.Delegate

  func sessionOpened(_ channel: StreamChannel) {
    guard let opened = opened.take() else { return }
    agreement = driver.layer.streams
    channel.handOver(to: opened) { self.driver.abort() }
  }

  func sessionEnded(_ end: SessionEnd) -> EventLoopFuture<Void> {
    guard !isOver else { return eventLoop.makeSucceededVoidFuture() }
    isOver = true
    opened.take()?.fail(silence(end))
    // The driver's last output, such as a reset, is sent in this turn of the loop.
    return eventLoop.flatSubmit {
      let released = self.driver.detach()
      self.driver.delegate = nil
      KnownLines.remember(self.driver.layer, of: self.address)
      return released
    }
  }

  func lineLost() {
    guard !isOver else { return }
    let deadline = NIODeadline.now() + attempt
    eventLoop.makeFutureWithTask { [base, address, eventLoop, logger] in
      try await base.connect(
        to: address, context: LinkContext(group: eventLoop, logger: logger, deadline: deadline))
    }.assumeIsolated().whenComplete { result in
      self.reopened(result)
    }
  }

  private func reopened(_ result: Result<any Channel, any Error>) {
    switch result {
    case .success(let line) where isOver:
      line.close(promise: nil)
    case .success(let line):
      do {
        try driver.attach(line)
        unavailableReason = nil
        logger.notice("Line is back", metadata: ["link": "\(address)"])
      } catch {
        line.close(promise: nil)
        retry(error)
      }
    case .failure(let error):
      retry(error)
    }
  }

  private func retry(_ error: any Error) {
    unavailableReason = "\(error)"
    if (error as? BywayError)?.isLasting == true { return driver.abort() }
    logger.debug("Line is not back yet", metadata: ["link": "\(address)", "reason": "\(error)"])
    eventLoop.assumeIsolated().scheduleTask(in: Self.pause) { self.lineLost() }
  }

  /// Whether the medium has a baud rate, which both ends must agree on.
  private var hasRate: Bool { address[option: "line"] != nil || base.options.contains { $0.name == "baud" } }

  /// Explains a missing answer by the bytes that have arrived.
  private func silence(_ end: SessionEnd) -> BywayError {
    var error = BywayError(end, on: address)
    error.code = .linkUnavailable
    error.processing = .none
    guard end == .abortedHere || end == .silence else { return error }
    let now = driver.layer.statistics
    let bytes = now.receivedBytes - before.receivedBytes
    let evidence =
      if bytes == 0 {
        "No bytes arrive: is the cable plugged in, and is \(peer.name) running at its far end\(hasRate ? " with the same baud rate" : "")?"
      } else if let words = driver.unframed?.lastWords, UnexpectedPeer(words.utf8) == .login {
        "A login prompt or a shell is there and says \"\(words)\": \(peer.name) must run at its far end instead."
      } else if let words = driver.unframed?.lastWords {
        "What arrives (\(bytes) bytes) is text from another program, \"\(words)\": is \(peer.name) running at its far end?"
      } else if now.receivedFrames == before.receivedFrames {
        "What arrives (\(bytes) bytes) is not from byway: is \(peer.name) running at its far end"
          + (hasRate ? " with the same baud rate, parity and stop bits?" : "?")
      } else {
        "The far end is heard, but does not hear this end: is the cable damaged, or is another program reading from it there?"
      }
    error.message = "No answer on \(address). \(evidence)"
    return error
  }
}
