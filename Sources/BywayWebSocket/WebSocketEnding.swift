import Byway
import NIOCore
import Synchronization

/// The end of a WebSocket, shared by its event loop and its user.
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

  /// - Throws: if nothing can be sent any more. An accepted write may still not have been sent.
  func checkOpen() throws(BywayError) {
    if state.withLock({ $0.isClosed }) { throw reason }
  }

  /// Returns the error for a failed write.
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
