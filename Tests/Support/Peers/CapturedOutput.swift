import Foundation
import Synchronization

/// The first ``limit`` bytes of a process's standard output or error, read on a separate thread.
final class CapturedOutput: Sendable {
  private struct State {
    var bytes = Data()
    var hasEnded = false
    var waiters: [Int: Waiter] = [:]
    var nextWaiter = 0
  }
  private struct Waiter {
    let isMet: @Sendable (String) -> Bool
    let continuation: CheckedContinuation<Void, Never>
  }

  static let limit = 8 << 20
  private let state = Mutex(State())

  /// Takes over the descriptor.
  init(reading descriptor: Int32) {
    Thread.detachNewThread { self.readToEnd(descriptor) }
  }

  var bytes: Data { state.withLock { $0.bytes } }
  var text: String { String(decoding: bytes, as: UTF8.self) }

  /// Waits for the end; the process and all that inherited its output must have closed it.
  func waitForEnd(within limit: Duration) async {
    await wait(within: limit) { _ in false }
  }

  /// Waits until the text so far fulfils a condition, the output ends, or the time has passed.
  func wait(within limit: Duration, until isMet: @escaping @Sendable (String) -> Bool) async {
    await withCheckedContinuation { continuation in
      let number = state.withLock { state in
        state.nextWaiter += 1
        state.waiters[state.nextWaiter] = Waiter(isMet: isMet, continuation: continuation)
        return state.nextWaiter
      }
      Deadline.after(limit) { self.resume(number) }
      settle()
    }
  }

  private func readToEnd(_ descriptor: Int32) {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      state.withLock { $0.bytes.append(contentsOf: buffer[..<min(count, max(0, Self.limit - $0.bytes.count))]) }
      settle()
    }
    close(descriptor)
    state.withLock { $0.hasEnded = true }
    settle()
  }

  private func settle() {
    let (waiters, text, hasEnded) = state.withLock {
      ($0.waiters, $0.waiters.isEmpty ? "" : String(decoding: $0.bytes, as: UTF8.self), $0.hasEnded)
    }
    for (number, waiter) in waiters where hasEnded || waiter.isMet(text) { resume(number) }
  }

  private func resume(_ number: Int) {
    state.withLock { $0.waiters.removeValue(forKey: number) }?.continuation.resume()
  }
}
