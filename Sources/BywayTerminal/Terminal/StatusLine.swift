import Synchronization

/// Permanent lines of output, and below them, on a terminal, one line that is overwritten.
///
/// Safe on any thread.
package final class StatusLine: Sendable {
  private static let erase = "\r\u{1B}[K"

  package let stream: StandardStream
  /// The line as the terminal shows it now.
  private let shown = Mutex("")

  package init(on stream: StandardStream) {
    self.stream = stream
  }

  /// Writes a line that stays.
  package func writeLine(_ line: String) {
    shown.withLock { shown in
      stream.writeText(shown.isEmpty ? line + "\n" : Self.erase + line + "\n" + shown)
    }
  }

  /// Changes the line below; an empty text removes it.
  package func show(_ text: String) {
    shown.withLock { shown in
      guard text != shown else { return }
      stream.writeText(Self.erase + text)
      shown = text
    }
  }
}
