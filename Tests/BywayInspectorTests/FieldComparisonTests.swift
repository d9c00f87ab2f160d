import HTTPWire
import Testing

@testable import BywayInspector

/// What a hop has done to fields.
@Suite("Fields at both sides") struct FieldComparisonTests {
  private func lines(_ before: FieldSection?, _ after: FieldSection) -> [String] {
    FieldComparison(from: before, to: after).lines.map { "\($0.name): \($0.value) \($0.mark)" }
  }

  @Test("are the same, added, changed or removed; what stands for the first line is not among them")
  func marks() {
    #expect(
      lines(
        [":method": "GET", "host": "a", "te": "x", "accept": "*/*"],
        [":method": "POST", "host": "b", "via": "1.1 here", "accept": "*/*"]) == [
          #"host: b changed(from: "a")"#, "via: 1.1 here added", "accept: */* same", "te: x removed",
        ])
  }

  @Test("several of one name are told apart by their values")
  func several() {
    #expect(
      lines(["set-cookie": "a", "set-cookie": "b"], ["set-cookie": "b", "set-cookie": "c"]) == [
        "set-cookie: b same", #"set-cookie: c changed(from: "a")"#,
      ])
  }

  @Test("where one side is not known nothing is marked")
  func unknown() {
    #expect(lines(nil, [":status": "200", "server": "x"]) == ["server: x same"])
  }
}
