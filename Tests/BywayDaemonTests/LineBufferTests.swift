import Testing

@testable import BywayDaemon

/// Numbers in the buffer of an access log.
@Suite struct LineBufferTests {
  private func text(_ fill: (inout LineBuffer) -> Void) -> String {
    var line = LineBuffer()
    fill(&line)
    return line.withBytes { String(decoding: $0, as: UTF8.self) }
  }

  @Test("a number is written with all of its digits")
  func numbers() {
    var numbers = [0, Int.max]
    var power = 1
    for _ in 0..<18 {
      power *= 10
      numbers += [power - 1, power, power + 1]
    }
    for number in numbers { #expect(text { $0.append(decimal: number) } == "\(number)") }
    for number in [-1, Int.min] { #expect(text { $0.append(decimal: number) } == "0") }
  }

  @Test("a number of given length has leading zeros, and only its last digits")
  func fixed() {
    for (number, digits, expected) in [
      (7, 1, "7"), (7, 2, "07"), (42, 3, "042"), (123_456, 6, "123456"), (1_234_567, 6, "234567"), (0, 3, "000"),
      (-5, 3, "000"), (98, 1, "8"),
    ] {
      #expect(text { $0.append(decimal: number, digits: digits) } == expected)
    }
  }

  @Test("every pair of digits is written in order")
  func pairs() {
    for number in 0..<1000 {
      let digits = String(1000 + number).dropFirst()
      #expect(text { $0.append(decimal: number, digits: 3) } == digits)
    }
  }
}
