public import Logging
public import NIOCore

/// The listening side of a medium without connections: it opens one channel after another, each as soon as the device can be opened.
///
/// It looks four times a second. The kernel would report a new device file, but not when udev has finished its setup, and the name of a
/// device need not disappear.
public struct DeviceWatch: Sendable {
  static let interval = Duration.milliseconds(250)

  private let device: String
  private let logger: Logger
  private let open: @Sendable (ChannelQueue) async throws -> any Channel

  /// Creates the listening side of a device.
  /// - Parameters:
  ///   - device: the device in messages.
  ///   - logger: the logger for what it waits for.
  ///   - open: opens the device as a channel, which enters the queue, as ``LineMedium/open(on:to:logger:)`` does. It is called again 250 ms
  ///     after the channel has closed, and after each error.
  public init(
    device: String, logger: Logger, open: @escaping @Sendable (ChannelQueue) async throws -> any Channel
  ) {
    self.device = device
    self.logger = logger
    self.open = open
  }

  /// Opens the device, and again after its channel has closed, until the listener is closed.
  /// - Parameter address: the address of the listener.
  /// - Returns: a listener that accepts one channel at a time.
  /// - Throws: the error of the first attempt, unless the device may appear later.
  public func listen(on address: LinkAddress) async throws -> any Listener {
    let queue = ChannelQueue(limit: 1)
    let unavailableReason = UnavailableReason()
    var waiting = Waiting(device, unavailableReason, logger)
    var first: (any Channel)?
    do {
      first = try await open(queue)
    } catch let failure as any DeviceFailure where failure.isAbsence {
      waiting.goOn(failure, atOnce: true)
    }
    let watch = Task { [first, waiting] in await run(first, waiting, queue) }
    return QueueListener(address: address, queue: queue, unavailableReason: { unavailableReason.text }) {
      watch.cancel()
    }
  }

  private func run(_ first: (any Channel)?, _ waiting: Waiting, _ queue: ChannelQueue) async {
    var channel = first
    var waiting = waiting
    while !Task.isCancelled {
      if let opened = channel {
        try? await opened.closeFuture.get()
      }
      // Wait before each attempt, so that a line that ends at once does not cause a busy loop.
      do { try await Task.sleep(for: Self.interval) } catch { break }
      do {
        channel = try await open(queue)
        waiting.end()
      } catch {
        channel = nil
        if !Task.isCancelled { waiting.goOn(error) }
      }
    }
    queue.end()
  }
}

/// Logs the reason for the wait once, and only if it persists until the next attempt: a new device gets its permissions a
/// moment after its name.
private struct Waiting {
  private let device: String
  private let unavailableReason: UnavailableReason
  private let logger: Logger
  private var seen: String?
  private var said: String?

  init(_ device: String, _ unavailableReason: UnavailableReason, _ logger: Logger) {
    self.device = device
    self.unavailableReason = unavailableReason
    self.logger = logger
  }

  /// Records a failed attempt. No error ends the wait.
  mutating func goOn(_ error: any Error, atOnce: Bool = false) {
    let failure = error as? any DeviceFailure
    // The message may contain a list of other devices, which changes while an adapter comes and goes.
    let reason = failure.map { $0.isAbsence ? "absent" : $0.message } ?? "\(error)"
    unavailableReason.text = failure?.message ?? reason
    if atOnce || reason == seen, reason != said {
      logger.notice("Waiting for \(device). \(failure?.message ?? reason)")
      said = reason
    } else {
      logger.trace("Still waiting for \(device)")
    }
    seen = reason
  }

  mutating func end() {
    seen = nil
    said = nil
    unavailableReason.text = nil
  }
}
