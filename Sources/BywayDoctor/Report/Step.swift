/// The outcome of one check.
package struct Step: Sendable {
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
}

extension Step {
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

  package var diagnosis: Diagnosis? {
    switch outcome {
    case .noted(_, let diagnosis), .wrong(let diagnosis, _): diagnosis
    case .sound, .undecided, .skipped: nil
    }
  }
}
