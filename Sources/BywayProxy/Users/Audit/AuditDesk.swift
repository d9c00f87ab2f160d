import Byway
import NIOCore

/// The recorder of a proxy's audit events. Lives on its event loop.
final class AuditDesk {
  /// The time between two checks for ended uses.
  private static let pause = TimeAmount.seconds(10)

  private let eventLoop: any EventLoop
  private var log: (any AuditLog)?
  private var book = AuditBook()
  private var timer: Scheduled<Void>?

  init(on eventLoop: any EventLoop) {
    self.eventLoop = eventLoop
  }

  /// - Parameter log: `nil`: there is no audit log.
  func replace(_ log: (any AuditLog)?) {
    if log == nil { close() }
    self.log = log
  }

  func began(_ visitor: Visitor, _ resource: Resource, from peer: String) {
    guard log != nil, case .user(let name, let proof) = visitor else { return }
    book.began(.init(name: name, resource: resource), by: proof, from: peer, at: eventLoop.now)
    write()
  }

  func ended(_ visitor: Visitor, _ resource: Resource) {
    guard log != nil, let name = visitor.name else { return }
    book.ended(.init(name: name, resource: resource), at: eventLoop.now)
    write()
  }

  func refused(_ reason: AuditEvent.Reason, _ name: String?, _ resource: Resource?, from peer: String) {
    guard log != nil else { return }
    book.refused(reason, name, resource, from: peer, at: eventLoop.now)
    write()
  }

  func close() {
    timer.take()?.cancel()
    book.close(at: eventLoop.now)
    for event in book.take() { log?.record(event) }
  }

  private func write() {
    if !book.events.isEmpty { for event in book.take() { log?.record(event) } }
    guard timer == nil, !book.isEmpty else { return }
    timer = eventLoop.assumeIsolated().scheduleTask(in: Self.pause) {
      self.timer = nil
      self.book.timePassed(self.eventLoop.now)
      self.write()
    }
  }
}
