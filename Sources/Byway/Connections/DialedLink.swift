import Logging
import NIOCore
import Synchronization

/// The serving end that dials, as a device behind NAT does: one channel at a time, and the next when that one has closed. It acts as a
/// listener. Safe on any thread.
final class DialedLink: Listener {
  private static let connectTimeout = TimeAmount.seconds(10)

  private let link: Link
  private let context: LinkContext
  private let queue = ChannelQueue()
  private let record = Mutex(DialRecord())
  /// The reason for the end of the latest connection that gave one.
  private let farewell = Mutex<Farewell?>(nil)
  private let dialing = Mutex<Task<Void, Never>?>(nil)

  var address: LinkAddress { link.address }
  var channels: AsyncThrowingStream<any Channel, any Error> { queue.channels }
  var state: ServedLinkState { record.withLock(\.state) }

  private init(_ link: Link, _ context: LinkContext) {
    self.link = link
    self.context = context
  }

  /// Creates the end and starts to dial, until ``close()``.
  static func start(_ link: Link, _ context: LinkContext) -> DialedLink {
    let dialed = DialedLink(link, context)
    dialed.dialing.withLock { $0 = Task { await dialed.dial() } }
    return dialed
  }

  func close() async {
    dialing.withLock { $0.take() }?.cancel()
    queue.close()
  }

  /// Records why the connection of a channel has ended. Called on the channel's event loop, when it has closed.
  func ended(_ farewell: Farewell) {
    self.farewell.withLock { $0 = farewell }
  }

  private func dial() async {
    var redial = Redial(
      crossesNetwork: link.transport.crossesNetwork, jitter: (try? link.address.jitter()) ?? nil)
    while !Task.isCancelled {
      var context = context
      context.deadline = .now() + Self.connectTimeout
      context.peer = .client
      do {
        await serve(try await link.transport.connect(to: link.address, context: context), &redial)
      } catch let error as BywayError where error.code == .invalidAddress {
        queue.end(throwing: error)
        return
      } catch {
        redial.failed()
        log(record.withLock { $0.failed(Farewell(error), at: .now()) })
      }
      try? await Task.sleep(for: .nanoseconds(redial.pause(fraction: .random(in: 0...1)).nanoseconds))
    }
  }

  /// Hands the channel over, and returns when it has closed.
  private func serve(_ channel: any Channel, _ redial: inout Redial) async {
    let start = NIODeadline.now()
    farewell.withLock { $0 = nil }
    context.logger.log(level: record.withLock { $0.opened() }, "Link open", metadata: facts)
    let probation = channel.eventLoop.scheduleTask(in: DialRecord.probation) { self.lasted() }
    queue.offer(channel)
    try? await channel.closeFuture.get()
    probation.cancel()
    // The callbacks for the channel's end are called in one turn of its event loop, and this one in a later turn.
    let farewell = try? await channel.eventLoop.submit { self.farewell.withLock { $0.take() } }.get()
    // This end has closed it.
    if Task.isCancelled { return }
    let life = NIODeadline.now() - start
    let entry = record.withLock { $0.ended(farewell, after: life, at: .now()) }
    redial.lost(after: life, isRefused: entry != nil)
    if let entry { log(entry) }
  }

  private func lasted() {
    if record.withLock({ $0.lasted() }) { context.logger.info("Link open", metadata: facts) }
  }

  private var facts: Logger.Metadata { ["link": "\(link.address)"] }

  private func log(_ entry: RecurrenceLog.Entry) {
    var facts = facts
    let level: Logger.Level
    switch entry {
    case .line(let repeated):
      level = .warning
      if repeated > 0 { facts["repeated"] = "\(repeated)" }
    case .repetition:
      level = .debug
    }
    switch state {
    case .refused(let reason, _):
      context.logger.log(level: level, "Link refused: \(reason)", metadata: facts)
    case .down(let reason, _), .unavailable(let reason):
      facts["reason"] = "\(reason)"
      context.logger.log(level: level, "Link unavailable", metadata: facts)
    case .listening, .dialing: break
    }
  }
}
