import FuzzSupport
import NIOCore
import NIOEmbedded
import NIOWebSocket
import Testing
import WebSocketChecks

@testable import WebSocketTransport

/// Tests the rules for received frames, and the frames that are sent.
@Suite("Frames of a link") struct MessageReaderTests {
  private func frame(
    _ opcode: WebSocketOpcode, _ text: String = "", fin: Bool = true, rsv: Int = 0, masked: Bool = false
  ) -> WebSocketFrame {
    WebSocketFrame(
      fin: fin, rsv1: rsv == 1, rsv2: rsv == 2, rsv3: rsv == 3, opcode: opcode, maskKey: masked ? [1, 2, 3, 4] : nil,
      data: ByteBuffer(string: text))
  }

  /// Returns the code that a client closes with after these frames of its server; `nil` if it accepts them.
  private func code(_ frames: WebSocketFrame...) -> Int? {
    var reader = MessageReader(peerMasks: false)
    for frame in frames {
      if case .violation(let violation) = reader.receive(frame) { return violation.code }
    }
    return nil
  }

  @Test("passes on messages in pieces, with a PING between them")
  func pieces() {
    var reader = MessageReader(peerMasks: false)
    let frames = [frame(.binary, "a", fin: false), frame(.ping, "p"), frame(.continuation, "b"), frame(.binary, "c")]
    #expect(
      frames.map { reader.receive($0) }
        == [
          .bytes(ByteBuffer(string: "a")), .ping(ByteBuffer(string: "p")), .bytes(ByteBuffer(string: "b")),
          .bytes(ByteBuffer(string: "c")),
        ])
  }

  @Test("refuses frames that break the rules, with the code of RFC 6455")
  func violations() {
    #expect(code(frame(.text, "hello")) == 1003)
    for bit in 1...3 { #expect(code(frame(.binary, "a", rsv: bit)) == 1002) }
    #expect(code(frame(WebSocketOpcode(encodedWebSocketOpcode: 0x3) ?? .text, "a")) == 1002)
    #expect(code(frame(.continuation, "a")) == 1002)
    #expect(code(frame(.binary, "a", fin: false), frame(.binary, "b")) == 1002)
    #expect(code(frame(.binary, "a"), frame(.continuation, "b")) == 1002)
    #expect(code(frame(.binary, "a", masked: true)) == 1002)
    #expect(code(frame(.binary), frame(.ping), frame(.pong), frame(.binary, fin: false), frame(.continuation)) == nil)
  }

  @Test("refuses a client's frame without a mask")
  func unmasked() {
    var reader = MessageReader(peerMasks: true)
    guard case .violation(let violation) = reader.receive(frame(.binary, "a")) else {
      Issue.record("accepted")
      return
    }
    #expect(violation.code == 1002 && violation.problem.contains("did not mask"))
  }

  @Test("reads the code and reason of a close frame, and refuses invalid ones")
  func closing() {
    func close(_ bytes: [UInt8]) -> MessageReader.Outcome {
      var reader = MessageReader(peerMasks: false)
      return reader.receive(
        WebSocketFrame(fin: true, opcode: .connectionClose, data: ByteBuffer(bytes: bytes)))
    }
    #expect(close([]) == .close(.init(code: 1005, reason: "")))
    #expect(close([0x03, 0xE8]) == .close(.init(code: 1000, reason: "")))
    #expect(close([0x03, 0xF1] + Array("big".utf8)) == .close(.init(code: 1009, reason: "big")))
    for bytes: [UInt8] in [
      [3], [0x03, 0xED], [0x03, 0xEE], [0x03, 0xF7], [0, 1], [0x13, 0x88], [0x03, 0xE8, 0xFF],
    ] {
      guard case .violation(let violation) = close(bytes) else {
        Issue.record("accepted \(bytes)")
        continue
      }
      #expect(violation.code == 1002)
    }
    for (code, isOrdinary) in [(1000, true), (1001, true), (1005, true), (1002, false), (1009, false), (1011, false)] {
      #expect(MessageReader.Closure(code: code, reason: "").isOrdinary == isOrdinary)
    }
  }

  @Test("ignores everything after the end", arguments: [WebSocketOpcode.connectionClose, .text])
  func afterTheEnd(_ last: WebSocketOpcode) {
    var reader = MessageReader(peerMasks: false)
    _ = reader.receive(frame(last))
    #expect(reader.receive(frame(.binary, "late")) == .bytes(ByteBuffer()))
    #expect(reader.receive(frame(.connectionClose)) == .bytes(ByteBuffer()))
  }

  @Test("writes frames of every size that another reader reads", arguments: [0, 1, 7, 8, 9, 125, 126, 65_535, 65_536])
  func writes(_ count: Int) throws {
    let content = ByteBuffer(bytes: (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    for masks in [true, false] {
      let channel = EmbeddedChannel(handler: ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: 1 << 17)))
      try channel.writeInbound(FrameWriter(masks: masks).frame(.binary, content, mask: 0x0102_A3F4))
      let frame = try #require(try channel.readInbound(as: WebSocketFrame.self))
      #expect(frame.fin && frame.opcode == .binary && (frame.maskKey != nil) == masks)
      #expect(frame.unmaskedData == content)
      if masks, count > 8 { #expect(frame.data != content) }
      var reader = MessageReader(peerMasks: masks)
      #expect(reader.receive(frame) == .bytes(content))
      _ = try channel.finish()
    }
  }

  @Test("reads the seeds and findings of the fuzzer")
  func fuzzInputs() {
    #expect(FuzzInputs("WebSocket").firstFailure(of: WebSocketCheck.check) == nil)
  }
}
