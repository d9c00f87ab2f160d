import BywayHTTPWire
import Testing

@testable import BywayInspector

/// Changes of fields by a hop.
@Suite("Comparison of fields before and after a hop") struct FieldComparisonTests {
  private func lines(_ before: FieldSection?, _ after: FieldSection) -> [String] {
    FieldComparison(from: before, to: after).lines.map { "\($0.name): \($0.value) \($0.mark)" }
  }

  @Test("fields are marked as the same, added, changed or removed, and pseudo-header fields are left out")
  func marks() {
    #expect(
      lines(
        [":method": "GET", "host": "a", "te": "x", "accept": "*/*"],
        [":method": "POST", "host": "b", "via": "1.1 here", "accept": "*/*"]) == [
          #"host: b changed(from: "a")"#, "via: 1.1 here added", "accept: */* same", "te: x removed",
        ])
  }

  @Test("several fields of one name are compared by their values")
  func several() {
    #expect(
      lines(["set-cookie": "a", "set-cookie": "b"], ["set-cookie": "b", "set-cookie": "c"]) == [
        "set-cookie: b same", #"set-cookie: c changed(from: "a")"#,
      ])
  }

  @Test("nothing is marked if one side is unknown")
  func unknown() {
    #expect(lines(nil, [":status": "200", "server": "x"]) == ["server: x same"])
  }
}
