import BywayLineLayer
import Testing

@testable import BywayInspector

/// Events and samples of links over time.
@Suite("History of links") struct LinkHistoryTests {
  private var history = LinkHistory()

  private func snapshot(
    _ state: String, sent: UInt64? = nil, running: Int = 0, _ name: String = "l", upstream: String? = nil
  ) -> LinkSnapshot {
    let line = sent.map { sent in
      var line = LineStatistics()
      line.sentBytes = sent
      return line
    }
    return LinkSnapshot(
      name: name, address: "serial:/dev/x", upstream: upstream, state: state, since: nil, reason: nil, running: running,
      openings: nil,
      losses: nil, line: line)
  }

  @Test("samples are differences of counters, and start from zero for a new connection")
  mutating func samples() {
    for (time, sent) in [(1.0, 100), (2, 150), (3, 150), (4, 20)] as [(Double, UInt64)] {
      history.look([snapshot("up", sent: sent)], at: time)
    }
    #expect(history.entries.first?.samples.map(\.sent) == [50, 20])
    #expect(history.entries.first?.samples.map(\.time) == [2, 4])
  }

  @Test("a second without bytes has a sample if an exchange runs")
  mutating func running() {
    for (time, running) in [(1.0, 0), (2, 1), (3, 1), (4, 0)] {
      history.look([snapshot("up", running: running)], at: time)
    }
    #expect(history.entries.first?.samples.map(\.running) == [1, 1])
  }

  @Test("a link without a connection has samples without bytes")
  mutating func disconnected() {
    var before = snapshot("up", sent: 0)
    before.line?.receivedBytes = 500
    history.look([before], at: 1)
    history.look([snapshot("down", running: 1)], at: 2)
    let sample = history.entries.first?.samples.last
    #expect(sample?.sent == 0 && sample?.received == 0 && sample?.running == 1)
  }

  @Test("a page is told when a link gets its name in the records of exchanges")
  mutating func named() {
    history.look([snapshot("up")], at: 1)
    let version = history.version
    history.look([snapshot("up", upstream: "serial:/dev/x?baud=9600")], at: 2)
    #expect(history.version > version)
  }

  @Test("a refusal of an open link is its loss, and one of a new link a failure")
  mutating func refused() {
    for (time, state) in [(1.0, "opening"), (2, "refused"), (3, "up"), (4, "refused"), (5, "up")] {
      history.look([snapshot(state)], at: time)
    }
    #expect(history.entries.first?.events.map(\.kind) == [.failed, .opened, .lost, .opened])
  }

  @Test("a change of a link's state is an event, and an unchanged state is not")
  mutating func events() {
    for state in ["idle", "opening", "up", "up", "interrupted", "up", "down", "down", "opening", "down"] {
      history.look([snapshot(state)], at: 1)
    }
    #expect(history.entries.first?.events.map(\.kind) == [.opened, .interrupted, .resumed, .lost, .failed])
    let version = history.version
    history.look([snapshot("down")], at: 2)
    #expect(history.version == version)
    history.look([snapshot("down", running: 1)], at: 2)
    #expect(history.version > version)
  }

  @Test("unframed output on a line is recorded once per poll, truncated to its end")
  mutating func sayings() {
    var line = LineStatistics()
    for (time, text) in [
      (1.0, "U-Boot 2024.01\r\n"), (2, ""), (3, "login: "), (4, String(repeating: "x", count: 5000)),
    ] {
      if !text.isEmpty { line.foreignText.add(Array(text.utf8)) }
      var snapshot = snapshot("up")
      snapshot.line = line
      history.look([snapshot], at: time)
    }
    let sayings = history.entries.first?.sayings ?? []
    #expect(sayings.map(\.time) == [1, 3, 4])
    #expect(sayings.prefix(2).map(\.text) == ["U-Boot 2024.01\r\n", "login: "])
    #expect(sayings.last?.text.utf8.count == 2048)
  }

  @Test("the history keeps five minutes, and drops removed links")
  mutating func bounded() {
    for second in 0..<400 { history.look([snapshot("up", sent: UInt64(second))], at: Double(second)) }
    #expect(history.entries.first?.samples.count == 300 && history.entries.first?.samples.last?.time == 399)
    history.look((0..<300).map { snapshot("up", "l\($0)") }, at: 400)
    #expect(history.entries.count == 256)
    history.look([], at: 401)
    #expect(history.entries.isEmpty)
  }
}
