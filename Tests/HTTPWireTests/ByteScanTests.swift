import Glibc
import Testing

@testable import BywayHTTPWire

/// The operations on eight bytes at a time, compared with the same on single bytes. The bytes end at a page that must not be touched,
/// or begin after one, at each offset from it.
@Suite("Operations on eight bytes at a time")
struct ByteScanTests {
  private static let text = Array("aZ[9@`z{A-\u{7F}\u{80}Bm/:M~Y\0y_Xx".utf8)

  @Test("a search reads no byte before or after its input, and finds the first occurrence", arguments: 0...40)
  func firstOffset(_ count: Int) throws {
    try Page.eachPlace(for: count) { bytes in
      for index in 0...count {
        for start in 0...count {
          _ = bytes.initializeMemory(as: UInt8.self, repeating: 0x8A)
          if index < count { bytes[index] = 0x0A }
          if index + 3 < count { bytes[index + 3] = 0x0A }
          let expected = (start..<count).first { bytes[$0] == 0x0A }
          if UnsafeRawBufferPointer(bytes).firstOffset(of: 0x0A, from: start) != expected {
            Issue.record("\(index) of \(count) from \(start)")
          }
        }
      }
    }
  }

  @Test("a comparison covers all bytes, and ignores the case of letters only where it should", arguments: 0...40)
  func compares(_ count: Int) throws {
    let text = (0..<count).map { Self.text[$0 % Self.text.count] }
    try Page.eachPlace(for: count) { bytes in
      bytes.copyBytes(from: text)
      Self.compare(bytes, text)
      Self.compare(bytes, text.map(Self.lowered))
      for index in 0..<count {
        for change: UInt8 in [0x01, 0x20, 0x80] {
          var other = text
          other[index] ^= change
          Self.compare(bytes, other)
          other = text.map(Self.lowered)
          other[index] ^= change
          Self.compare(bytes, other)
        }
      }
    }
  }

  @Test("lowering changes letters only, and writes nothing outside its output", arguments: 0...40)
  func copyLowercased(_ count: Int) throws {
    try Page.eachPlace(for: count) { bytes in
      for shift in Self.text.indices {
        let input = (0..<count).map { Self.text[($0 + shift) % Self.text.count] }
        _ = bytes.initializeMemory(as: UInt8.self, repeating: 0)
        if let start = bytes.baseAddress { input.withUnsafeBytes { start.copyLowercased($0) } }
        if Array(bytes) != input.map(Self.lowered) { Issue.record("\(input)") }
      }
    }
    var output = [UInt8](repeating: 0xEE, count: 80)
    for start in 16..<24 {
      output.withUnsafeMutableBytes { output in
        _ = output.initializeMemory(as: UInt8.self, repeating: 0xEE)
        let input = [UInt8](repeating: 0x41, count: count)
        if let place = output.baseAddress { input.withUnsafeBytes { (place + start).copyLowercased($0) } }
      }
      let isWhole = output.indices.allSatisfy { output[$0] == ((start..<start + count).contains($0) ? 0x61 : 0xEE) }
      #expect(isWhole, "from \(start)")
    }
  }

  @Test("a search finds each byte that fails a test", arguments: 0...40)
  func allSatisfy(_ count: Int) throws {
    try Page.eachPlace(for: count) { bytes in
      for index in 0...count {
        for (byte, isAllowed) in [(0x7F, false), (0x1F, false), (0x09, true), (0xFF, true)] as [(UInt8, Bool)] {
          _ = bytes.initializeMemory(as: UInt8.self, repeating: 0x20)
          if index < count { bytes[index] = byte }
          if FieldGrammar.isFieldText(UnsafeRawBufferPointer(bytes)) != (isAllowed || index == count) {
            Issue.record("\(byte) at \(index) of \(count)")
          }
        }
      }
    }
  }

  private static func compare(_ bytes: UnsafeMutableRawBufferPointer, _ other: [UInt8]) {
    let (bytes, text) = (UnsafeRawBufferPointer(bytes), Array(bytes))
    other.withUnsafeBytes { memory in
      guard let start = memory.baseAddress, !bytes.isEmpty else { return }
      if bytes.equals(start) != (text == other) { Issue.record("\(text) and \(other)") }
      if bytes.equals(lowercased: start) != (text.map(lowered) == other) {
        Issue.record("\(text) and \(other), in lower case")
      }
    }
  }

  private static func lowered(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte + 0x20 : byte }
}

/// A page of memory between two that a process must not touch.
private enum Page {
  private static let size = 4096

  /// Passes memory to a closure at the first and last eight places of the page.
  static func eachPlace(for count: Int, _ body: (UnsafeMutableRawBufferPointer) -> Void) throws {
    let memory = try #require(mmap(nil, 3 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
    defer { munmap(memory, 3 * size) }
    try #require(mprotect(memory + size, size, PROT_READ | PROT_WRITE) == 0)
    for offset in 0..<8 {
      body(UnsafeMutableRawBufferPointer(start: memory + size + offset, count: count))
      body(UnsafeMutableRawBufferPointer(start: memory + 2 * size - count - offset, count: count))
    }
  }
}
