/// A step of opening a link, or a check of the doctor, with its outcome.
package struct LinkStep: Sendable {
  package enum Outcome: Sendable {
    case sound(String)
    case noted(String, Diagnosis)
    case undecided(String)
    case wrong(Diagnosis, saw: String?)
    case skipped(String)
  }

  package let title: String
  package let outcome: Outcome
  package let duration: Duration

  package init(title: String, outcome: Outcome, duration: Duration) {
    self.title = title
    self.outcome = outcome
    self.duration = duration
  }
}

extension LinkStep {
  /// The outcome as one word, for JSON.
  package var word: String {
    switch outcome {
    case .sound: "sound"
    case .noted: "noted"
    case .undecided: "undecided"
    case .wrong: "wrong"
    case .skipped: "skipped"
    }
  }

  /// The observation, or the reason for skipping the check.
  package var saw: String? {
    switch outcome {
    case .sound(let saw), .noted(let saw, _), .undecided(let saw), .skipped(let saw): saw
    case .wrong(_, let saw): saw
    }
  }

  /// Whether it ends the examination.
  package var isFault: Bool {
    if case .wrong = outcome { true } else { false }
  }

  package var diagnosis: Diagnosis? {
    switch outcome {
    case .noted(_, let diagnosis), .wrong(let diagnosis, _): diagnosis
    case .sound, .undecided, .skipped: nil
    }
  }
}
