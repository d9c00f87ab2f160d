import Byway
import BywayPrimitives

/// The kind of program that sends on a line instead of a gateway, derived from the received bytes.
enum LineSpeaker: Sendable, Hashable {
  case login(String)
  case bootLoader(String)
  case modem(String)
  case webServer(String)
  case text(String)
  case ppp
  /// A terminal in its ordinary mode, which echoes its input.
  case terminalEcho
  /// Neither text nor a known protocol.
  case noise(count: Int)
  case nobody

  init(_ heard: [UInt8], after question: LineQuestion) {
    var unframed = UnframedOutput()
    heard.withUnsafeBytes { unframed.add($0) }
    let text = String(decoding: heard, as: UTF8.self)
    let prompt = unframed.lastWords ?? ""
    let words = (prompt.isEmpty ? heard.quotedText : prompt).trimmed
    if heard.isEmpty {
      self = .nobody
    } else if Self.isPPP(heard) {
      self = .ppp
    } else if let status = text.firstRange(of: "HTTP/1.") {
      self = .webServer(String(text[status.lowerBound...].prefix { !$0.isNewline }.prefix(40)).visible)
    } else if Self.isBootLoader(text, prompt: prompt) {
      self = .bootLoader(words)
    } else if Self.isLogin(text, prompt: prompt) {
      self = .login(words)
    } else if Self.isModem(text) {
      self = .modem(words)
    } else if heard.contains(question.asTerminalsEcho) {
      self = .terminalEcho
    } else if heard.isText || unframed.lastWords != nil {
      self = .text(words)
    } else {
      self = .noise(count: heard.count)
    }
  }

  /// Whether there is an HDLC frame with the protocol field of LCP, escaped or not (RFC 1662 §3.1, §4.2).
  private static func isPPP(_ heard: [UInt8]) -> Bool {
    heard.contains(0x7E)
      && (heard.contains([0xFF, 0x7D, 0x23, 0xC0, 0x21]) || heard.contains([0xFF, 0x03, 0xC0, 0x21]))
  }

  private static func isBootLoader(_ text: String, prompt: String) -> Bool {
    ["U-Boot", "Hit any key to stop", "barebox", "GRUB", "RedBoot>"].contains { text.contains($0) }
      && !text.contains("login:") && !text.contains("Linux version") || ["=>", "=> "].contains(prompt)
  }

  private static func isLogin(_ text: String, prompt: String) -> Bool {
    ["login:", "Login:", "assword:", "command not found", ": not found"].contains { text.contains($0) }
      || ["$", "#", "$ ", "# "].contains { prompt.hasSuffix($0) }
  }

  /// Whether there is a modem's result code (ITU-T V.250 §5.7.1).
  private static func isModem(_ text: String) -> Bool {
    text.split { $0.isNewline }.contains {
      ["OK", "ERROR", "RING", "NO CARRIER", "BUSY"].contains($0) || $0.hasPrefix("+CM")
    }
  }
}

extension [UInt8] {
  /// The end of its last line of text, at most 60 characters.
  var quotedText: String {
    let lines = String(decoding: suffix(200), as: UTF8.self).split { $0.isNewline }.map { String($0).visible }
    return String((lines.last ?? "").suffix(60))
  }
}
