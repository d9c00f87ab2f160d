import BywayInspector
import Testing

@testable import Byway
@testable import BywayDaemon
@testable import BywayLineLayer

/// The links in a daemon's metrics.
@Suite("Links in metrics") struct LinkStateTests {
  private func link(_ name: String, _ state: LinkState?) -> DaemonStatus.Link {
    DaemonStatus.Link(name: name, state: state.map { .link($0) } ?? .standingBy)
  }

  private func device(_ links: [DaemonStatus.Link], _ state: LinkState = .up) -> DaemonStatus.Link {
    var line = LineStatistics()
    line.sentBytes = 100
    return DaemonStatus.Link(name: "device", state: .link(state), line: line, links: links)
  }

  @Test("a device's line is counted once, for the link that its connection uses")
  func once() {
    for (links, counted) in [
      ([link("a", .up), link("b", nil)], ["a"]), ([link("a", nil), link("b", .up)], ["b"]),
      ([link("a", .down), link("b", nil)], []),
    ] as [([DaemonStatus.Link], [String])] {
      let states = DaemonObservation.LinkState.all(of: device(links))
      #expect(states.map(\.name) == ["a", "b"])
      #expect(states.filter { $0.line != nil }.map(\.name) == counted)
      #expect(states.filter(\.isUp).map(\.name) == counted)
    }
  }

  @Test("the line of a device's only link is counted only while the link is up")
  func alone() {
    #expect(DaemonObservation.LinkState.all(of: device([])).compactMap(\.line?.sentBytes) == [100])
    for state in [LinkState.down, .opening, .closed, .interrupted] {
      #expect(DaemonObservation.LinkState.all(of: device([], state)).allSatisfy { $0.line == nil && !$0.isUp })
    }
  }

  @Test("the inspector gets the name that exchanges have for the link in use, with its options")
  func upstream() {
    var status = UpstreamStatus(.open(since: nil))
    status.name = "serial:/dev/x?baud=9600"
    let one = DaemonStatus.Link(link: "serial:/dev/x", status, isInbound: false, roundTrip: nil)
    #expect(LinkSnapshot.all(of: one).map(\.upstream) == ["serial:/dev/x?baud=9600"])
    var several = one
    several.links = [link("a", .down), link("b", .up)]
    #expect(LinkSnapshot.all(of: several).map(\.upstream) == [nil, "serial:/dev/x?baud=9600"])
    for (links, names) in [([], ["printer"]), (["a", "b"], ["printer (a)", "printer (b)"])] {
      let named = DaemonStatus.Link(
        name: "a", device: "printer", state: .link(.up),
        links: links.map { DaemonStatus.Link(name: $0, state: .link(.up)) })
      #expect(LinkSnapshot.all(of: named).map(\.name) == names)
    }
  }

  @Test("a link that a gateway serves shows its state, a refusal even while a connection is open, and no options")
  func served() throws {
    let address = try LinkAddress("tls://hub:7000?open=dial&key=secret.pem")
    let open = ServedLink(address: address, since: .now(), line: nil, interruption: nil)
    func link(_ state: ServedLinkState, _ connections: [ServedLink] = []) -> String {
      let link = DaemonStatus.Link(served: address, connections, state)
      return "\(link.state.text), \(link.reason ?? "no reason"), \(link.since == nil ? "no time" : "a time")"
    }
    #expect(link(.listening) == "waiting, no reason, no time")
    #expect(link(.unavailable(reason: "gone")) == "waiting, gone, no time")
    #expect(link(.dialing) == "opening, no reason, no time")
    #expect(link(.dialing, [open]) == "up, no reason, a time")
    #expect(link(.down(reason: "\(address) is down", since: .now())) == "down, tls://hub:7000 is down, a time")
    let refused = ServedLinkState.refused(reason: "\(address) says no", since: .now())
    #expect(link(refused) == "refused, tls://hub:7000 says no, a time")
    #expect(link(refused, [open]) == "refused, tls://hub:7000 says no, a time")
  }
}
