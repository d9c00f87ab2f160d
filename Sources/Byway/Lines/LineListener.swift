import BywayLineLayer
import Logging
import NIOCore

/// Accepts the sessions over a listener's lines, one after another.
///
/// One line at a time: a new one replaces the one before, and the session continues over it, unless another device is at its other end.
final class LineListener: LineDriver.Delegate, @unchecked Sendable {
  // Sendable: its variables are used on the event loop only.

  private enum Line {
    /// No line has been there yet.
    case awaited
    case attached
    /// The last line is gone, and the next one is awaited.
    case lost
  }

  private let driver: LineDriver
  private let queue = ChannelQueue()
  private let lines: any Listener
  /// How long the line is kept without a session; `nil`: for ever.
  private let linger: TimeAmount?
  private let logger: Logger
  /// The device at the other end of the last line, if its medium tells one from another.
  private var peer: String?
  private var line = Line.awaited
  private var isLastLine = false
  private var isClosed = false
  private var lingering: Scheduled<Void>?

  static func start(
    _ layer: LineLayer, lines: any Listener, linger: TimeAmount? = nil, on eventLoop: any EventLoop, logger: Logger
  ) async throws -> any Listener {
    let listener = LineListener(
      LineDriver(layer, address: lines.address, on: eventLoop, logger: logger), lines: lines, linger: linger,
      logger: logger)
    try await eventLoop.submit {
      listener.driver.delegate = listener
      listener.waitForSession()
    }.get()
    let taking = Task {
      do {
        for try await line in lines.channels { await listener.attach(line) }
        try await eventLoop.submit { listener.linesEnded() }.get()
      } catch {
        listener.queue.end(throwing: error)
      }
    }
    return QueueListener(
      address: lines.address, queue: listener.queue, unavailableReason: { lines.unavailableReason },
      reread: { try await lines.reread() }
    ) {
      await lines.close()
      taking.cancel()
      // A running session was accepted, and stays open until its owner ends it.
      try? await listener.driver.eventLoop.flatSubmit { listener.close() }.get()
    }
  }

  private init(_ driver: LineDriver, lines: any Listener, linger: TimeAmount?, logger: Logger) {
    self.driver = driver
    self.lines = lines
    self.linger = linger
    self.logger = logger
  }

  private func attach(_ line: any Channel) async {
    // The line may be gone already; then another one will follow.
    try? await driver.eventLoop.submit {
      // The listener may have ended before it took the line.
      guard !self.isClosed || self.driver.layer.hasSession else { return line.close(promise: nil) }
      if line.isActive { self.endSession(ofOtherThan: line.linePeer) }
      try self.driver.attach(line)
      if case .lost = self.line { self.logger.notice("Line is back", metadata: ["link": "\(self.driver.address)"]) }
      self.line = .attached
    }.get()
  }

  /// Keeps the session of a device, which may carry its user's data, from another device.
  private func endSession(ofOtherThan device: String?) {
    defer { peer = device }
    guard let peer, peer != device, driver.layer.hasSession else { return }
    logger.notice(
      "Another device has connected; the session of the previous one ends",
      metadata: ["link": "\(driver.address)", "device": "\(device ?? "unknown")"])
    driver.abort()
  }

  private func close() -> EventLoopFuture<Void> {
    isClosed = true
    return releaseIfOver()
  }

  /// The medium has no further lines: the sessions end with the current one.
  private func linesEnded() {
    isLastLine = true
    switch line {
    case .attached: break
    case .awaited, .lost: queue.end()
    }
  }

  /// Ends this listener if no session comes in time.
  private func waitForSession() {
    guard let linger else { return }
    lingering?.cancel()
    lingering = driver.eventLoop.assumeIsolated().scheduleTask(in: linger) {
      guard !self.driver.layer.hasSession else { return }
      self.logger.notice("No session has come; the line is given back", metadata: ["link": "\(self.driver.address)"])
      self.close().whenComplete { _ in self.queue.end() }
    }
  }

  private func releaseIfOver() -> EventLoopFuture<Void> {
    guard isClosed, !driver.layer.hasSession else { return driver.eventLoop.makeSucceededVoidFuture() }
    let released = driver.detach()
    driver.delegate = nil
    return released
  }

  // MARK: LineDriver.Delegate

  func sessionOpened(_ channel: StreamChannel) {
    lingering?.cancel()
    channel.prepareForHandover(to: queue).assumeIsolated().whenComplete { result in
      if case .success = result { channel.activate() } else { channel.close(promise: nil) }
    }
  }

  func sessionEnded(_ end: SessionEnd) -> EventLoopFuture<Void> {
    guard isClosed else {
      waitForSession()
      return driver.eventLoop.makeSucceededVoidFuture()
    }
    // The driver's last output is sent in this turn of the loop.
    return driver.eventLoop.flatSubmit { self.releaseIfOver() }
  }

  func lineLost() {
    line = .lost
    guard isLastLine else { return }
    lingering?.cancel()
    driver.abort()
    queue.end()
  }

  var unavailableReason: String? { lines.unavailableReason }
}
