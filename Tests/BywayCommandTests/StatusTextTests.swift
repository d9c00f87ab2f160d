import BywayPrimitives
import BywayTerminal
import Testing

@testable import BywayCommand

/// The output of `byway status`.
@Suite("Text of byway status") struct StatusTextTests {
  private func lines(_ links: JSON) -> [String] {
    let status: JSON = ["name": "p", "kind": "proxy", "version": "1", "members": [["links": links]]]
    return StatusText(status, now: 9, style: TextStyle(isColourful: false)).lines
  }

  @Test("a device with one link is one line, and several links have lines of their own")
  func devices() {
    let links: JSON = [["name": "unix:/a", "state": "down"], ["name": "unix:/b", "state": "up"]]
    let lines = lines([
      ["name": "unix:/l", "state": "up"], ["name": "unix:/p", "device": "printer", "state": "up"],
      ["name": "unix:/a", "device": "hall", "state": "up", "links": links],
      ["name": "unix:/a", "state": "up", "links": links],
    ])
    #expect(
      lines.dropFirst().dropLast() == [
        "    link unix:/l: up", "    device printer, link unix:/p: up",
        "    device hall: up", "      link unix:/a: down", "      link unix:/b: up",
        "    default device: up", "      link unix:/a: down", "      link unix:/b: up",
      ], "\(lines)")
  }

  @Test("a refused link shows the reason of its peer and the time, and other links show their state")
  func refused() {
    let lines = lines([
      ["name": "tls://hub:7", "state": "refused", "reason": "claims\n'x'", "since": "1970-01-01T00:00:00Z"],
      ["name": "tls://hub:7", "state": "refused", "reason": "no"],
      ["name": "tls://hub:7", "state": "refused"],
      ["name": "tls://hub:7", "state": "down", "reason": "no", "since": "1970-01-01T00:00:00Z"],
    ])
    #expect(
      lines.dropFirst().dropLast() == [
        "    link tls://hub:7: refused: claims 'x' (for 9 s)", "    link tls://hub:7: refused: no",
        "    link tls://hub:7: refused", "    link tls://hub:7: down for 9 s, no",
      ], "\(lines)")
  }

  @Test("a hub is shown with its gateways and its refusals")
  func hubs() {
    let refusals: JSON = [
      ["peer": "192.0.2.7", "names": ["a", "b"], "reason": "no\u{1B}", "at": "1970-01-01T00:00:04Z", "count": 3],
      ["reason": "never", "at": "1970-01-01T00:00:00Z", "count": 1],
    ]
    let hubs: JSON = [
      ["address": "tls://h:7", "gateways": 1, "refusals": []],
      ["address": "unix:/h", "gateways": 0, "refusals": refusals],
    ]
    let status: JSON = ["name": "p", "kind": "proxy", "version": "1", "members": [["hubs": hubs, "links": []]]]
    let lines = StatusText(status, now: 9, style: TextStyle(isColourful: false)).lines
    #expect(
      lines.dropFirst().dropLast() == [
        "    hub tls://h:7: 1 gateway connected", "    hub unix:/h: 0 gateways connected",
        "      refused 192.0.2.7 (a b) 3 times, last 5 s ago: no?", "      refused this machine 9 s ago: never",
      ], "\(lines)")
  }
}
