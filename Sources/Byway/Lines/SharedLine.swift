import BywayLineLayer
import NIOCore
import Synchronization

/// A line with HTTP/1.1 whose session carries several connections, if its far end takes streams. Opens the session with the first
/// connection, and closes it with the last. Belongs to one ``Dialer``.
package final class SharedLine: @unchecked Sendable {
  // Sendable: the loop is behind a lock, and all else is used on that loop only.

  struct Session: Sendable {
    let channel: any Channel
    /// `nil` if it is one stream of bytes.
    let agreement: StreamAgreement?
  }

  typealias Dial = @Sendable (StreamOffer) -> EventLoopFuture<Session>

  private enum State {
    case closed
    case opening
    case open(LineStreams)
  }

  private struct Waiting {
    let channel: EventLoopPromise<any Channel>
    let dial: Dial
    let timer: Scheduled<Void>
  }

  /// As many streams as there can be. A stream that is read slowly occupies so much memory at most.
  private static let offer = StreamOffer(count: UInt8(StreamOffer.most), credit: .max)

  private let loop = Mutex<(any EventLoop)?>(nil)
  private var state = State.closed
  private var waiting: [UInt64: Waiting] = [:]
  private var latest: UInt64 = 0

  package init() {}

  /// Opens a stream, or waits for one. Any thread.
  func connect(
    to address: LinkAddress, on eventLoop: any EventLoop, by deadline: NIODeadline, _ dial: @escaping Dial
  ) -> EventLoopFuture<any Channel> {
    let owner = loop.withLock { loop -> any EventLoop in
      let owner = loop ?? eventLoop
      loop = owner
      return owner
    }
    // A channel cannot serve another event loop.
    guard owner === eventLoop else { return dial(.none).map(\.channel) }
    return eventLoop.flatSubmit { self.wait(for: address, on: eventLoop, by: deadline, dial) }
  }

  private func wait(
    for address: LinkAddress, on eventLoop: any EventLoop, by deadline: NIODeadline, _ dial: @escaping Dial
  ) -> EventLoopFuture<any Channel> {
    let channel = eventLoop.makePromise(of: (any Channel).self)
    latest += 1
    let id = latest
    let timer = eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
      guard let late = self.waiting.removeValue(forKey: id) else { return }
      late.channel.fail(
        BywayError(.timedOut, "No stream of \(address) became free in time.", processing: .none))
    }
    waiting[id] = Waiting(channel: channel, dial: dial, timer: timer)
    advance(address, eventLoop)
    return channel.futureResult
  }

  /// Serves those that wait, and opens a session if there is none.
  private func advance(_ address: LinkAddress, _ eventLoop: any EventLoop) {
    switch state {
    case .opening: break
    case .open(let streams):
      while !waiting.isEmpty, let channel = streams.open() { takeFirst()?.channel.succeed(channel) }
    case .closed:
      guard let dial = waiting.min(by: { $0.key < $1.key })?.value.dial else { return }
      state = .opening
      dial(Self.offer).hop(to: eventLoop).assumeIsolated().whenComplete { result in
        self.opened(result, address, eventLoop)
      }
    }
  }

  private func takeFirst() -> Waiting? {
    guard let first = waiting.keys.min(), let taken = waiting.removeValue(forKey: first) else { return nil }
    taken.timer.cancel()
    return taken
  }

  private func opened(_ result: Result<Session, any Error>, _ address: LinkAddress, _ eventLoop: any EventLoop) {
    state = .closed
    do {
      let session = try result.get()
      guard let agreement = session.agreement, let channel = session.channel as? StreamChannel else {
        return openedWithoutStreams(session.channel, address)
      }
      let streams = LineStreams(agreement, on: channel, to: address)
      streams.changed = { [weak self, weak streams] in
        guard let self, let streams else { return }
        if streams.isOver { state = .closed }
        advance(address, eventLoop)
      }
      state = .open(streams)
      try streams.start()
      advance(address, eventLoop)
      streams.closeIfUnused()
    } catch {
      state = .closed
      failAll(error)
    }
  }

  /// The session is the only connection of the line.
  private func openedWithoutStreams(_ channel: any Channel, _ address: LinkAddress) {
    guard let first = takeFirst() else { return channel.close(promise: nil) }
    first.channel.succeed(channel)
    failAll(
      BywayError(.linkUnavailable, "The far end of \(address) takes one connection at a time.", processing: .none))
  }

  private func failAll(_ error: any Error) {
    while let next = takeFirst() { next.channel.fail(error) }
  }
}
