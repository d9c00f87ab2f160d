package import NIOCore
import Synchronization

/// A limit of accepted connections that are open at once, shared by several listeners.
///
/// A listener without room accepts nothing: new connections wait in the operating system until another one has closed. Safe on any thread.
public final class ConnectionLimit: Sendable {
  private struct State {
    var open = 0
    var waiting: [@Sendable () -> Void] = []
    var makeRoom: (@Sendable () -> Void)?
    /// Unknown peers, in the order of arrival.
    var unknownPeers: [UnknownPeer] = []
  }

  private struct UnknownPeer {
    let channel: any Channel
    let since: NIODeadline
  }

  /// How long a peer may stay unknown while others wait. A handshake usually needs one or two round trips.
  private static let patience = TimeAmount.milliseconds(500)

  package let maximum: Int
  /// The time that a connection may wait for its client, idle or in the middle of a head, before it gives way to others.
  package let shortestIdleness: TimeAmount
  private let state = Mutex(State())

  /// Creates a limit without connections; `.max`: unlimited.
  public convenience init(_ maximum: Int) {
    self.init(maximum, shortestIdleness: .seconds(1))
  }

  /// - Parameter shortestIdleness: less than the usual second if the clients are on this machine, so that their requests arrive at once.
  package init(_ maximum: Int, shortestIdleness: TimeAmount) {
    self.maximum = maximum
    self.shortestIdleness = shortestIdleness
  }

  package var hasRoom: Bool { state.withLock { $0.open < maximum } }

  /// Counts a connection until it has closed. Each of several listeners may have one connection in progress, so the limit can be exceeded
  /// by their number; none of them is turned away.
  package func count(_ channel: any Channel) {
    state.withLock { $0.open += 1 }
    channel.closeFuture.whenComplete { _ in self.closed() }
  }

  /// Registers a connection whose peer has not identified itself yet, as during a TLS handshake. It is closed while others wait: silent
  /// peers would otherwise keep out active ones.
  package func count(unknownPeer channel: any Channel, until known: EventLoopFuture<Void>) {
    state.withLock { $0.unknownPeers.append(UnknownPeer(channel: channel, since: .now())) }
    known.whenComplete { _ in self.state.withLock { $0.unknownPeers.removeAll { $0.channel === channel } } }
  }

  /// Calls back once when there may be room; it may be taken by then. Meanwhile idle connections are asked to close.
  package func whenRoom(_ look: @escaping @Sendable () -> Void) {
    let hasRoom = state.withLock { state in
      let hasRoom = state.open < maximum
      if !hasRoom { state.waiting.append(look) }
      return hasRoom
    }
    if hasRoom { look() } else { askForRoom() }
  }

  /// - Parameter makeRoom: closes idle connections, if there are any.
  package func onFull(_ makeRoom: (@Sendable () -> Void)?) {
    state.withLock { $0.makeRoom = makeRoom }
  }

  /// Asks again, for connections that were not idle for long enough before.
  package func askForRoom() {
    let end = NIODeadline.now() - Self.patience
    let (makeRoom, late) = state.withLock { state in
      (state.makeRoom, state.unknownPeers.prefix { $0.since < end })
    }
    for unknownPeer in late { unknownPeer.channel.close(promise: nil) }
    makeRoom?()
  }

  private func closed() {
    let waiting = state.withLock { state in
      state.open -= 1
      guard state.open < maximum else { return [] as [@Sendable () -> Void] }
      defer { state.waiting = [] }
      return state.waiting
    }
    for look in waiting { look() }
  }
}
