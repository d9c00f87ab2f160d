import BywayHTTPWire
import Testing

@Suite("Field grammar")
struct FieldGrammarTests {
  @Test("every token character is accepted, and no other")
  func tokens() {
    let expected = Set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
    for byte in UInt8.min...UInt8.max {
      #expect(FieldGrammar.isTokenByte(byte) == expected.contains(byte), "byte \(byte)")
    }
  }

  @Test("a forbidden byte is found anywhere in a value")
  func fieldText() {
    for count in 1...20 {
      for index in 0..<count {
        for byte in UInt8.min...UInt8.max {
          var text = [UInt8](repeating: 0x61, count: count)
          text[index] = byte
          let isAllowed = byte >= 0x20 && byte != 0x7F || byte == 0x09
          if text.withUnsafeBytes({ FieldGrammar.isFieldText($0) }) != isAllowed {
            Issue.record("byte \(byte) at \(index) of \(count)")
          }
        }
      }
    }
  }

  @Test("the first occurrence of a byte is found from any position")
  func firstOffset() {
    for count in 0...20 {
      for index in 0..<count {
        var text = [UInt8](repeating: 0x8A, count: count)
        text[index] = 0x0A
        text[count - 1] = 0x0A
        for start in 0...count {
          let expected = text[start...].firstIndex(of: 0x0A)
          #expect(text.withUnsafeBytes { $0.firstOffset(of: 0x0A, from: start) } == expected)
        }
      }
    }
  }

  @Test("lowering a name changes its letters and nothing else")
  func lowers() {
    for byte in UInt8.min...UInt8.max {
      for count in [1, 8, 11] {
        let name = [UInt8](repeating: byte, count: count)
        var section = FieldSection()
        name.withUnsafeBytes { section.append(name: $0, value: .init(start: nil, count: 0)) }
        let lowered = (0x41...0x5A).contains(byte) ? byte + 0x20 : byte
        #expect(section.withBytes(of: section.lines[0]) { name, _ in name.allSatisfy { $0 == lowered } }, "\(byte)")
      }
    }
  }

  @Test("a list is split into trimmed members, without empty ones")
  func members() {
    var members: [String] = []
    Array(" a ,,b\t, c d ,".utf8).withUnsafeBytes { list in
      FieldGrammar.forEachMember(of: list) { members.append(String(decoding: $0, as: UTF8.self)) }
    }
    #expect(members == ["a", "b", "c d"])
  }

  @Test("only the last appended line is removed")
  func removeLast() {
    var section: FieldSection = ["a": "1", "b": "2"]
    section.removeLast()
    section.append(name: "c", value: "3")
    #expect(section == ["a": "1", "c": "3"])
    section.remove(.other)
    section.removeLast()
    #expect(section.isEmpty)
  }
}
