import Byway
import BywayDoctor
import BywayLineLayer
import TestTools
import Testing

/// Lines with another kind of peer, or none.
@Suite("Doctor: serial lines without a gateway", .timeLimit(.minutes(2))) struct UnexpectedLinePeerTests {
  private func expect(
    _ fault: LinkFault, _ device: DeviceProgram, options: String = "", words: [String] = [],
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> Report {
    let report = try await LineRig.examine("serial:\(device.path)\(options)")
    device.stop()
    #expect(report.expects(fault), "\(report.json)", sourceLocation: sourceLocation)
    #expect(!report.isUsable, sourceLocation: sourceLocation)
    #expect(report.duration < .seconds(20), "\(report.json)", sourceLocation: sourceLocation)
    for word in words { #expect(report.line.contains(word), "\(report.line)", sourceLocation: sourceLocation) }
    return report
  }

  private static func frame(_ frame: Frame) -> [UInt8] {
    var scratch: [UInt8] = []
    var bytes: [UInt8] = [0]
    FrameCodec.encode(frame, seal: nil, scratch: &scratch, into: &bytes)
    return bytes
  }

  private static func hello(_ version: UInt8 = FrameCodec.version) -> [UInt8] {
    frame(.hello(version: version, incarnation: 77, largestPayload: 2048, correction: 4))
  }

  /// Whether bytes contain a query in frames, which are delimited by zeros.
  private static func isQuestion(_ bytes: [UInt8]) -> Bool { bytes.contains(0) }

  @Test("the doctor reports a silent line, after it has sent a carriage return and AT")
  func silence() async throws {
    let device = try DeviceProgram()
    _ = try await expect(.silence, device, words: ["Nothing arrives"])
    #expect(device.all.suffix(5) == Array("\rAT\r\n".utf8))
  }

  @Test("the doctor recognizes a loop-back plug")
  func loopBack() async throws { _ = try await expect(.loopBack, DeviceProgram { bytes, _ in bytes }) }

  @Test("the doctor recognizes an adapter with local echo in front of a gateway")
  func localEcho() async throws {
    _ = try await expect(.localEcho, DeviceProgram { bytes, _ in bytes + (Self.isQuestion(bytes) ? Self.hello() : []) })
  }

  @Test("the doctor recognizes a gateway with a later version of the protocol")
  func laterVersion() async throws {
    _ = try await expect(.foreignVersion, DeviceProgram { _, _ in Self.hello(9) }, words: ["version 9"])
  }

  @Test("the doctor recognizes a login prompt that appears only after Enter")
  func login() async throws {
    let device = try DeviceProgram { bytes, _ in
      bytes.contains(0x0D) ? Array("\r\n\u{1B}[0mDebian GNU/Linux 12 device ttyS0\r\n\r\ndevice login: ".utf8) : []
    }
    _ = try await expect(.login, device, words: ["device login:"])
    #expect(!String(decoding: device.all, as: UTF8.self).contains("AT\r"))
  }

  @Test("the doctor recognizes a shell that echoes its input")
  func shell() async throws {
    let device = try DeviceProgram { bytes, _ in
      Self.shown(bytes) + (bytes.contains(0x0D) ? Array("\r\nsh: not found\r\nroot@device:~# ".utf8) : [])
    }
    _ = try await expect(.login, device, words: ["root@device:~#"])
  }

  @Test("the doctor recognizes a terminal that echoes without a program behind it")
  func terminalEcho() async throws {
    _ = try await expect(.terminalEcho, DeviceProgram { bytes, _ in Self.shown(bytes) })
  }

  @Test("the doctor recognizes U-Boot's prompt")
  func bootLoader() async throws {
    let device = try DeviceProgram { bytes, _ in
      bytes.contains(0x0D) ? Array("\r\n=> ".utf8) : []
    }
    _ = try await expect(.bootLoader, device)
  }

  @Test("the doctor recognizes U-Boot's countdown")
  func autoboot() async throws {
    let device = try DeviceProgram(
      unasked: (Array("U-Boot 2023.01\r\nHit any key to stop autoboot:  2 ".utf8), .milliseconds(400)))
    _ = try await expect(.bootLoader, device, words: ["autoboot"])
  }

  @Test("the doctor recognizes a modem")
  func modem() async throws {
    let device = try DeviceProgram { bytes, _ in
      String(decoding: bytes, as: UTF8.self).contains("AT\r") ? Array("AT\r\r\nOK\r\n".utf8) : []
    }
    _ = try await expect(.modem, device, words: ["OK"])
  }

  @Test("the doctor recognizes PPP frames, escaped or not", arguments: [true, false])
  func ppp(_ isEscaped: Bool) async throws {
    let frame: [UInt8] =
      isEscaped
      ? [0x7E, 0xFF, 0x7D, 0x23, 0xC0, 0x21, 0x7D, 0x21, 0x7D, 0x21, 0x7D, 0x20, 0x7D, 0x34, 0x7D, 0x22, 0x7E]
      : [0x7E, 0xFF, 0x03, 0xC0, 0x21, 0x01, 0x01, 0x00, 0x14, 0x02, 0x06, 0x7E]
    _ = try await expect(.ppp, DeviceProgram(unasked: (frame, .seconds(3))))
  }

  @Test("the doctor recognizes an HTTP/1.1 server on the unframed line")
  func webServer() async throws {
    let device = try DeviceProgram { bytes, _ in
      bytes.contains(0x0A) ? Array("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n".utf8) : []
    }
    _ = try await expect(.webServer, device, words: ["HTTP/1.1 400 Bad Request"])
  }

  @Test("the doctor recognizes a sensor that prints its values")
  func text() async throws {
    _ = try await expect(
      .otherProgram, DeviceProgram(unasked: (Array("temperature 21.5\r\n".utf8), .milliseconds(300))),
      words: ["temperature 21.5"])
  }

  @Test("the doctor finds the baud rate of a gateway at another rate", arguments: [9600, 921_600, 57_600])
  func wrongRate(_ rate: Int) async throws {
    let device = try DeviceProgram { bytes, baud in
      baud == rate && Self.isQuestion(bytes) ? Self.hello() : []
    }
    _ = try await expect(.wrongRate, device, words: ["baud=\(rate)", "byway doctor 'serial:"])
  }

  @Test("the doctor finds the baud rate of a console at another rate", arguments: [true, false])
  func wrongRateOfText(_ isChatty: Bool) async throws {
    let device = try DeviceProgram { bytes, baud in
      guard isChatty || bytes.contains(0x0D) else { return [] }
      return baud == 19_200
        ? Array("\r\nplease log in, device login: ".utf8) : (0..<24).map { _ in .random(in: 0x80...0xFF) }
    }
    _ = try await expect(.wrongRate, device, words: ["baud=19200", "device login:"])
  }

  /// Returns bytes as a terminal echoes them: control characters made visible, lines ended.
  private static func shown(_ bytes: [UInt8]) -> [UInt8] {
    bytes.flatMap { byte -> [UInt8] in
      switch byte {
      case 0x0D: [0x0D, 0x0A]
      case ..<0x20: [UInt8(ascii: "^"), byte + 0x40]
      default: [byte]
      }
    }
  }
}
