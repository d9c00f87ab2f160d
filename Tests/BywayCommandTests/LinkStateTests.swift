import Byway
import Testing

@testable import BywayCommand
@testable import LineLayer

/// The links in a daemon's metrics.
@Suite("Links in metrics") struct LinkStateTests {
  private func road(_ name: String, _ state: LinkState?) -> DaemonStatus.Road {
    DaemonStatus.Road(name: name, state: state.map { .link($0) } ?? .standingBy)
  }

  private func device(_ roads: [DaemonStatus.Road], _ state: LinkState = .up) -> DaemonStatus.Road {
    var line = LineStatistics()
    line.sentBytes = 100
    return DaemonStatus.Road(name: "device", state: .link(state), line: line, roads: roads)
  }

  @Test("a device's line is counted once, for the link that its connection uses")
  func once() {
    for (roads, counted) in [
      ([road("a", .up), road("b", nil)], ["a"]), ([road("a", nil), road("b", .up)], ["b"]),
      ([road("a", .down), road("b", nil)], []),
    ] as [([DaemonStatus.Road], [String])] {
      let links = DaemonObservation.LinkState.all(of: device(roads))
      #expect(links.map(\.name) == ["a", "b"])
      #expect(links.filter { $0.line != nil }.map(\.name) == counted)
      #expect(links.filter(\.isUp).map(\.name) == counted)
    }
  }

  @Test("the line of a device's only link is counted only while the link is up")
  func alone() {
    #expect(DaemonObservation.LinkState.all(of: device([])).compactMap(\.line?.sentBytes) == [100])
    for state in [LinkState.down, .opening, .closed, .interrupted] {
      #expect(DaemonObservation.LinkState.all(of: device([], state)).allSatisfy { $0.line == nil && !$0.isUp })
    }
  }
}
