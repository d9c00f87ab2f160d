import Byway
import BywayPrimitives

/// Checks whether the far end can be read at another rate, or with another parity.
struct RateCheck: LinkCheck {
  static let title = "rate"

  private static let rates = [115_200, 9600, 57_600, 38_400, 19_200, 921_600, 460_800, 230_400, 1_000_000, 4800, 2400]
  /// The time for a gateway's answer, in addition to its time on the wire.
  private static let patience = Duration.milliseconds(200)
  /// The time for a program that sends now and then.
  private static let longPatience = Duration.milliseconds(450)
  /// The number of bytes that suffice to distinguish text from noise.
  private static let enough = 240

  let address: LinkAddress
  let medium: any Transport
  let question: LineQuestion
  let speaker: LineSpeaker

  var limit: Duration { .seconds(12) }

  /// - Returns: the text received during the check, at any rate.
  func examine(_ resources: OpenedResources) async throws -> Finding<[UInt8]> {
    guard medium.options.contains(where: { $0.name == "baud" }) else {
      return .undecided("The rate is set elsewhere, at a terminal server for example.", [])
    }
    if speaker == .terminalEcho { return .sound("The echo can be read, so the rate is right.", []) }
    let isNoisy = speaker != .nobody
    var late: [UInt8] = []
    for candidate in candidates {
      let heard = try await ask(candidate, patience: isNoisy ? Self.longPatience : Self.patience, resources)
      if HeardFrames(heard).helloVersion != nil {
        return .wrong(
          diagnosis(candidate, "a gateway answers"), saw: "Heard with \(candidate.name)=\(candidate.value).")
      }
      guard heard.isText else { continue }
      if isNoisy, let words = LineSpeaker(heard, after: question).words {
        return .wrong(
          diagnosis(candidate, "what arrives can be read, \"\(words)\""),
          saw: "Readable with \(candidate.name)=\(candidate.value).")
      }
      late += heard.suffix(4096)
    }
    return .undecided("Tried \(candidates.count) other settings: no answer with any.", late)
  }

  private var own: Int { Int(address[option: "baud"] ?? "") ?? 115_200 }

  private var candidates: [LinkAddress.Option] {
    let rates = Self.rates.filter { $0 != own }.map { LinkAddress.Option(name: "baud", value: "\($0)") }
    let parities = ["none", "even", "odd"].filter { $0 != address[option: "parity"] ?? "none" }
    return rates + parities.map { LinkAddress.Option(name: "parity", value: $0) }
  }

  private func ask(
    _ option: LinkAddress.Option, patience: Duration, _ resources: OpenedResources
  ) async throws -> [UInt8] {
    // A driver that does not support one rate may support another.
    try Task.checkCancellation()
    guard let rawLine = try? await RawLine.open(address.adding(option), over: medium, resources) else { return [] }
    rawLine.say(question.bytes)
    let baud = option.name == "baud" ? Int(option.value) ?? own : own
    // The time for question and answer, doubled for slow peers.
    let wire = Duration.milliseconds(2 * 40 * 11 * 1000 / baud)
    let heard = await rawLine.listen(for: patience + wire) {
      HeardFrames($0).helloVersion != nil || $0.count >= Self.enough
    }
    await rawLine.close()
    return heard
  }

  private func diagnosis(_ option: LinkAddress.Option, _ observation: String) -> Diagnosis {
    let text = address.setting(option)
    return Diagnosis(
      .wrongRate,
      "With \(option.name)=\(option.value) \(observation), with \(option.name)=\(address[option: option.name] ?? defaultValue(option)) "
        + "it does not: use the same at both ends.",
      repair: .examine(link: text))
  }

  private func defaultValue(_ option: LinkAddress.Option) -> String { option.name == "baud" ? "\(own)" : "none" }
}

extension LinkAddress {
  /// Returns its text with another value of an option.
  func setting(_ option: Option) -> String {
    let others = options.filter { $0.name != option.name } + [option]
    return place + "?" + others.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
  }
}

extension LineSpeaker {
  /// Its last words; `nil` if they are not text.
  var words: String? {
    switch self {
    case .login(let words), .bootLoader(let words), .modem(let words), .webServer(let words), .text(let words): words
    case .ppp, .terminalEcho, .noise, .nobody: nil
    }
  }
}
