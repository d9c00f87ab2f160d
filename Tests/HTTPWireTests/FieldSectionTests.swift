import BywayHTTPWire
import HTTPTypes
import Testing

@Suite struct FieldSectionTests {
  @Test("a field section lowers names, and keeps values and order") func appends() {
    let section: FieldSection = ["Content-Type": "Text/Plain", "X-B": "2", "X-A": "1"]
    #expect(section.lines.map { section.name(of: $0) } == ["content-type", "x-b", "x-a"])
    #expect(section.value(of: .contentType) == "Text/Plain")
    #expect(section.lines.map(\.field) == [.contentType, .other, .other])
  }

  @Test("names of each length are lowered, and only their letters", arguments: 1...20) func lowers(_ count: Int) {
    let name = String("A[Z`@bY{X^W~V|U$T#S!".prefix(count))
    let section: FieldSection = [name: "V"]
    #expect(section.description == "\(name.lowercased()): V")
  }

  @Test("copies of a field section do not share changes") func copies() {
    let first: FieldSection = ["host": "h", "via": "1.1 a", "x": ""]
    var (second, third) = (first, first)
    second.append(.via, "1.1 b")
    second.remove(.host)
    third.removeLast()
    #expect(first == ["host": "h", "via": "1.1 a", "x": ""])
    #expect(second == ["via": "1.1 a", "x": "", "via": "1.1 b"])
    #expect(third == ["host": "h", "via": "1.1 a"])
    #expect(first.contains(.host) && !second.contains(.host) && third.contains(.host))
  }

  @Test(
    "appending a list member joins the lines of its field into one, without empty ones",
    arguments: [
      ([], "c"), (["a"], "a, c"), ([" a, b\t", "", "\u{E9}"], "a, b, \u{E9}, c"), ([""], "c"),
    ])
  func members(_ lines: [String], _ joined: String) {
    var section: FieldSection = ["x": "1"]
    for line in lines { section.append(.via, line) }
    section.append(name: "y", value: "2")
    let copy = section
    section.append(member: "c", to: .via)
    #expect(section == ["x": "1", "y": "2", "via": joined])
    #expect(copy.lines.count == lines.count + 2)
  }

  @Test("a field section behaves like a list of names and values", arguments: 1...20 as ClosedRange<UInt64>)
  func agrees(_ seed: UInt64) {
    var random = Seeded(seed: seed)
    var section = FieldSection()
    var model: [(name: String, value: String)] = []
    let names = KnownField.allCases.dropFirst().map { "\($0.name)" } + ["", "x", "x-other", "x-long-enough-for-words"]
    for _ in 0..<400 {
      let name = names[Int.random(in: 0..<names.count, using: &random)]
      switch Int.random(in: 0..<10, using: &random) {
      case 0:
        let field = name.utf8.withContiguousStorageIfAvailable { KnownField(lowercased: .init($0)) } ?? .other
        section.remove(field)
        model.removeAll { line in
          line.name.utf8.withContiguousStorageIfAvailable { KnownField(lowercased: .init($0)) } ?? .other == field
        }
      case 1:
        section.removeLast()
        _ = model.popLast()
      default:
        let value = String(
          repeating: "v", count: Int.random(in: 0...Int.random(in: 0...600, using: &random), using: &random))
        section.append(name: name.uppercased(), value: value)
        model.append((name, value))
      }
    }
    #expect(section.lines.map { section.name(of: $0) } == model.map(\.name), "seed \(seed)")
    #expect(section.lines.map { section.value(of: $0) } == model.map(\.value), "seed \(seed)")
    for field in KnownField.allCases {
      let first = model.first { "\(field.name)" == $0.name && field != .other }?.value
      if field != .other { #expect(section.value(of: field) == first, "seed \(seed)") }
      #expect(section.contains(field) == section.lines.contains { $0.field == field }, "seed \(seed)")
    }
  }

  @Test("every known field name is recognized exactly", arguments: KnownField.allCases.filter { $0 != .other })
  func classifies(_ field: KnownField) {
    let name = "\(field.name)"
    #expect(([name: "x"] as FieldSection).lines.first?.field == field)
    #expect(([name + "x": "x"] as FieldSection).lines.first?.field == .other)
    #expect(([String(name.dropLast()) + "~": "x"] as FieldSection).lines.first?.field == .other)
  }

  @Test("a field section survives conversion to HTTPRequest and back, including bytes that are not UTF-8")
  func roundTrips() throws {
    var section: FieldSection = [
      ":method": "GET", ":scheme": "http", ":authority": "h", ":path": "/a?b=%20", "set-cookie": "a=1",
    ]
    section.append(name: "set-cookie", value: "b=2")
    [UInt8]([0x61, 0xE9, 0x7A]).withUnsafeBytes { value in
      Array("x-latin".utf8).withUnsafeBytes { section.append(name: $0, value: value) }
    }
    let request = try #require(HTTPRequest(section))
    #expect(request.path == "/a?b=%20")
    #expect(FieldSection(request) == section)
  }

  @Test("a status must have three digits", arguments: [("200", 200), ("20", nil), ("2x0", nil), ("", nil)])
  func status(_ text: String, _ code: Int?) {
    #expect(([":status": text] as FieldSection).status == code)
  }

  @Test("lengths are parsed without overflow")
  func lengths() {
    func length(_ text: String) -> Int? { Array(text.utf8).withUnsafeBytes { FieldGrammar.length($0) } }
    #expect(length("0") == 0)
    #expect(length("9223372036854775807") == Int.max)
    #expect(length("9223372036854775808") == nil)
    #expect(length("99999999999999999999") == nil)
    #expect(length("+1") == nil)
    #expect(length("1 ") == nil)
    #expect(length("") == nil)
  }
}

private struct Seeded: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed
  }

  /// Returns the next number of SplitMix64.
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
    return word ^ word >> 31
  }
}
