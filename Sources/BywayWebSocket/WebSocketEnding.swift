import Byway
import NIOCore
import Synchronization

/// How a WebSocket ended, between its event loop and its user.
final class WebSocketEnding: Sendable {
  private struct State {
    var isClosed = false
    var closure: WebSocket.Closure?
    var error: BywayError?
  }

  private let state = Mutex(State())

  var closure: WebSocket.Closure? { state.withLock { $0.closure } }

  // MARK: The event loop's side

  /// This end has closed.
  func closed() {
    state.withLock { $0.isClosed = true }
  }

  func closed(by closure: WebSocket.Closure) {
    state.withLock { $0.closure = closure }
  }

  func failed(_ error: BywayError) {
    state.withLock { state in
      state.isClosed = true
      state.error = state.error ?? error
    }
  }

  // MARK: The user's side

  /// - Throws: where nothing can be sent any more. That a write was taken does not mean that it left.
  func checkOpen() throws(BywayError) {
    if state.withLock({ $0.isClosed }) { throw reason }
  }

  /// What a write that failed means.
  func explain(_ error: any Error) -> BywayError {
    switch error {
    case is CancellationError: BywayError(error)
    case let error as BywayError: error
    default: reason
    }
  }

  private var reason: BywayError {
    state.withLock { $0.error } ?? BywayError(.cancelled, "The WebSocket is closed.", processing: .none)
  }
}
