import BywayPrimitives
import Testing

@testable import BywayCommand

/// The output of `byway status`.
@Suite("Status as text") struct StatusTextTests {
  private func lines(_ links: JSON) -> [String] {
    let status: JSON = ["name": "p", "kind": "proxy", "version": "1", "members": [["links": links]]]
    return StatusText(status, now: 0, style: TextStyle(isColourful: false)).lines
  }

  @Test("a device is shown by its name, and several links only on lines of their own")
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
}
