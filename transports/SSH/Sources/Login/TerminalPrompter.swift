import Byway
import NIOCore
import NIOPosix
import Synchronization

/// Asks on the terminal that the process was started from, whatever its standard input is. One question at a time.
struct TerminalPrompter: Prompter {
  /// One thread: the second question waits for the first answer, and neither keeps others from their files.
  private static let thread: NIOThreadPool = {
    let thread = NIOThreadPool(numberOfThreads: 1)
    thread.start()
    return thread
  }()

  func ask(_ question: String, echo: Bool, until deadline: NIODeadline) async throws(BywayError) -> Secret? {
    let isCancelled = Cancellation()
    do {
      return try await withTaskCancellationHandler {
        try await Self.thread.runIfActive {
          guard let terminal = Terminal() else { return nil }
          return try terminal.ask(question, echo: echo, until: deadline) { isCancelled.value.load(ordering: .relaxed) }
        }
      } onCancel: {
        isCancelled.value.store(true, ordering: .relaxed)
      }
    } catch {
      throw BywayError(error)
    }
  }

  private final class Cancellation: Sendable {
    let value = Atomic(false)
  }
}
