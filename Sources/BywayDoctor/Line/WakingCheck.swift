import Byway
import BywayPrimitives

/// Checks for a program that sends only when it receives: waits, then sends a carriage return, like the Enter key, then an AT, which
/// modems answer and HTTP servers reject.
struct WakingCheck: LinkCheck {
  static let title = "waking"

  /// PPP repeats its request every 3 s (RFC 1661 §4.6).
  private static let quiet = Duration.milliseconds(2200)
  private static let patience = Duration.milliseconds(700)
  private static let commonRates = [115_200, 9600, 57_600, 38_400, 19_200]

  let address: LinkAddress
  let medium: any Transport
  let question: LineQuestion
  /// The program identified so far.
  let speaker: LineSpeaker
  /// Text received while other rates were tried. It is used if nothing else is received.
  let late: [UInt8]

  var limit: Duration { .seconds(10) }

  func examine(_ resources: OpenedResources) async throws -> Finding<Void> {
    let rawLine = try await RawLine.open(address, over: medium, resources)
    var heard: [UInt8] = []
    if speaker != .terminalEcho {
      heard += await rawLine.listen(for: Self.quiet) { !$0.isEmpty }
      heard += await rawLine.listen(for: heard.isEmpty ? .zero : Self.patience)
    }
    for words in ["\r", "AT\r\n"] where LineSpeaker(heard, after: question).isUnknown {
      try Task.checkCancellation()
      rawLine.say(Array(words.utf8))
      heard += await rawLine.listen(for: Self.patience)
    }
    await rawLine.close()
    var found = LineSpeaker(heard.isEmpty ? late : heard, after: question)
    // The text is the rest of its echo.
    if speaker == .terminalEcho, case .text = found { found = speaker }
    if let diagnosis = found.diagnosis { return .wrong(diagnosis, saw: found.observation) }
    if case .noise = found, let diagnosis = try await rate(resources) {
      return .wrong(diagnosis, saw: "It can be read at another rate.")
    }
    switch (speaker, found) {
    case (.nobody, .nobody): return .wrong(Self.silence, saw: "No answer to a carriage return or an AT either.")
    default: return .wrong(Self.noise(heard.count), saw: found.observation)
    }
  }

  /// Looks for a prompt that comes only on request, and for the rate at which it can be read.
  private func rate(_ resources: OpenedResources) async throws -> Diagnosis? {
    guard medium.options.contains(where: { $0.name == "baud" }) else { return nil }
    for baud in Self.commonRates where "\(baud)" != address[option: "baud"] ?? "115200" {
      try Task.checkCancellation()
      let option = LinkAddress.Option(name: "baud", value: "\(baud)")
      guard let rawLine = try? await RawLine.open(address.adding(option), over: medium, resources) else { continue }
      rawLine.say([0x0D])
      let heard = await rawLine.listen(for: .milliseconds(500)) { $0.count > 64 }
      await rawLine.close()
      guard heard.isText, let words = LineSpeaker(heard, after: question).words else { continue }
      return Diagnosis(
        .wrongRate, "With baud=\(baud) the received text can be read, \"\(words)\": use the same rate at both ends.",
        repair: .examine(link: address.setting(option)))
    }
    return nil
  }

  private static let silence = Diagnosis(
    .silence,
    "Nothing arrives, at any usual rate: is the device switched on, is the cable plugged in, do TX and RX cross, is GND connected, and "
      + "does \"byway gateway\" run at its far end?")

  private static func noise(_ count: Int) -> Diagnosis {
    Diagnosis(
      .onlyNoise,
      "The received bytes (\(count)) can be read at no usual rate: set the same rate, parity and stop bits at both ends, and check GND "
        + "and the levels (3.3 V, RS-232 and RS-485 cannot be mixed).")
  }
}

extension LineSpeaker {
  /// Whether further questions may identify it.
  fileprivate var isUnknown: Bool {
    switch self {
    case .nobody, .terminalEcho, .noise: true
    default: false
    }
  }
}
