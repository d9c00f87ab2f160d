import Byway
import HTTPTypes
import NIOCore
import Testing

@testable import BywayPlugins

/// The state and the figures of a plugin in status reports.
@Suite("State of plugins") struct PluginStateTests {
  private static func at(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .seconds(seconds) }

  private func text(_ state: PluginStatus.State) -> String {
    func time(_ time: NIODeadline?) -> String { time.map { "\($0.uptimeNanoseconds / 1_000_000_000)" } ?? "-" }
    return switch state {
    case .notStarted: "not started"
    case .running(let since): "running since \(time(since))"
    case .starting(let reason, let next): "starting \(reason ?? "-"), next \(time(next))"
    case .idle: "idle"
    }
  }

  @Test(
    "the state of a plugin follows its connection, and a program runs since its start",
    arguments: [
      (UpstreamStatus.State.idle, "not started", "not started"), (.closed, "idle", "idle"),
      (.opening, "starting -, next 9", "starting -, next 9"),
      (.open(since: at(7)), "running since 5", "running since 7"),
      (.open(since: nil), "running since 5", "running since -"),
      (.interrupted(LineInterruption(since: at(8), .silent)), "running since 8", "running since 8"),
      (
        .down(BywayError(.linkUnavailable, "It is gone.")), "starting It is gone., next 9",
        "starting It is gone., next 9"
      ),
    ])
  func states(_ state: UpstreamStatus.State, _ program: String, _ server: String) {
    var status = UpstreamStatus(state)
    status.nextAttempt = Self.at(9)
    #expect(text(PluginStatus.State(status, isProgram: true, start: Self.at(5))) == program)
    #expect(text(PluginStatus.State(status, isProgram: false, start: Self.at(5))) == server)
  }

  @Test("a program whose start is unknown runs since its connection was opened, and a next attempt may be unknown")
  func unknown() {
    #expect(
      text(PluginStatus.State(UpstreamStatus(.open(since: Self.at(7))), isProgram: true, start: nil))
        == "running since 7")
    #expect(
      text(PluginStatus.State(UpstreamStatus(.down(BywayError(.linkLost, "Lost."))), isProgram: true, start: nil))
        == "starting Lost., next -")
  }

  @Test(
    "each failure counts as one kind",
    arguments: [
      (BywayError.Code.linkUnavailable, PluginFigures.Failure.unavailable), (.originUnavailable, .unavailable),
      (.originUntrusted, .unavailable), (.refused, .unavailable), (.protocolViolation, .invalid), (.tooLarge, .invalid),
      (.timedOut, .late), (.linkLost, .lost), (.originLost, .lost), (.incompleteResponse, .lost), (.cancelled, .lost),
    ])
  func kinds(_ code: BywayError.Code, _ kind: PluginFigures.Failure) {
    #expect(PluginFigures.Failure(BywayError(code, "x")) == kind)
  }

  @Test("the time of responses is added up, and the latest is kept, also if it is shorter")
  func time() {
    var figures = PluginFigures()
    #expect(figures.time == .zero && figures.lastTime == nil && figures.requests == 0 && figures.failures.isEmpty)
    for (time, sum) in [(30, 30), (10, 40), (20, 60)] {
      figures.answered(in: .milliseconds(Int64(time)))
      #expect(figures.time == .milliseconds(Int64(sum)) && figures.lastTime == .milliseconds(Int64(time)))
    }
  }
}
