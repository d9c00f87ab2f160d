import BywayLineLayer
import Testing

@testable import Byway

/// Tests the prompts in the output of a console, and the quotations of it in messages.
@Suite struct ConsoleTextTests {
  private func text(_ output: String) -> ConsoleText {
    var text = ConsoleText()
    text.add(Array(output.utf8))
    return text
  }

  @Test(
    "the last line tells what a console asks for",
    arguments: [
      ("", .none), ("\r\n", .other), ("box login:", .login), ("box login: ", .login), ("Login Name:", .login),
      ("USERNAME:", .login), ("User Name: ", .login), ("last login: today", .other), ("Password:", .secret),
      ("密码：", .secret), ("$", .shell), ("# ", .shell), ("router>", .shell), ("host%", .shell), ("$ \r\n", .other),
      ("box login:\r\n$ ", .shell), ("$ \u{1B}[6n", .shell), ("\u{1B}]0;a:\u{1B}\\# ", .shell), ("50% done", .other),
      ("login:\u{7F}", .login), ("\u{0}login:\u{0}", .login),
    ] as [(String, ConsoleText.Prompt)])
  func prompts(_ output: String, _ prompt: ConsoleText.Prompt) {
    #expect(text(output).prompt == prompt, "\(text(output).lastLine)")
  }

  @Test("a line of more than 200 bytes is no prompt")
  func longestPrompt() {
    #expect(text(String(repeating: "x", count: 199) + "$").prompt == .shell)
    #expect(text(String(repeating: "x", count: 200) + "$").prompt == .other)
  }

  @Test("the latest 4096 bytes of output are kept")
  func limit() {
    var text = text(String(repeating: "a", count: 4095))
    text.add(Array("b".utf8))
    #expect(text.bytes.count == 4096 && text.bytes.first == UInt8(ascii: "a"))
    text.add(Array("c".utf8))
    #expect(text.bytes.count == 4096 && text.bytes.suffix(2) == Array("bc".utf8)[...])
    text.clear()
    #expect(text.bytes == [] && text.prompt == .none && text.words() == nil)
  }

  @Test("a message quotes the last two lines, at most 160 characters and no control characters")
  func words() {
    #expect(text("one\r\n\r\n  two\r\nthree \r\n").words() == "two / three ")
    #expect(text(" \r\n").words() == nil)
    #expect(text("\u{1B}[31mred\u{1B}[0m\u{7}").words() == "red")
    let long = text("start" + String(repeating: "x", count: 200)).words()
    #expect(long?.count == 160 && long?.hasPrefix("x") == true)
  }

  @Test("a prompt alone is no answer to a command, and an echo or a message is one")
  func answers() {
    for output in ["", "\r\n", "$ ", "\r\nbox # "] { #expect(text(output).hasNoAnswer, "\(output)") }
    for output in ["echo hi\r\n$ ", "sh: not found\r\n# ", "login:"] { #expect(!text(output).hasNoAnswer, "\(output)") }
  }

  @Test("only frames that a gateway sends by itself answer the question for one")
  func question() {
    var scratch: [UInt8] = []
    func frame(_ frame: Frame) -> [UInt8] {
      var bytes: [UInt8] = [0]
      FrameCodec.encode(frame, seal: nil, scratch: &scratch, into: &bytes)
      return bytes
    }
    func isAnswered(_ pieces: [UInt8]...) -> Bool {
      var question = GatewayQuestion(seed: 1)
      for piece in pieces { question.receive(piece) }
      return question.isAnswered
    }
    let hello = frame(.hello(version: 1, incarnation: 7, largestPayload: 256))
    #expect(isAnswered(hello) && !isAnswered(Array(hello.dropLast())) && !isAnswered(Array(hello.dropFirst(2))))
    #expect(isAnswered([1, 2, 3], hello) && isAnswered(Array(hello[..<5]), Array(hello[5...])))
    // Text without an end, then a frame.
    #expect(isAnswered([UInt8](repeating: 1, count: 5000), hello))
    var restarted = GatewayQuestion(seed: 1)
    restarted.receive(hello)
    restarted.receive([1, 2])
    restarted = restarted.restarted
    #expect(!restarted.isAnswered && restarted.bytes == GatewayQuestion(seed: 1).bytes)
    // A frame behind half of another one, whose rest never comes.
    restarted.receive(hello.dropFirst())
    #expect(restarted.isAnswered)
  }

  @Test("the question for a gateway does not quote the next character, and asks a terminal to repeat nothing")
  func harmless() {
    let obeyed: Set<UInt8> = [0x03, 0x04, 0x11, 0x12, 0x13, 0x16, 0x1A, 0x1C]
    for seed in (0..<2000).map({ UInt32($0) &* 2_654_435_761 }) {
      #expect(obeyed.isDisjoint(with: GatewayQuestion(seed: seed).bytes), "\(seed)")
    }
  }
}
