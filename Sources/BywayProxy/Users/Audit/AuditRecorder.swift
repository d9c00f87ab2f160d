import Byway
import NIOCore

/// The recorder of a proxy's audit events. Lives on its event loop.
final class AuditRecorder {
  /// The time between two checks for ended uses.
  private static let pause = TimeAmount.seconds(10)

  private let eventLoop: any EventLoop
  private var log: (any AuditLog)?
  private var aggregator = AuditAggregator()
  private var timer: Scheduled<Void>?

  init(on eventLoop: any EventLoop) {
    self.eventLoop = eventLoop
  }

  /// - Parameter log: `nil`: there is no audit log.
  func replace(_ log: (any AuditLog)?) {
    if log == nil { close() }
    self.log = log
  }

  func began(_ user: RequestUser, _ resource: Resource, from peer: String) {
    guard log != nil, case .user(let name, let proof) = user else { return }
    aggregator.began(.init(name: name, resource: resource), by: proof, from: peer, at: eventLoop.now)
    write()
  }

  func ended(_ user: RequestUser, _ resource: Resource) {
    guard log != nil, let name = user.name else { return }
    aggregator.ended(.init(name: name, resource: resource), at: eventLoop.now)
    write()
  }

  func refused(_ reason: AuditEvent.Reason, _ name: String?, _ resource: Resource?, from peer: String) {
    guard log != nil else { return }
    aggregator.refused(reason, name, resource, from: peer, at: eventLoop.now)
    write()
  }

  func close() {
    timer.take()?.cancel()
    aggregator.close(at: eventLoop.now)
    for event in aggregator.take() { log?.record(event) }
  }

  private func write() {
    if !aggregator.events.isEmpty { for event in aggregator.take() { log?.record(event) } }
    guard timer == nil, !aggregator.isEmpty else { return }
    timer = eventLoop.assumeIsolated().scheduleTask(in: Self.pause) {
      self.timer = nil
      self.aggregator.timePassed(self.eventLoop.now)
      self.write()
    }
  }
}
