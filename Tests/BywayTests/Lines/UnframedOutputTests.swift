import BywayHTTP2Session
import Testing

@testable import Byway

@Suite("Unframed output on a line") struct UnframedOutputTests {
  private func words(_ pieces: [UInt8]...) -> String? {
    var unframed = UnframedOutput()
    for piece in pieces { piece.withUnsafeBytes { unframed.add($0) } }
    return unframed.lastWords
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
    var unframed = UnframedOutput()
    for _ in 0..<100 { Array("0123456789abcdef".utf8).withUnsafeBytes { unframed.add($0) } }
    #expect(unframed.bytes.count == 256)
  }

  @Test(
    "an unknown peer is recognized by its output",
    arguments: [
      ("HTTP/1.1 400 Bad", UnexpectedPeer.webServer), ("<!DOCTYPE html>", .webServer), ("SSH-2.0-x", .ssh),
      ("login: ", .login),
      ("sh: 1: PRI: command not found", .login), ("PRI * HTTP/2.0\r\n", .echo), ("\u{16}\u{3}\u{1}", .tls),
      ("220 mx.test ESMTP Postfix", .mailServer), ("220 files ready", nil), ("hello", nil),
    ])
  func unexpectedPeer(_ heard: String, _ expected: UnexpectedPeer?) {
    #expect(UnexpectedPeer(heard.utf8) == expected)
  }

  @Test(
    "the error of a connection and the diagnosis of its link have one sentence about an unexpected peer",
    arguments: [
      ("PRI * HTTP/2.0\r\n", .loopBack), ("HTTP/1.1 400 Bad", .webServer), ("\u{16}\u{3}\u{1}", .wrongScheme),
      ("SSH-2.0-x", .wrongScheme), ("220 mx.test ESMTP Postfix", .otherProgram), ("login: ", .login),
    ] as [(String, LinkFault)])
  func oneSentence(_ heard: String, _ fault: LinkFault) throws {
    let bytes = Array(heard.utf8)
    let error = BywayError(HTTP2Failure(.notHTTP2(heard: bytes), .protocolError, "It is not HTTP/2."), from: .gateway)
    let peer = try #require((error.evidence as? UnexpectedBytes)?.unexpectedPeer)
    let address = try LinkAddress("tcp://127.0.0.1:1?tcp-port=2")
    let diagnosis = peer.diagnosis(expecting: .gateway, on: address)
    #expect(diagnosis.fault == fault)
    #expect(error.message == "It is not HTTP/2. \(diagnosis.sentence)")
    let mended = fault == .webServer ? Diagnosis.Repair.examine(link: "\(address.text)&http=1.1") : nil
    #expect(diagnosis.repair == mended)
  }
}
