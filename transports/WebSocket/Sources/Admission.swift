import Byway
import NIOCore

/// The handshakes of a listener's clients. Links enter its queue once they are open.
struct Admission: Sendable {
  private let target: WebSocketTarget
  private let connections: ConnectionLimit
  private let queue: ChannelQueue
  private let times: WebSocketTimes

  init(_ target: WebSocketTarget, connections: ConnectionLimit, queue: ChannelQueue, times: WebSocketTimes) {
    self.target = target
    self.connections = connections
    self.queue = queue
    self.times = times
  }

  /// Begins a handshake. A channel without one in time is closed.
  func admit(_ channel: any Channel, token: BearerToken?) {
    let done = channel.eventLoop.makePromise(of: Void.self)
    connections.count(unknownPeer: channel, until: done.futureResult)
    done.futureResult.whenSuccess { queue.offer(channel) }
    channel.eventLoop.execute { [target, times] in
      let peer = "A client of \(target.address)"
      let server = UpgradeServer(
        on: channel.eventLoop, within: times.handshake, done: done,
        decide: { UpgradeAnswer(to: $0, path: target.path, token: token) },
        handlers: { WebSocketLink.handlers(peer: peer, isClient: false, times: times) })
      do {
        try channel.pipeline.syncOperations.addHandler(server)
      } catch {
        done.fail(error)
      }
    }
  }
}
