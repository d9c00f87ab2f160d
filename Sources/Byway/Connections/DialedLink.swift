import Logging
import NIOCore

extension Link {
  /// Opens the serving end: listens, unless the address says that it dials.
  func accept(_ context: LinkContext) async throws -> any Listener {
    switch opening ?? .listen {
    case .listen: try await transport.listen(on: address, context: context)
    case .dial: DialedLink(link: self, context: context).start()
    }
  }
}

/// The serving end that dials, as a device behind NAT does: one channel at a time, and the next when that one has closed. It acts as a
/// listener.
private struct DialedLink: Sendable {
  private static let connectTimeout = TimeAmount.seconds(10)

  let link: Link
  let context: LinkContext

  func start() -> any Listener {
    let queue = ChannelQueue()
    let unavailableReason = UnavailableReason()
    let dialing = Task { await dial(into: queue, unavailableReason) }
    return QueueListener(address: link.address, queue: queue, unavailableReason: { unavailableReason.text }) {
      dialing.cancel()
    }
  }

  private func dial(into queue: ChannelQueue, _ unavailableReason: UnavailableReason) async {
    var redial = Redial(
      crossesNetwork: link.transport.crossesNetwork, jitter: (try? link.address.jitter()) ?? nil)
    while !Task.isCancelled {
      var context = context
      context.deadline = .now() + Self.connectTimeout
      context.peer = .client
      do {
        let channel = try await link.transport.connect(to: link.address, context: context)
        context.logger.info("Link open", metadata: ["link": "\(link.address)"])
        let start = NIODeadline.now()
        unavailableReason.text = nil
        queue.offer(channel)
        try? await channel.closeFuture.get()
        redial.lost(after: .now() - start)
      } catch let error as BywayError where error.code == .invalidAddress {
        queue.end(throwing: error)
        return
      } catch {
        redial.failed()
        // Once for each reason: the remote end may be down for days.
        let message = "\(error)"
        if message != unavailableReason.text {
          context.logger.warning("Link unavailable", metadata: ["link": "\(link.address)", "reason": "\(message)"])
        }
        unavailableReason.text = message
      }
      try? await Task.sleep(for: .nanoseconds(redial.pause(fraction: .random(in: 0...1)).nanoseconds))
    }
  }
}
