import Byway

/// Examines a line below the line layer, over any medium. It begins with the most harmless bytes: a question that only a gateway
/// understands, then the same question at other rates, and last a carriage return and an AT.
struct LineExamination: Sendable {
  let link: Link

  func examine(in examination: Examination) async throws(Examination.Over) {
    let medium = link.medium
    let rawLine = try await examination.make(CableCheck(address: link.address, medium: medium))
    let question = LineQuestion()
    let bytesPerSecond = link.line?.bytesPerSecond
    let answer = try await examination.make(
      AnswerCheck(rawLine: rawLine, question: question, bytesPerSecond: bytesPerSecond))
    switch answer {
    case .gateway(let delay):
      try await examination.make(NoiseCheck(rawLine: rawLine, delay: delay, bytesPerSecond: bytesPerSecond))
      await rawLine.close()
    case .somebodyElse(let heard):
      let speaker = try await examination.make(SpeakerCheck(heard: heard, question: question))
      await rawLine.close()
      let late = try await examination.make(
        RateCheck(address: link.address, medium: medium, question: question, speaker: speaker))
      try await examination.make(
        WakingCheck(address: link.address, medium: medium, question: question, speaker: speaker, late: late))
    }
  }
}
