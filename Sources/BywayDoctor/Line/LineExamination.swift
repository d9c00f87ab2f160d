import Byway

/// What can be learnt of a line below the line layer, whatever carries it. From the least that can be said on it to the most: a question
/// that only a gateway understands, the same at other rates, and last of all a carriage return and an AT.
struct LineExamination: Sendable {
  let link: Link

  func examine(in examination: Examination) async throws(Examination.Over) {
    let medium = link.medium
    let ear = try await examination.make(CableCheck(address: link.address, medium: medium))
    let question = LineQuestion()
    let bytesPerSecond = link.line?.bytesPerSecond
    let answer = try await examination.make(
      AnswerCheck(ear: ear, question: question, bytesPerSecond: bytesPerSecond))
    switch answer {
    case .gateway(let delay):
      try await examination.make(NoiseCheck(ear: ear, delay: delay, bytesPerSecond: bytesPerSecond))
      await ear.close()
    case .somebodyElse(let heard):
      let speaker = try await examination.make(SpeakerCheck(heard: heard, question: question))
      await ear.close()
      let late = try await examination.make(
        RateCheck(address: link.address, medium: medium, question: question, speaker: speaker))
      try await examination.make(
        WakingCheck(address: link.address, medium: medium, question: question, speaker: speaker, late: late))
    }
  }
}
