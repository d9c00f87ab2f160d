import Byway

/// Identifies the program that sends instead of a gateway.
struct SpeakerCheck: LinkCheck {
  static let title = "speaker"

  let heard: [UInt8]
  let question: LineQuestion

  func examine(_ resources: OpenedResources) async throws -> Finding<LineSpeaker> {
    let speaker = LineSpeaker(heard, after: question)
    switch speaker {
    case .nobody: return .undecided("Nothing arrives.", speaker)
    case .noise(let count):
      return .undecided("The received bytes (\(count)) are not text, as with another rate.", speaker)
    case .terminalEcho: return .undecided("A terminal echoes its input.", speaker)
    case .login, .bootLoader, .modem, .webServer, .text, .ppp:
      return speaker.diagnosis.map { .wrong($0, saw: speaker.observation) } ?? .undecided(speaker.observation, speaker)
    }
  }
}

extension LineSpeaker {
  /// A sentence about the received bytes.
  var observation: String {
    switch self {
    case .login(let words), .bootLoader(let words), .modem(let words), .webServer(let words), .text(let words):
      "A program sends \"\(words)\"."
    case .ppp: "PPP frames arrive."
    case .terminalEcho: "A terminal echoes its input."
    case .noise(let count): "The received bytes (\(count)) are not text."
    case .nobody: "Nothing arrives."
    }
  }

  /// The diagnosis for this program instead of a gateway; `nil` if no program was identified.
  var diagnosis: Diagnosis? {
    let start = "start \"byway gateway\" there"
    switch self {
    case .login(let words):
      return Diagnosis(
        .login, "A login prompt or a shell sends \"\(words)\": stop it, and \(start) on that line instead.")
    case .bootLoader(let words):
      return Diagnosis(
        .bootLoader, "A boot loader sends \"\(words)\": let the device boot, and \(start).")
    case .modem(let words):
      return Diagnosis(
        .modem, "A modem answers \"\(words)\" to AT commands: choose another port, or connect the device in its place.")
    case .webServer(let words):
      return Diagnosis(
        .webServer,
        "An HTTP/1.1 server sends on the bare line (\"\(words)\"), which loses bytes unnoticed: \(start), with that server as its "
          + "origin.")
    case .text(let words):
      return Diagnosis(
        .otherProgram,
        "Text from another program arrives, \"\(words)\", and no gateway answers: \(start). If it runs, it does not hear this end: "
          + "check the wire from TX here to RX there.")
    case .ppp:
      return Diagnosis(.ppp, "PPP frames arrive: stop pppd at the far end, and \(start).")
    case .terminalEcho:
      return Diagnosis(
        .terminalEcho,
        "The far end is a terminal that echoes its input, and no program answers there: \(start) on that line.")
    case .noise, .nobody: return nil
    }
  }
}
