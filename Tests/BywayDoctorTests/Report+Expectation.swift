import BywayDoctor

extension Report {
  /// Whether this one is found, and nothing else; `nil`: the link is sound.
  func expects(_ fault: Fault?) -> Bool {
    switch verdict {
    case .sound: fault == nil
    case .noted(let diagnosis), .wrong(let diagnosis): diagnosis.fault == fault
    case .unfinished: false
    }
  }
}
