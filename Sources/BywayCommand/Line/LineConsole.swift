import Byway
import BywayLibC
import BywayLineDevices
import BywayLineEmulation
import BywayPrimitives
import BywayTerminal
import NIOCore
import NIOPosix

/// A console that reads commands for a line from standard input.
struct LineConsole: Sendable {
  enum Order: Hashable {
    case cut(Cut.Kind, at: VirtualLink.End?)
    case restore
    case statistics
    case quit

    /// Returns `nil` if the line is not a command.
    init?(_ line: Substring) {
      let words = line.split(whereSeparator: \.isWhitespace).map(String.init)
      switch (words.first, words.count) {
      case ("cut", _):
        var rest = words.dropFirst()
        let kind = rest.first.flatMap(Cut.Kind.init)
        if kind != nil { rest.removeFirst() }
        let end = rest.first.flatMap(LineEnd.init)
        if end != nil { rest.removeFirst() }
        guard rest.isEmpty else { return nil }
        self = .cut(kind ?? .hangUp, at: end?.end)
      case ("restore", 1): self = .restore
      case ("statistics", 1): self = .statistics
      case ("quit", 1): self = .quit
      default: return nil
      }
    }
  }

  private static let help = "byway: write cut [stall|lose|hang-up|rename] [a|b], restore, statistics or quit"
  private static let lineLimit = 1000

  let line: PseudoTerminalLine

  /// Returns at the command to quit. At the end of the input it waits until its task is cancelled.
  func run() async {
    // A background job of a shell that reads from the terminal is stopped. With SIGTTIN ignored, the read fails instead.
    signal(SIGTTIN, SIG_IGN)
    var text = ""
    while let bytes = try? await NIOThreadPool.singleton.runIfActive({
      try Descriptor.read(STDIN_FILENO, upTo: 4096)
    }) {
      text += String(buffer: bytes)
      while let end = text.firstIndex(of: "\n") {
        if obey(text[..<end]) { return }
        text = String(text[text.index(after: end)...])
      }
      if text.utf8.count > Self.lineLimit { text = "" }
    }
    while !Task.isCancelled { try? await Task.sleep(for: .seconds(86_400)) }
  }

  /// - Returns: Whether to end.
  private func obey(_ text: Substring) -> Bool {
    guard !text.allSatisfy(\.isWhitespace) else { return false }
    switch Order(text) {
    case .cut(let kind, at: let end): line.cut(kind, at: end)
    case .restore: line.restore()
    case .statistics: StandardStream.output.writeText(LineReport(line).text)
    case .quit: return true
    case nil: StandardStream.error.writeLine(Self.help)
    }
    return false
  }
}
