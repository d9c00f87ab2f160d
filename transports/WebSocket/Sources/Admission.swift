import Byway
import NIOCore

/// The handshakes of a listener's clients. Links enter its queue once they are open.
struct Admission: Sendable {
  private let target: WebSocketTarget
  private let connections: ConnectionLimit
  private let queue: ChannelQueue
  private let times: WebSocketTimes
  private let log: RefusalLog

  init(_ target: WebSocketTarget, context: LinkContext, queue: ChannelQueue, times: WebSocketTimes) {
    self.target = target
    connections = context.connections
    log = RefusalLog(context.logger, report: context.refused)
    self.queue = queue
    self.times = times
  }

  /// Begins a handshake. A channel without one in time is closed.
  func admit(_ channel: any Channel, token: BearerToken?) {
    let done = channel.eventLoop.makePromise(of: Void.self)
    connections.count(unknownPeer: channel, until: done.futureResult)
    done.futureResult.whenSuccess { queue.offer(channel) }
    channel.eventLoop.execute { [target, times, log] in
      let peer = "A client of \(target.address)"
      let server = UpgradeServer(
        on: channel.eventLoop, within: times.handshake, done: done,
        decide: { head in
          let answer = UpgradeAnswer(to: head, path: target.path, token: token)
          if let reason = answer.refusal { log.refused(channel.remoteAddress, because: reason) }
          return answer
        },
        handlers: { WebSocketLink.handlers(peer: peer, isClient: false, times: times) })
      do {
        try channel.pipeline.syncOperations.addHandler(server)
      } catch {
        done.fail(error)
      }
    }
  }
}
