import Byway
import HTTPTypes
import NIOCore
import Synchronization

/// An observer that composes the record of one exchange, and delivers it once, when the exchange is over.
final class ExchangeWatch: Sendable {
  private struct State {
    var exchange: TracedExchange
    /// The beginning of the current phase.
    var since: Duration
    var isSending = true
    var isOver = false
  }

  private let state: Mutex<State>
  private let bodyLimit: Int
  private let clock: Trace.Clocks
  private let done: @Sendable (TracedExchange) -> Void

  init(
    _ request: HTTPRequest, bodyLimit: Int, clock: Trace.Clocks, done: @escaping @Sendable (TracedExchange) -> Void
  ) {
    let exchange = TracedExchange(request: request, started: clock.calendar().sinceEpoch)
    state = Mutex(State(exchange: exchange, since: clock.uptime()))
    self.bodyLimit = bodyLimit
    self.clock = clock
    self.done = done
  }

  func request(_ event: BodyWatch.Event) {
    state.withLock { state in
      switch event {
      case .began: state.exchange.requestBody = .init()
      case .chunk(let chunk): state.exchange.requestBody.append(chunk, limit: bodyLimit)
      case .ended, .failed: endSending(&state)
      case .released: break
      }
    }
  }

  func responded(_ head: HTTPResponse) {
    state.withLock { state in
      endSending(&state)
      let now = clock.uptime()
      state.exchange.waiting = now - state.since
      state.since = now
      state.exchange.response = head
    }
  }

  func response(_ event: BodyWatch.Event) {
    switch event {
    case .began: break
    case .chunk(let chunk): state.withLock { $0.exchange.responseBody.append(chunk, limit: bodyLimit) }
    case .ended: finish(nil)
    case .failed(let error): finish(error)
    case .released: finish(BywayError(.cancelled, "The reader dropped the body before its end."))
    }
  }

  func noted(_ note: ExchangeRecord.Note) {
    state.withLock { $0.exchange.notes.append(note) }
  }

  func failed(_ error: any Error) {
    finish(error)
  }

  private func endSending(_ state: inout State) {
    guard state.isSending else { return }
    state.isSending = false
    let now = clock.uptime()
    state.exchange.sending = now - state.since
    state.since = now
  }

  private func finish(_ error: (any Error)?) {
    let exchange = state.withLock { state -> TracedExchange? in
      guard !state.isOver else { return nil }
      state.isOver = true
      endSending(&state)
      let phase = clock.uptime() - state.since
      if state.exchange.response == nil { state.exchange.waiting = phase } else { state.exchange.receiving = phase }
      if let error = error.map({ BywayError($0) }) {
        state.exchange.failure = error.description
        let isGone = error.code == .cancelled || state.exchange.response != nil
        state.exchange.failureStatus = isGone ? nil : .init(code: FailureResponse.status(of: error))
      }
      return state.exchange
    }
    if let exchange { done(exchange) }
  }
}

extension TracedExchange.Content {
  fileprivate mutating func append(_ chunk: ByteBuffer, limit: Int) {
    length += chunk.readableBytes
    let part = chunk.readableBytesView.prefix(max(limit - keptLength, 0))
    kept.writeBytes(part)
    keptLength += part.count
  }
}
