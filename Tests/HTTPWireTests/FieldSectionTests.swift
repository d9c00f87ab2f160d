import HTTPTypes
import HTTPWire
import Testing

@Suite struct FieldSectionTests {
  @Test("lowers names, keeps values and order") func appends() {
    let section: FieldSection = ["Content-Type": "Text/Plain", "X-B": "2", "X-A": "1"]
    #expect(section.lines.map { section.name(of: $0) } == ["content-type", "x-b", "x-a"])
    #expect(section.value(of: .contentType) == "Text/Plain")
    #expect(section.lines.map(\.field) == [.contentType, .other, .other])
  }

  @Test("classifies every known name, and nothing near it", arguments: KnownField.allCases.filter { $0 != .other })
  func classifies(_ field: KnownField) {
    let name = "\(field.name)"
    #expect(([name: "x"] as FieldSection).lines.first?.field == field)
    #expect(([name + "x": "x"] as FieldSection).lines.first?.field == .other)
    #expect(([String(name.dropLast()) + "~": "x"] as FieldSection).lines.first?.field == .other)
  }

  @Test("round-trips through the currency types, bytes that are not UTF-8 included") func roundTrips() throws {
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

  @Test("reads a status of three digits only", arguments: [("200", 200), ("20", nil), ("2x0", nil), ("", nil)])
  func status(_ text: String, _ code: Int?) {
    #expect(([":status": text] as FieldSection).status == code)
  }

  @Test("reads lengths without wrapping round")
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
