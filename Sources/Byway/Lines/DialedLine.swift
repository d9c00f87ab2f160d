package import BywayLineLayer
package import Logging
package import NIOCore

/// A line over connections that its far end dials, one after another: a board behind a router. Its sessions outlive a connection, and this
/// end opens them.
///
/// Lives on its event loop.
package final class DialedLine: LineDriver.Delegate, @unchecked Sendable {
  // Sendable: its variables are used on the event loop only.

  /// The bytes that a board may have on the way.
  private static let window = 16 * 1024

  private let driver: LineDriver
  private let shared = SharedLine()
  private var opening: EventLoopPromise<any Channel>?
  /// Whether the far end is connected.
  package private(set) var isConnected = false
  /// Called after a connection or a session has ended.
  package var ended: (() -> Void)?

  /// - Parameter address: its name in messages.
  package init(_ address: LinkAddress, on eventLoop: any EventLoop, logger: Logger) {
    var configuration = LineLayerConfiguration.defaults
    configuration.window = Self.window
    configuration.correction = 0
    let layer = LineLayer(.dialer, configuration: configuration, at: eventLoop.now.uptimeNanoseconds)
    driver = LineDriver(layer, address: address, on: eventLoop, logger: logger)
    driver.delegate = self
  }

  /// Whether a session is open, or waits for its far end.
  package var hasSession: Bool { driver.layer.hasSession }

  /// The interruption that its session waits out.
  package var interruption: LineInterruption? { driver.interruption }

  /// Continues with a connection, which replaces the current one.
  /// - Throws: if it has closed already.
  package func attach(_ connection: any Channel) throws {
    try driver.attach(connection)
    isConnected = connection.isActive
  }

  /// Opens a stream, and a session for the first one.
  package func connect(by deadline: NIODeadline) -> EventLoopFuture<any Channel> {
    shared.connect(to: driver.address, on: driver.eventLoop, by: deadline) { [self] offer in
      driver.eventLoop.flatSubmit { self.open(offer) }
    }
  }

  private func open(_ offer: StreamOffer) -> EventLoopFuture<SharedLine.Session> {
    guard isConnected, !driver.layer.hasSession else {
      return driver.eventLoop.makeFailedFuture(
        BywayError(.linkUnavailable, "\(driver.address) is not connected.", processing: .none))
    }
    let opened = driver.eventLoop.makePromise(of: (any Channel).self)
    opening = opened
    driver.open(session: .random(in: 0 ... .max), streams: offer)
    return opened.futureResult.assumeIsolated().map { channel in
      SharedLine.Session(channel: channel, agreement: self.driver.layer.streams)
    }.nonisolated()
  }

  /// Ends the session at once, and keeps the connection.
  package func endSession() {
    driver.abort()
  }

  /// Ends the session at once, and closes the connection behind its last frame.
  package func close() {
    driver.abort()
    isConnected = false
    driver.detach()
    driver.delegate = nil
  }

  // MARK: LineDriver.Delegate

  package func sessionOpened(_ channel: StreamChannel) {
    guard let opening = opening.take() else { return channel.close(promise: nil) }
    channel.handOver(to: opening) { self.driver.abort() }
  }

  package func sessionEnded(_ end: SessionEnd) -> EventLoopFuture<Void> {
    var error = BywayError(end, on: driver.address)
    error.code = .linkUnavailable
    error.processing = .none
    opening.take()?.fail(error)
    // The driver is in the middle of its work.
    driver.eventLoop.assumeIsolated().execute { self.ended?() }
    return driver.eventLoop.makeSucceededVoidFuture()
  }

  package func lineLost() {
    isConnected = false
    ended?()
  }

  package var unavailableReason: String? { nil }
}
