import Byway
import NIOCore
import NIOPosix
import Synchronization

/// A prompter on the terminal from which the process was started, whatever its standard input is. Asks one question at a time.
struct TerminalPrompter: Prompter {
  /// A single thread, so that a second question waits for the first answer. Questions do not occupy the threads for files.
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
