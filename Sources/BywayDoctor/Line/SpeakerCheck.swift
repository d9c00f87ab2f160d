import Byway

/// Who it is that speaks instead of a gateway.
struct SpeakerCheck: Check {
  static let title = "speaker"

  let heard: [UInt8]
  let question: LineQuestion

  func examine(_ belongings: Belongings) async throws -> Finding<LineSpeaker> {
    let speaker = LineSpeaker(heard, after: question)
    switch speaker {
    case .nobody: return .undecided("Nobody says anything.", speaker)
    case .noise(let count):
      return .undecided("What arrives (\(count) bytes) is not text, as with another rate.", speaker)
    case .terminalEcho: return .undecided("A terminal shows what is sent to it.", speaker)
    case .login, .bootLoader, .modem, .webServer, .text, .ppp:
      return speaker.diagnosis.map { .wrong($0, saw: speaker.sight) } ?? .undecided(speaker.sight, speaker)
    }
  }
}

extension LineSpeaker {
  /// What was heard of it.
  var sight: String {
    switch self {
    case .login(let words), .bootLoader(let words), .modem(let words), .webServer(let words), .text(let words):
      "Somebody says \"\(words)\"."
    case .ppp: "Frames of PPP arrive."
    case .terminalEcho: "A terminal shows what is sent to it."
    case .noise(let count): "What arrives (\(count) bytes) is not text."
    case .nobody: "Nobody says anything."
    }
  }

  /// What it means that this one is there and no gateway; `nil` where nobody is known to be.
  var diagnosis: Diagnosis? {
    let start = "start \"byway gateway\" there"
    switch self {
    case .login(let words):
      return Diagnosis(
        .login, "A login prompt or a shell is there and says \"\(words)\": stop it, and \(start) on that line instead.")
    case .bootLoader(let words):
      return Diagnosis(
        .bootLoader, "A boot loader is there and says \"\(words)\": let the device boot, and \(start).")
    case .modem(let words):
      return Diagnosis(
        .modem, "A modem answers \"\(words)\" to AT commands: choose another port, or connect the device in its place.")
    case .webServer(let words):
      return Diagnosis(
        .webServer,
        "An HTTP/1.1 server speaks on the bare line (\"\(words)\"), which loses bytes unnoticed: \(start), with that server as its "
          + "origin.")
    case .text(let words):
      return Diagnosis(
        .otherProgram,
        "Text from another program arrives, \"\(words)\", and nobody answers: \(start). If it runs, it does not hear this end: check "
          + "the wire from TX here to RX there.")
    case .ppp:
      return Diagnosis(.ppp, "Frames of PPP arrive: stop pppd at the far end, and \(start).")
    case .terminalEcho:
      return Diagnosis(
        .terminalEcho,
        "The far end is a terminal that shows what is sent to it, and no program answers there: \(start) on that line.")
    case .noise, .nobody: return nil
    }
  }
}
