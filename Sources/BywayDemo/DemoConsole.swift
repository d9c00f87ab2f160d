import BywayTerminal
import NIOCore

/// The demo's console: it shows the state of the line while the demo runs, and acts on keys.
struct DemoConsole: Sendable {
  /// Ctrl-D.
  private static let endOfInput: UInt8 = 4
  private static let tick = Duration.milliseconds(100)
  /// The pause between two lines if there is no terminal to overwrite them.
  private static let plainPause = TimeAmount.seconds(5)

  let stage: DemoStage
  let display: StatusLine
  /// `nil` if there is no terminal to read keys from.
  let keys: KeyInput?
  let style: TextStyle
  private let probe = DemoProbe()

  init(stage: DemoStage, display: StatusLine, keys: KeyInput?, style: TextStyle) {
    self.stage = stage
    self.display = display
    self.keys = keys
    self.style = style
  }

  /// Returns when the user quits, or the task is cancelled.
  func run() async {
    let probing = Task { await probe.run { try await stage.ping() } }
    defer {
      probing.cancel()
      display.show("")
    }
    var meter = DemoMeter()
    var plainAt = NIODeadline.now() + Self.plainPause
    while !Task.isCancelled {
      for key in keys?.read() ?? [] {
        if obey(key) { return }
      }
      let now = NIODeadline.now()
      let ends = await stage.lineStatistics()
      meter.add(host: ends.host, device: ends.device, at: now)
      if display.stream.isTerminal {
        display.show(status(meter).text(width: display.stream.width, style: style))
      } else if now >= plainAt, meter.isBusy {
        display.writeLine(status(meter).text)
        plainAt = now + Self.plainPause
      }
      try? await Task.sleep(for: Self.tick)
    }
  }

  /// - Returns: Whether to end.
  private func obey(_ key: UInt8) -> Bool {
    switch key {
    case UInt8(ascii: "p"):
      if stage.line.pulledFor == nil { stage.line.pull() } else { stage.line.plug() }
    case UInt8(ascii: "e"):
      stage.line.noise.advance()
      display.writeLine(style.faint("bit errors: \(stage.line.noise.level.name)"))
    case UInt8(ascii: "q"), Self.endOfInput:
      return true
    default:
      break
    }
    return false
  }

  private func status(_ meter: DemoMeter) -> DemoStatus {
    var status = DemoStatus()
    status.down = meter.down
    status.up = meter.up
    status.latency = probe.latency
    status.pulledFor = stage.line.pulledFor
    status.noise = stage.line.noise.level.name
    status.wrongBits = stage.line.wrongBits
    status.repaired = meter.repaired
    return status
  }
}
