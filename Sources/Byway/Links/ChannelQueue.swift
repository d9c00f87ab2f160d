public import NIOCore
import Synchronization

/// The channels that a listener has accepted, until they are taken.
///
/// Bounded: channels that arrive while it is full are closed at once, so that a flood of connections uses no more of the listener's memory.
/// Safe on any thread.
public final class ChannelQueue: Sendable {
  private typealias Consumer = CheckedContinuation<(any Channel)?, any Error>

  private enum Phase {
    case open
    /// No more will arrive; queued channels can still be taken.
    case ended((any Error)?)
  }

  private struct State {
    var phase = Phase.open
    var waiting: [any Channel] = []
    var consumer: Consumer?
  }

  private let state = Mutex(State())
  private let limit: Int

  /// Creates an open queue.
  /// - Parameter limit: how many channels may wait to be taken.
  public init(limit: Int = 256) {
    self.limit = limit
  }

  deinit {
    for channel in state.withLock(\.waiting) { channel.close(promise: nil) }
  }

  /// The consumer's sequence of channels. One consumer at a time.
  public var channels: AsyncThrowingStream<any Channel, any Error> {
    AsyncThrowingStream { try await self.next() }
  }

  /// Passes a channel to the waiting consumer, or queues it.
  /// - Returns: `false` if the queue is full or has ended: the channel was closed.
  @discardableResult
  public func offer(_ channel: any Channel) -> Bool {
    let (accepted, consumer) = state.withLock { state -> (Bool, Consumer?) in
      guard case .open = state.phase else { return (false, nil) }
      if let consumer = state.consumer.take() { return (true, consumer) }
      state.waiting.removeAll { !$0.isActive }
      guard state.waiting.count < limit else { return (false, nil) }
      state.waiting.append(channel)
      return (true, nil)
    }
    consumer?.resume(returning: channel)
    if !accepted { channel.close(promise: nil) }
    return accepted
  }

  /// Ends the queue; queued channels can still be taken. Only the first call has an effect.
  public func end(throwing error: (any Error)? = nil) {
    let consumer = state.withLock { state -> Consumer? in
      guard case .open = state.phase else { return nil }
      state.phase = .ended(error)
      return state.consumer.take()
    }
    if let error {
      consumer?.resume(throwing: error)
    } else {
      consumer?.resume(returning: nil)
    }
  }

  /// Ends the queue and closes the queued channels.
  public func close() {
    end()
    let abandoned = state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
    for channel in abandoned { channel.close(promise: nil) }
  }

  private enum Step {
    case take(any Channel)
    case end((any Error)?)
    case wait
  }

  private func next() async throws -> (any Channel)? {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let step = state.withLock { state -> Step in
          while !state.waiting.isEmpty {
            let channel = state.waiting.removeFirst()
            if channel.isActive { return .take(channel) }
          }
          if case .ended(let error) = state.phase { return .end(error) }
          guard !Task.isCancelled, state.consumer == nil else { return .end(nil) }
          state.consumer = continuation
          return .wait
        }
        switch step {
        case .take(let channel): continuation.resume(returning: channel)
        case .end(let error?): continuation.resume(throwing: error)
        case .end(nil): continuation.resume(returning: nil)
        case .wait: break
        }
      }
    } onCancel: {
      state.withLock { $0.consumer.take() }?.resume(returning: nil)
    }
  }
}
