import Testing

@testable import Byway

@Suite("Unframed output on a line") struct OverheardTests {
  private func words(_ pieces: [UInt8]...) -> String? {
    var overheard = Overheard()
    for piece in pieces { piece.withUnsafeBytes { overheard.add($0) } }
    return overheard.lastWords
  }

  @Test("the last line of text is extracted without colors and control sequences")
  func text() {
    #expect(words(Array("boot\r\ndevice lo".utf8), Array("gin: ".utf8)) == "device login: ")
    #expect(words(Array("\u{1B}[?2004h\u{1B}[1;32mroot@device\u{1B}[0m:~# ".utf8)) == "root@device:~# ")
    #expect(words(Array("x\r\n\r\n \r\nlast\r\n".utf8)) == "last")
  }

  @Test("noise and very short input are not text")
  func noise() {
    #expect(words((0..<200).map { UInt8(truncatingIfNeeded: $0 &* 37) }) == nil)
    #expect(words(Array("ok".utf8)) == nil && words() == nil)
  }

  @Test("only the end of unframed output is kept")
  func bound() {
    var overheard = Overheard()
    for _ in 0..<100 { Array("0123456789abcdef".utf8).withUnsafeBytes { overheard.add($0) } }
    #expect(overheard.bytes.count == 256)
  }

  @Test(
    "an unknown peer is recognized by its output",
    arguments: [
      ("HTTP/1.1 400 Bad", Stranger.webServer), ("<!DOCTYPE html>", .webServer), ("SSH-2.0-x", .ssh),
      ("login: ", .login),
      ("sh: 1: PRI: command not found", .login), ("PRI * HTTP/2.0\r\n", .echo), ("\u{16}\u{3}\u{1}", .tls),
      ("220 mx.test ESMTP Postfix", .mailServer), ("220 files ready", nil), ("hello", nil),
    ])
  func stranger(_ heard: String, _ expected: Stranger?) {
    #expect(Stranger(heard.utf8) == expected)
  }
}
