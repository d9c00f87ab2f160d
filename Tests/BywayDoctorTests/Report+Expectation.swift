import BywayDoctor

extension Report {
  /// Whether exactly this fault is found; `nil`: the link is sound.
  func expects(_ fault: Fault?) -> Bool {
    switch verdict {
    case .sound: fault == nil
    case .noted(let diagnosis), .wrong(let diagnosis): diagnosis.fault == fault
    case .unfinished: false
    }
  }
}
