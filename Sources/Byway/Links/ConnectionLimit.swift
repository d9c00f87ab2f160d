package import NIOCore
import Synchronization

/// How many accepted connections may be open at once, over all listeners that share it.
///
/// A listener that finds no room accepts nothing: who comes waits with the system until another has gone. Safe on any
/// thread.
public final class ConnectionLimit: Sendable {
  private struct State {
    var open = 0
    var waiting: [@Sendable () -> Void] = []
    var makeRoom: (@Sendable () -> Void)?
    /// Of whom nothing is known yet, who has come first in front.
    var strangers: [Stranger] = []
  }

  private struct Stranger {
    let channel: any Channel
    let since: NIODeadline
  }

  /// How long a stranger may take to become known where others wait. An honest one needs a round trip or two.
  private static let patience = TimeAmount.milliseconds(500)

  package let maximum: Int
  private let state = Mutex(State())

  /// A limit that nothing counts against yet; `.max` is none.
  public init(_ maximum: Int) {
    self.maximum = maximum
  }

  package var hasRoom: Bool { state.withLock { $0.open < maximum } }

  /// Counts a connection until it has closed. Each of several listeners may have one under way, so that the limit can be
  /// passed by as many; none is turned away for that.
  package func count(_ channel: any Channel) {
    state.withLock { $0.open += 1 }
    channel.closeFuture.whenComplete { _ in self.closed() }
  }

  /// A connection whose far end has yet to show who it is, as in a handshake of TLS: it gives way where others wait, as who says nothing
  /// would otherwise keep out who has something to say.
  package func count(stranger channel: any Channel, until known: EventLoopFuture<Void>) {
    state.withLock { $0.strangers.append(Stranger(channel: channel, since: .now())) }
    known.whenComplete { _ in self.state.withLock { $0.strangers.removeAll { $0.channel === channel } } }
  }

  /// Says when to look again, once; it may be too late by then. Meanwhile idle connections are asked to go.
  package func whenRoom(_ look: @escaping @Sendable () -> Void) {
    let hasRoom = state.withLock { state in
      let hasRoom = state.open < maximum
      if !hasRoom { state.waiting.append(look) }
      return hasRoom
    }
    if hasRoom { look() } else { askForRoom() }
  }

  /// - Parameter makeRoom: closes connections that nobody needs, if there are any.
  package func onFull(_ makeRoom: (@Sendable () -> Void)?) {
    state.withLock { $0.makeRoom = makeRoom }
  }

  /// Asks once more for what was idle for too short a time.
  package func askForRoom() {
    let end = NIODeadline.now() - Self.patience
    let (makeRoom, late) = state.withLock { state in
      (state.makeRoom, state.strangers.prefix { $0.since < end })
    }
    for stranger in late { stranger.channel.close(promise: nil) }
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
