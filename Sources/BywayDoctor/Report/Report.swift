package import Byway
import BywayPrimitives

/// The result of an examination.
package struct Report: Sendable {
  package enum Verdict: Sendable {
    case sound
    /// The link works, with a remark.
    case noted(Diagnosis)
    case wrong(Diagnosis)
    /// The examination took too long, or was interrupted.
    case unfinished(String)
  }

  package let link: String
  package let steps: [LinkStep]
  package let verdict: Verdict
  package let duration: Duration

  init(of link: String, _ steps: [LinkStep], _ over: Examination.Over?, after duration: Duration) {
    self.link = link
    self.steps = steps
    self.duration = duration
    verdict =
      switch over {
      case .late: .unfinished("\(steps.last?.title ?? "A check") took too long, so there is no result. Try again.")
      case .cancelled: .unfinished("Interrupted.")
      case .wrong, nil: Self.verdict(of: steps)
      }
  }

  /// Returns the worst outcome. Of several remarks, the first concerns the lowest layer.
  private static func verdict(of steps: [LinkStep]) -> Verdict {
    let diagnoses = steps.compactMap { step in step.diagnosis.map { (step, $0) } }
    if let (_, diagnosis) = diagnoses.first(where: { if case .wrong = $0.0.outcome { true } else { false } }) {
      return .wrong(diagnosis)
    }
    return diagnoses.first.map { .noted($0.1) } ?? .sound
  }

  /// The fault and the command that fixes it, or that the link is sound.
  package var line: String {
    switch verdict {
    case .sound: "\(link) is sound."
    case .noted(let diagnosis): "\(link) works. \(diagnosis.fullLine)"
    case .wrong(let diagnosis): diagnosis.fullLine
    case .unfinished(let reason): reason
    }
  }

  package var isUsable: Bool {
    switch verdict {
    case .sound, .noted: true
    case .wrong, .unfinished: false
    }
  }

  /// The diagnoses with a remedy, in the order of the checks.
  package var mendable: [Diagnosis] { steps.compactMap(\.diagnosis).filter { $0.remedy != nil } }
}
